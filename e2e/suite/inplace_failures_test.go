package suite_test

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// together submits a job whose workers restart in place and together, and waits until all run. It returns the UIDs of its pods.
func (s *space) together(name string, ranks, limit int) (*v1beta1.GenericJob, map[string]types.UID) {
	s.t.Helper()
	job := s.submit(name, fmt.Sprintf(`
restartScope: Job
restartStrategy: InPlace
inPlaceLimit: %d
backoffLimit: 5
replicaSpecs:
- {type: worker, replicas: %d, template: %s}`, limit, ranks, inPlace("print jobAttempt $(jobAttempt) then obey")))
	s.awaitRunning(name, fmt.Sprintf("%d/%d", ranks, ranks))
	s.awaitCode(job, 0, upTo(ranks)...)
	return job, s.identities(job)
}

func upTo(n int) (ranks []int) {
	for rank := range n {
		ranks = append(ranks, rank)
	}
	return ranks
}

// awaitCode waits until ranks run code of an attempt of the whole job.
func (s *space) awaitCode(job *v1beta1.GenericJob, jobAttempt int, ranks ...int) {
	s.t.Helper()
	for _, rank := range ranks {
		s.awaitLog(job, "worker", rank, fmt.Sprintf("jobAttempt %d\n", jobAttempt))
	}
}

// killRank kills the code of a rank, as the kernel does when memory is short.
func (s *space) killRank(job *v1beta1.GenericJob, ranks ...int) {
	s.t.Helper()
	var processes []int
	pods := s.pods(job)
	for _, rank := range ranks {
		pod := pods[fmt.Sprintf("worker-%d", rank)]
		pid := processOf(&pod, "/worker")
		require.NotZero(s.t, pid, "rank %d runs", rank)
		processes = append(processes, pid)
	}
	for _, pid := range processes {
		require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// finishRanks has ranks succeed, and demands what the job's status must have counted at its end.
func (s *space) finishRanks(job *v1beta1.GenericJob, restarts, disruptions int, ranks ...int) *v1beta1.GenericJob {
	s.t.Helper()
	for _, rank := range ranks {
		s.end(job, "worker", rank, 0)
	}
	done := s.awaitPhase(job.Name, v1beta1.JobSucceeded)
	require.EqualValues(s.t, restarts, done.Status.BackoffCount, "restarts")
	require.EqualValues(s.t, restarts, done.Status.Tasks[0].RestartCount, "restarts of the type")
	require.EqualValues(s.t, disruptions, done.Status.DisruptionCount, "disruptions")
	require.EqualValues(s.t, restarts+disruptions, done.Status.JobAttempt, "attempts of the whole job")
	require.EqualValues(s.t, restarts+disruptions, done.Status.InPlace.StartedJobAttempt, "attempts that all have reached")
	s.awaitReleased(job)
	return done
}

// fiveFailInTurn has one rank after the other fail, rank 0 first.
func fiveFailInTurn(s *space) {
	job, before := s.together("turns", 5, 100)
	for rank := range 5 {
		s.killRank(job, rank)
		s.awaitCode(job, rank+1, upTo(5)...)
	}
	done := s.finishRanks(job, 5, 0, upTo(5)...)
	require.Zero(s.t, done.Status.InPlace.MinPodJobAttempt)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

// oneFailsFiveTimes has the same rank fail again and again: its pod is replaced the fourth time, all pods are the fifth.
func oneFailsFiveTimes(s *space) {
	job, before := s.together("again", 3, 3)
	for n := range 3 {
		s.killRank(job, 1)
		s.awaitCode(job, n+1, upTo(3)...)
	}
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
	s.killRank(job, 1)
	s.await("again", "rank 1 has a new pod", func(*v1beta1.GenericJob) bool { return s.runs(job, "worker", 1) == 2 })
	s.awaitCode(job, 4, upTo(3)...)
	s.requireRuns(job, "worker", 1, 2, 1)
	s.killRank(job, 1)
	s.await("again", "all have new pods", func(*v1beta1.GenericJob) bool { return s.runs(job, "worker", 0)+s.runs(job, "worker", 2) == 4 })
	s.awaitCode(job, 5, upTo(3)...)
	done := s.finishRanks(job, 5, 0, upTo(3)...)
	require.EqualValues(s.t, 5, done.Status.InPlace.MinPodJobAttempt)
	s.requireRuns(job, "worker", 2, 3, 2)
}

// twoFailAtOnce has two ranks fail at the same moment: that is one restart.
func twoFailAtOnce(s *space) {
	job, before := s.together("pair", 4, 3)
	s.killRank(job, 1, 3)
	s.awaitCode(job, 1, upTo(4)...)
	s.finishRanks(job, 1, 0, upTo(4)...)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

// othersFailToo has all ranks fail when one does, as collectives do that notice.
func othersFailToo(s *space) {
	job, before := s.together("all", 4, 3)
	s.killRank(job, 2, 0, 1, 3)
	s.awaitCode(job, 1, upTo(4)...)
	s.finishRanks(job, 1, 0, upTo(4)...)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

// othersFailTwice has all ranks fail two times within minutes: the second time their containers stay, for the kubelet would let them wait.
func othersFailTwice(s *space) {
	job, before := s.together("twice", 3, 3)
	for n := range 2 {
		s.killRank(job, 2, 0, 1)
		s.awaitCode(job, n+1, upTo(3)...)
	}
	for name, pod := range s.pods(job) {
		require.EqualValues(s.t, 1, pod.Status.ContainerStatuses[0].RestartCount, name)
	}
	s.finishRanks(job, 2, 0, upTo(3)...)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

// deletedAmongInPlace has a pod deleted: it is replaced, and the others begin again in theirs.
func deletedAmongInPlace(s *space) {
	job, before := s.together("deleted", 3, 3)
	s.deletePod(job) // of rank 0
	s.awaitCode(job, 1, upTo(3)...)
	s.finishRanks(job, 0, 1, upTo(3)...)
	s.requireRuns(job, "worker", 2, 1, 1)
	after := s.identities(job)
	for _, name := range []string{"worker-1", "worker-2"} {
		require.Equal(s.t, before[name], after[name], name)
	}
}

// lostNodeAmongInPlace loses the node of half of the pods: these are replaced, and the others begin again in theirs.
func lostNodeAmongInPlace(s *space) {
	s.operatorWith("--force-replace-after=5s")
	wrapped := func(template string) string {
		return strings.Replace(template, `"args"`, `"command": ["/worker"], "args"`, 1)
	}
	const steps = "print jobAttempt $(jobAttempt) then obey"
	job := s.submit("half", `{restartScope: Job, restartStrategy: InPlace, replicaSpecs: [
		{type: near, replicas: 2, template: `+wrapped(pod(steps))+`},
		{type: far, replicas: 2, template: `+wrapped(there(false, steps))+`}]}`)
	s.awaitRunning("half", "4/4")
	run := func(jobAttempt int) {
		for rank := range 2 {
			s.awaitLog(job, "near", rank, fmt.Sprintf("jobAttempt %d\n", jobAttempt))
			s.awaitLog(job, "far", rank, fmt.Sprintf("jobAttempt %d\n", jobAttempt))
		}
	}
	run(0)
	before := s.pods(job)
	require.Equal(s.t, []string{second, second}, []string{before["far-0"].Spec.NodeName, before["far-1"].Spec.NodeName})
	s.killOnNode("everything")
	s.await("half", "the pods of the node are replaced", func(*v1beta1.GenericJob) bool { return s.runs(job, "far", 0)+s.runs(job, "far", 1) == 4 })
	run(1)
	for rank := range 2 {
		s.end(job, "near", rank, 0)
		s.end(job, "far", rank, 0)
	}
	done := s.awaitPhase("half", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.BackoffCount)
	require.EqualValues(s.t, 1, done.Status.DisruptionCount)
	require.EqualValues(s.t, 1, done.Status.InPlace.StartedJobAttempt)
	s.requireRuns(job, "near", 1, 1)
	s.requireRuns(job, "far", 2, 2)
}

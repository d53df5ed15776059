package suite_test

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// nodeComesBack kills a program of the node and starts it again when the cluster has noticed, but no pod has left the
// node. Meanwhile one replica succeeds and another fails. Each is recorded once, and what runs runs on. If the node forgets
// how they ended, both are replaced.
func nodeComesBack(s *space, program string, forgets bool) {
	running, restarts, disruptions, runs := 3, 1, 0, map[string]int{"good": 1, "bad": 2}
	if forgets {
		running, restarts, disruptions, runs = 4, 0, 2, map[string]int{"good": 2, "bad": 2}
	}
	job := s.submit("back", `{replicaSpecs: [
		{type: steady, replicas: 2, template: `+there(true, "obey")+`},
		{type: good, template: `+there(true, "print up then obey 0")+`},
		{type: bad, restartPolicy: {limit: 1}, template: `+there(true, "print up then obey 9")+`}]}`)
	s.awaitRunning("back", "4/4")
	s.awaitLog(job, "good", 0, "up")
	s.awaitLog(job, "bad", 0, "up")
	before := s.requireOn(job, second)

	s.killOnNode(program)
	s.term(before["good-0"])
	s.term(before["bad-0"])
	s.awaitNode(corev1.NodeReady, corev1.ConditionTrue, false)
	s.startNode()
	s.await("back", "what must run again runs", func(j *v1beta1.GenericJob) bool {
		again := s.runs(j, "good", 0) == runs["good"] && s.runs(j, "bad", 0) == runs["bad"]
		return j.Status.CompletionTime != nil || again && j.Status.Running == fmt.Sprintf("%d/%d", running, running)
	})
	for _, name := range []string{"steady-0", "steady-1"} {
		pod := before[name]
		require.NotZero(s.t, processOf(&pod, "/worker"), "%s runs on", name)
	}
	s.end(job, "steady", 0, 0)
	s.end(job, "steady", 1, 0)
	s.end(job, "bad", 0, 0)
	if forgets {
		s.end(job, "good", 0, 0)
	}
	done := s.awaitPhase("back", v1beta1.JobSucceeded)
	require.EqualValues(s.t, restarts, done.Status.BackoffCount)
	require.EqualValues(s.t, disruptions, done.Status.DisruptionCount)
	s.requireRuns(job, "steady", 1, 1)
	s.requireRuns(job, "good", runs["good"])
	s.requireRuns(job, "bad", runs["bad"])
	s.awaitReleased(job)
}

// powerFailureIsNoFailure ends everything on the node at once. What had succeeded stays so.
func powerFailureIsNoFailure(s *space) {
	job := s.submit("dark", `{replicaSpecs: [{type: worker, replicas: 3, template: `+there(true, "print up then obey")+`}]}`)
	s.awaitRunning("dark", "3/3")
	for rank := range 3 {
		s.awaitLog(job, "worker", rank, "up")
	}
	s.end(job, "worker", 2, 0)
	s.await("dark", "one has succeeded", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "2/2" })
	s.killOnNode("everything")
	s.startNode()
	done := s.await("dark", "all run again", func(j *v1beta1.GenericJob) bool {
		return j.Status.CompletionTime != nil || j.Status.DisruptionCount == 2 && j.Status.Running == "2/2"
	})
	require.Nil(s.t, done.Status.CompletionTime, "%v", done.Status.Conditions)
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	done = s.awaitPhase("dark", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.BackoffCount)
	require.EqualValues(s.t, 2, done.Status.DisruptionCount)
	s.requireRuns(job, "worker", 2, 2, 1)
}

// lostNodeIsTold cuts the node off for less than its pods wait. The status says so until it is back, and nothing is counted.
func lostNodeIsTold(s *space) {
	job := s.submit("awaited", `{replicaSpecs: [{type: worker, replicas: 2, template: `+there(true, "print up then obey")+`}]}`)
	s.awaitRunning("awaited", "2/2")
	says := func(words string) func(*v1beta1.GenericJob) bool {
		return func(j *v1beta1.GenericJob) bool {
			return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, words)
		}
	}
	s.killOnNode("kubelet")
	told := s.await("awaited", "it tells of both pods, which are marked one after the other",
		says("nobody knows whether replicas worker-0, worker-1 run. Its pods tolerate that without a limit"))
	require.Contains(s.t, condition(told, v1beta1.ConditionRunning).Message, "Node "+second+" is not Ready since ")
	s.startNode()
	s.await("awaited", "the node is back", says("All pods are running normally"))
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	done := s.awaitPhase("awaited", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.BackoffCount+done.Status.DisruptionCount)
	s.requireRuns(job, "worker", 1, 1)
}

// lostNodeIsLeft cuts the node off for longer than its pods wait. They are replaced elsewhere, though the old ones still
// run; when the node is back, those are ended, and nothing of them is counted again.
func lostNodeIsLeft(s *space) {
	s.operatorWith("--force-replace-after=5s")
	job := s.submit("lost", `{service: {}, replicaSpecs: [
		{type: master, template: `+pod("obey")+`},
		{type: worker, replicas: 3, template: `+there(false, "print up then obey")+`}]}`)
	never := s.submit("never", `{replicaSpecs: [{type: worker, restartPolicy: {policy: Never}, template: `+there(false, "obey")+`}]}`)
	s.awaitRunning("lost", "4/4")
	s.awaitRunning("never", "1/1")
	s.end(job, "worker", 2, 0)
	s.await("lost", "worker-2 has succeeded", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "3/3" })
	old := s.pods(job)
	for _, name := range []string{"worker-0", "worker-1"} {
		require.Equal(s.t, second, old[name].Spec.NodeName, name)
	}

	s.killOnNode("kubelet")
	s.await("lost", "its pods are replaced", func(j *v1beta1.GenericJob) bool {
		return j.Status.CompletionTime != nil || j.Status.DisruptionCount == 2 && j.Status.Running == "3/3"
	})
	s.requireOn(job, "local")
	s.awaitPhase("never", v1beta1.JobFailed)
	for _, name := range []string{"worker-0", "worker-1"} {
		pod := old[name]
		require.NotZero(s.t, processOf(&pod, "/worker"), "%s runs on while nobody reaches its node", name)
	}
	s.startNode()
	for _, name := range []string{"worker-0", "worker-1"} {
		s.awaitStopped(old[name])
	}
	for rank := range 2 {
		s.end(job, "worker", rank, 0)
	}
	s.end(job, "master", 0, 0)
	done := s.awaitPhase("lost", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 2, done.Status.DisruptionCount)
	require.Zero(s.t, done.Status.BackoffCount)
	s.requireRuns(job, "worker", 2, 2, 1)
	s.requireRuns(job, "master", 1)
	s.requireRuns(never, "worker", 1)
	s.awaitReleased(job)
	s.awaitPods(never)
}

// lostNodeIsLeftSoon cuts the power of the node with rank 0, at the operator's own defaults, in a job that waits 30 seconds for a node. All ranks
// begin again elsewhere, from attempt 1. How long that takes is logged. Before that the status names node and rank, and what follows.
func lostNodeIsLeftSoon(s *space) {
	const step = "print attempt $(jobAttempt) makes a step then obey"
	there := strings.Replace(pod(step), `{"spec": {`, `{"spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference":
		{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["`+second+`"]}]}}]}},
		"tolerations": [{"key": "genericjob.test/added-node"}], `, 1)
	job := s.submit("soon", `{nodeLost: {afterSeconds: 30}, restartScope: Job, backoffLimit: 0, replicaSpecs: [
		{type: master, template: `+there+`},
		{type: worker, replicas: 3, template: `+pod(step)+`}]}`)
	allStep := func(attempt int) {
		words := fmt.Sprintf("attempt %d makes a step", attempt)
		s.awaitLog(job, "master", 0, words)
		for rank := range 3 {
			s.awaitLog(job, "worker", rank, words)
		}
	}
	s.awaitRunning("soon", "4/4")
	allStep(0)
	require.Equal(s.t, second, s.pods(job)["master-0"].Spec.NodeName)

	s.killOnNode("everything")
	begun := time.Now()
	told := s.await("soon", "it tells of the node", func(j *v1beta1.GenericJob) bool {
		return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, "Node "+second+" is not Ready since ")
	})
	says := condition(told, v1beta1.ConditionRunning).Message
	s.t.Logf("LOST NODE is told after %s: %s", time.Since(begun).Round(time.Second), says)
	require.Contains(s.t, says, "nobody knows whether replica master-0 runs. If it stays so, Kubernetes deletes its pods from ")
	require.Contains(s.t, says, ", and the operator by force from ")
	require.Zero(s.t, told.Status.DisruptionCount)
	s.await("soon", "all are replaced", func(j *v1beta1.GenericJob) bool { return j.Status.CompletionTime != nil || j.Status.JobAttempt == 1 })
	s.t.Logf("LOST NODE is given up after %s", time.Since(begun).Round(time.Second))
	s.awaitRunning("soon", "4/4")
	allStep(1)
	s.t.Logf("LOST NODE: all ranks make their next step after %s", time.Since(begun).Round(time.Second))
	require.Equal(s.t, "local", s.pods(job)["master-0"].Spec.NodeName)

	s.end(job, "master", 0, 0)
	for rank := range 3 {
		s.end(job, "worker", rank, 0)
	}
	done := s.awaitPhase("soon", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, done.Status.DisruptionCount)
	require.Zero(s.t, done.Status.BackoffCount)
	s.requireRuns(job, "master", 2)
	s.requireRuns(job, "worker", 2, 2, 2)
}

// fullDiskEvicts fills the node's disk. Its kubelet evicts the pods there; one that may run elsewhere does so, one that
// may not waits until there is room again.
func fullDiskEvicts(s *space, disk string) {
	free := s.submit("free", `{replicaSpecs: [{type: worker, template: `+there(false, "obey")+`}]}`)
	bound := s.submit("bound", `{replicaSpecs: [{type: worker, template: `+there(true, "obey")+`}]}`)
	for _, job := range []*v1beta1.GenericJob{free, bound} {
		s.awaitRunning(job.Name, "1/1")
		s.requireOn(job, second)
	}
	makeRoom := s.fill(disk)
	s.awaitNode(corev1.NodeDiskPressure, corev1.ConditionTrue, true)
	for _, job := range []*v1beta1.GenericJob{free, bound} {
		s.awaitEvent(job, corev1.EventTypeNormal, v1beta1.ReasonDisrupted+": ")
	}
	s.await("free", "it runs elsewhere", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "1/1" })
	s.requireOn(free, "local")
	s.await("bound", "it waits", func(j *v1beta1.GenericJob) bool {
		pod := s.pods(j)["worker-0"]
		return pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil && pod.Spec.NodeName == ""
	})
	makeRoom()
	s.await("bound", "it runs again", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "1/1" })
	s.requireOn(bound, second)
	for _, job := range []*v1beta1.GenericJob{free, bound} {
		s.end(job, "worker", 0, 0)
		done := s.awaitPhase(job.Name, v1beta1.JobSucceeded)
		// More than one if the scheduler bound the next pod before it knew, and the kubelet turned that away.
		require.Positive(s.t, done.Status.DisruptionCount, job.Name)
		require.Zero(s.t, done.Status.BackoffCount, job.Name)
		s.requireRuns(job, "worker", 1+int(done.Status.DisruptionCount))
	}
}

// fullEmptyDirIsAFailure has each attempt write more than its emptyDir may hold. The kubelet evicts it, as it does on this node
// alone: the other looks at no disk. The code chose this end: it is counted.
func fullEmptyDirIsAFailure(s *space) {
	template := strings.NewReplacer(
		`"env":`, `"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}], "env":`,
		`"containers":`, `"volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}], "containers":`,
	).Replace(there(true, "write 4 /scratch then obey"))
	job := s.submit("greedy", `{replicaSpecs: [{type: worker, restartPolicy: {limit: 1}, template: `+template+`}]}`)
	says := `went over a limit of its own: Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". Raise that limit`
	s.await("greedy", "the first eviction is counted", func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount == 1 })
	s.awaitEvent(job, corev1.EventTypeWarning, says)
	done := s.awaitPhase("greedy", v1beta1.JobFailed)
	require.Contains(s.t, condition(done, v1beta1.ConditionFailed).Message, says)
	require.EqualValues(s.t, 1, done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
	s.requireRuns(job, "worker", 2)
	last := s.pods(job)["worker-0"]
	require.Equal(s.t, "Evicted", last.Status.Reason)
	for _, c := range last.Status.Conditions {
		require.NotEqual(s.t, corev1.DisruptionTarget, c.Type)
	}
}

// drainedNodeIsLeft drains the node. A replica that has just succeeded there is not run again.
func drainedNodeIsLeft(s *space) {
	job := s.submit("drained", `{replicaSpecs: [
		{type: master, template: `+pod("obey")+`},
		{type: worker, replicas: 3, template: `+there(false, "print up then obey 0")+`}]}`)
	s.awaitRunning("drained", "4/4")
	for rank := range 3 {
		s.awaitLog(job, "worker", rank, "up")
		require.Equal(s.t, second, s.pods(job)[fmt.Sprintf("worker-%d", rank)].Spec.NodeName)
	}
	s.end(job, "worker", 1, 0)
	s.until("worker-1 has ended", func() bool { return s.pods(job)["worker-1"].Status.Phase == corev1.PodSucceeded })
	s.t.Cleanup(func() { _ = exec.Command(kubectl, "uncordon", second).Run() })
	text, err := s.kubectl("drain", second, "--ignore-daemonsets", "--timeout=4m")
	require.NoError(s.t, err, text)
	s.await("drained", "its pods are replaced", func(j *v1beta1.GenericJob) bool {
		return j.Status.CompletionTime != nil || j.Status.DisruptionCount == 2 && j.Status.Running == "3/3"
	})
	s.requireOn(job, "local")
	s.end(job, "master", 0, 0)
	for _, rank := range []int{0, 2} {
		s.end(job, "worker", rank, 0)
	}
	done := s.awaitPhase("drained", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 2, done.Status.DisruptionCount)
	require.Zero(s.t, done.Status.BackoffCount)
	s.requireRuns(job, "worker", 2, 1, 2)
	s.requireRuns(job, "master", 1)
}

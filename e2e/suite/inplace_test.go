package suite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestInPlace has code run again in the pods that are there, by a real kubelet.
func TestInPlace(t *testing.T) {
	t.Run("all replicas together", func(t *testing.T) { allRestartInPlace(newSpace(t)) })
	t.Run("one replica", func(t *testing.T) { oneRestartsInPlace(newSpace(t)) })
	for name, test := range map[string]func(*space){
		"five fail in turn":              fiveFailInTurn,
		"one fails five times":           oneFailsFiveTimes,
		"two fail at once":               twoFailAtOnce,
		"the others fail, too":           othersFailToo,
		"the others fail twice":          othersFailTwice,
		"a pod is deleted":               deletedAmongInPlace,
		"where little is allowed":        restrictedInPlace,
		"what process 1 of a pod owes":   firstProcess,
		"code reads from standard input": standardInput,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newSpace(t))
		})
	}
}

// inPlace is a pod template whose container has a command.
func inPlace(steps string) string {
	return strings.Replace(pod(steps), `"args"`, `"command": ["/worker"], "args"`, 1)
}

// identities are the UIDs of a job's pods, by name.
func (s *space) identities(job *v1beta1.GenericJob) map[string]types.UID {
	uids := map[string]types.UID{}
	for name, pod := range s.pods(job) {
		uids[name] = pod.UID
	}
	return uids
}

func allRestartInPlace(s *space) {
	job := s.submit("together", `
restartScope: Job
restartStrategy: InPlace
backoffLimit: 3
replicaSpecs:
- {type: worker, replicas: 4, restartPolicy: {policy: OnFailure}, template: `+inPlace("print jobAttempt $(jobAttempt) then obey")+`}`)
	s.awaitRunning("together", "4/4")
	for rank := range 4 {
		s.awaitLog(job, "worker", rank, "jobAttempt 0")
	}
	before := s.identities(job)

	begun := time.Now()
	s.end(job, "worker", 2, 3)
	for rank := range 4 {
		s.awaitLog(job, "worker", rank, "jobAttempt 1")
	}
	s.t.Logf("IN PLACE all of 4 run again after %s", time.Since(begun).Round(100*time.Millisecond))
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
	now := s.job("together")
	require.EqualValues(s.t, 1, now.Status.BackoffCount)
	require.EqualValues(s.t, 1, now.Status.InPlace.StartedJobAttempt)

	s.end(job, "worker", 0, 0)
	s.await("together", "rank 0 has succeeded", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })
	s.end(job, "worker", 1, 4)
	for _, rank := range []int{1, 2, 3} {
		s.awaitLog(job, "worker", rank, "jobAttempt 2")
	}
	for _, rank := range []int{1, 2, 3} {
		s.end(job, "worker", rank, 0)
	}
	done := s.awaitPhase("together", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 2, done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

func oneRestartsInPlace(s *space) {
	job := s.submit("alone", `
restartStrategy: InPlace
replicaSpecs:
- {type: worker, replicas: 2, restartPolicy: {policy: OnFailure, limit: 1}, template: `+inPlace("print attempt $(attempt) then obey")+`}`)
	s.awaitRunning("alone", "2/2")
	s.awaitLog(job, "worker", 1, "attempt 0")
	before := s.identities(job)
	begun := time.Now()
	s.end(job, "worker", 1, 3)
	s.awaitLog(job, "worker", 1, "attempt 1")
	s.t.Logf("IN PLACE one of 2 runs again after %s", time.Since(begun).Round(100*time.Millisecond))
	require.Equal(s.t, before, s.identities(job))
	s.end(job, "worker", 1, 3)
	failed := s.awaitPhase("alone", v1beta1.JobFailed)
	require.EqualValues(s.t, 1, failed.Status.BackoffCount)
	s.awaitReleased(job)
	require.Equal(s.t, before, s.identities(job), "its pod stays, with its logs")
}

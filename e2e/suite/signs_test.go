package suite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// TestHeartbeat has code that hangs end, and tells how far code has come, by a real kubelet.
func TestHeartbeat(t *testing.T) {
	for strategy, pods := range map[string]int{"InPlace": 1, "Recreate": 2} {
		t.Run(strategy, func(t *testing.T) { hangs(newSpace(t), strategy, pods) })
	}
	t.Run("progress", func(t *testing.T) { tellsProgress(newSpace(t)) })
}

// beats is a heartbeat that is soon missed.
const beats = `heartbeat: {stdout: 'step (?P<step>\d+) loss (?P<loss>\S+)$', startupSeconds: 60, steadySeconds: 3}`

// hangs has a replica hang twice, which one restart is for.
func hangs(s *space, strategy string, pods int) {
	name := strings.ToLower(strategy)
	job := s.submit(name, beats+`
restartStrategy: `+strategy+`
replicaSpecs:
- {type: worker, restartPolicy: {policy: OnFailure, limit: 1}, template: `+inPlace("print step 812 loss 0.25 then obey")+`}`)
	seen := map[types.UID]bool{}
	done := s.await(name, "it has failed", func(j *v1beta1.GenericJob) bool {
		for _, uid := range s.identities(job) {
			seen[uid] = true
		}
		return j.Status.Phase == v1beta1.JobFailed
	})
	require.Len(s.t, seen, pods)
	require.Len(s.t, done.Status.Failures, 2)
	for _, f := range done.Status.Failures {
		require.EqualValues(s.t, 124, *f.ExitCode)
		require.Equal(s.t, `heartbeat: no line of output matched for 3 s (steadySeconds), last: "step 812 loss 0.25"`, f.Message)
		require.NotEmpty(s.t, f.Node)
	}
	now, _ := s.kubectl("logs", spec.PodName(job, "worker", 0))
	before, _ := s.kubectl("logs", "--previous", spec.PodName(job, "worker", 0)) // in place the container has been started again since
	require.Contains(s.t, now+before, "goroutine ", "the stacks")
	require.Contains(s.t, now+before, "step 812 loss 0.25\n")
}

func tellsProgress(s *space) {
	s.submit("steps", `
heartbeat: {stdout: 'step (?P<step>\d+) loss (?P<loss>\S+)$'}
replicaSpecs:
- {type: worker, replicas: 2, template: `+inPlace("print step 7 loss nan then obey")+`}`)
	begun := time.Now()
	job := s.await("steps", "it tells its progress", func(j *v1beta1.GenericJob) bool { return j.Status.Progress != nil })
	s.t.Logf("PROGRESS is told after %s", time.Since(begun).Round(time.Second))
	require.EqualValues(s.t, 7, *job.Status.Progress.Step)
	require.Equal(s.t, "nan", job.Status.Progress.Loss)
	for rank := range 2 {
		s.end(job, "worker", rank, 0)
	}
	s.awaitPhase("steps", v1beta1.JobSucceeded)
}

// TestStopTogether has all replicas save what they have when one is drained.
func TestStopTogether(t *testing.T) {
	s := newSpace(t)
	job := s.submit("together", `
restartScope: Job
restartStrategy: InPlace
stopTogether: true
backoffLimit: 0
replicaSpecs:
- {type: worker, replicas: 3, restartPolicy: {policy: OnFailure}, template: `+inPlace("print jobAttempt $(jobAttempt) then obey 0")+`}`)
	s.awaitRunning("together", "3/3")
	before := s.identities(job)
	begun := time.Now()
	drained := s.pods(job)["worker-1"]
	require.NoError(t, s.Delete(s.ctx, &drained))
	s.await("together", "the drain is recorded", func(j *v1beta1.GenericJob) bool { return j.Status.DisruptionCount == 1 })
	s.t.Logf("STOP TOGETHER is decided after %s", time.Since(begun).Round(10*time.Millisecond))
	for rank := range 3 {
		s.awaitLog(job, "worker", rank, "jobAttempt 1")
	}
	s.t.Logf("STOP TOGETHER all run again after %s", time.Since(begun).Round(100*time.Millisecond))
	after, same := s.identities(job), 0
	for name, uid := range before {
		if after[name] == uid {
			same++
		}
	}
	require.Equal(t, 2, same, "the others go on in their pods")
	for rank := range 3 {
		s.end(job, "worker", rank, 0)
	}
	done := s.awaitPhase("together", v1beta1.JobSucceeded)
	require.EqualValues(t, 1, done.Status.DisruptionCount)
	require.Zero(t, done.Status.BackoffCount)
}

package suite_test

import (
	"fmt"
	"syscall"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func deletedPodIsReplaced(s *space) {
	s.disrupt("0", func(job *v1beta1.GenericJob) { s.deletePod(job) })
}

func forceDeletedPodIsReplaced(s *space) {
	s.disrupt("143", func(job *v1beta1.GenericJob) { s.deletePod(job, client.GracePeriodSeconds(0)) })
}

func evictedPodIsReplaced(s *space) {
	job := s.disrupt("143", s.evictPod)
	s.awaitEvent(job, corev1.EventTypeNormal, "was disrupted: EvictionByEvictionAPI")
}

// disrupt ends a pod of a running job from outside. Its program, asked to stop, exits with the given code: not even 0 is
// success then.
func (s *space) disrupt(codeWhenStopped string, end func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
	job := s.submit("disrupted", `{replicaSpecs: [{type: worker, replicas: 2, template: `+pod("print up then obey "+codeWhenStopped)+`}]}`)
	s.awaitRunning("disrupted", "2/2")
	s.awaitLog(job, "worker", 0, "up")
	end(job)
	s.await("disrupted", "the pod is replaced", func(j *v1beta1.GenericJob) bool {
		return j.Status.DisruptionCount == 1 && j.Status.Running == "2/2"
	})
	s.awaitEvent(job, corev1.EventTypeNormal, v1beta1.ReasonDisrupted+": ")
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	done := s.awaitPhase("disrupted", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, done.Status.DisruptionCount)
	require.Zero(s.t, done.Status.BackoffCount)
	s.requireRuns(job, "worker", 2, 1)
	return done
}

func neverDoesNotStartAgain(s *space) {
	job := s.submit("never", `{replicaSpecs: [{type: worker, restartPolicy: {policy: Never}, template: `+pod("print up then obey")+`}]}`)
	s.awaitRunning("never", "1/1")
	s.awaitLog(job, "worker", 0, "up")
	s.deletePod(job)
	done := s.awaitPhase("never", v1beta1.JobFailed)
	require.Contains(s.t, condition(done, v1beta1.ConditionFailed).Message, "its restart policy is Never, so it failed (Disrupted)")
	require.Zero(s.t, done.Status.BackoffCount)
	s.awaitPods(job)
	s.requireRuns(job, "worker", 1)
}

// drainIsOneDisruption drains one rank of a PyTorchTrainingJob at default settings. Its peers, which have lost a member, fail.
func drainIsOneDisruption(s *space) {
	job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "synchronous"}}
	require.NoError(s.t, yaml.UnmarshalStrict([]byte(`{replicaSpecs: [{type: worker, replicas: 4, template: `+pod("print up then obey 1")+`}]}`), &job.Spec))
	require.NoError(s.t, s.Create(s.ctx, job))
	owned := s.owned(job)
	s.awaitRunning("synchronous", "4/4")
	s.awaitLog(owned, "worker", 0, "up")
	var peers []int
	for rank := 1; rank < 4; rank++ {
		s.awaitLog(owned, "worker", rank, "up")
		p, is := s.pods(owned)[fmt.Sprintf("worker-%d", rank)]
		require.True(s.t, is)
		pid := processOf(&p, "/worker")
		require.NotZero(s.t, pid)
		peers = append(peers, pid)
	}
	s.evictPod(owned)
	for _, pid := range peers {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have been asked to stop already
	}
	s.await("synchronous", "all ranks start over", func(j *v1beta1.GenericJob) bool {
		return j.Status.JobAttempt >= 1 && j.Status.Running == "4/4"
	})
	for rank := range 4 {
		s.end(owned, "worker", rank, 0)
	}
	done := s.awaitPhase("synchronous", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.BackoffCount, "a drain is nobody's failure")
	require.EqualValues(s.t, 1, done.Status.DisruptionCount)
	s.requireRuns(owned, "worker", 2, 2, 2, 2)
	s.awaitTrainingPhase(pyTorchJob{job}, v1beta1.JobSucceeded)
}

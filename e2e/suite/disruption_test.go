package suite_test

import (
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// disrupt ends a pod of a running job from outside. Its program, asked to go, exits with the given code: not even 0 is
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

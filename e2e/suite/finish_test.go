package suite_test

import (
	"fmt"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// cleanUpPolicies has a job for each policy whose master succeeds, and with it the job, while its worker runs.
func cleanUpPolicies(s *space) {
	cases := map[string][]string{
		"None":       {"master-0", "worker-0"},
		"Unfinished": {"master-0"},
		"All":        {},
		"unfinished": {"master-0"},
	}
	name := func(policy string) string { return fmt.Sprintf("clean-%x", policy[:2]) }
	for policy := range cases {
		s.submit(name(policy), fmt.Sprintf(`
cleanUpPolicy: %s
successRules: [{master: [0]}]
replicaSpecs:
- {type: master, template: %s}
- {type: worker, template: %s}`, policy, pod("obey"), pod("obey")))
	}
	for policy, stay := range cases {
		job := s.awaitRunning(name(policy), "2/2")
		s.end(job, "master", 0, 0)
		s.awaitPhase(job.Name, v1beta1.JobSucceeded)
		s.awaitPods(job, stay...)
		s.awaitReleased(job)
		for _, pod := range s.pods(job) {
			require.Nil(s.t, pod.DeletionTimestamp, "%s: %s", policy, pod.Name)
		}
		s.requireRuns(job, "master", 1)
		s.requireRuns(job, "worker", 1)
	}
	worker := s.pods(s.job(name("None")))["worker-0"]
	require.Equal(s.t, corev1.PodRunning, worker.Status.Phase, "None touches no pod")
}

func deadlineEndsQuietJob(s *space) {
	job := s.submit("late", `{activeDeadlineSeconds: 8, cleanUpPolicy: Unfinished, replicaSpecs: [{type: worker, replicas: 2, template: `+pod("obey 0")+`}]}`)
	done := s.awaitPhase("late", v1beta1.JobFailed)
	failed := condition(done, v1beta1.ConditionFailed)
	require.Equal(s.t, v1beta1.ReasonDeadlineExceeded, failed.Reason)
	require.GreaterOrEqual(s.t, done.Status.CompletionTime.Sub(done.Status.StartTime.Time).Seconds(), 8.0)
	s.awaitEvent(job, corev1.EventTypeWarning, v1beta1.ReasonDeadlineExceeded)
	s.awaitPods(job)
	s.requireRuns(job, "worker", 1, 1)
}

func timeToLive(s *space) {
	job := s.submit("shortlived", `{ttlSecondsAfterFinished: 2, replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`)
	training := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "shortlived-too"}}
	require.NoError(s.t, yaml.UnmarshalStrict([]byte(`{runPolicy: {ttlSecondsAfterFinished: 2}, replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`), &training.Spec))
	require.NoError(s.t, s.Create(s.ctx, training))
	s.awaitGone(job)
	s.awaitGone(training)
	s.awaitPods(job)
	s.requireRuns(job, "worker", 1)
}

// deletedJobLeavesNothing deletes in both ways that take the pods along.
func deletedJobLeavesNothing(s *space) {
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		job := s.submit("deleted", `{service: {}, replicaSpecs: [{type: worker, replicas: 3, template: `+pod("obey")+`}]}`)
		s.awaitRunning("deleted", "3/3")
		require.NoError(s.t, s.Delete(s.ctx, s.job("deleted"), client.PropagationPolicy(how)))
		s.awaitGone(job)
		s.awaitPods(job)
		s.awaitGone(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "deleted"}})
		s.requireRuns(job, "worker", 1, 1, 1)
	}
}

func orphanedPodsAreLetGo(s *space) {
	job := s.submit("orphaned", `{replicaSpecs: [{type: worker, replicas: 3, template: `+pod("obey")+`}]}`)
	s.awaitRunning("orphaned", "3/3")
	require.NoError(s.t, s.Delete(s.ctx, s.job("orphaned"), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	s.awaitGone(job)
	require.Len(s.t, s.pods(job), 3)
	s.awaitReleased(job)
	for _, pod := range s.pods(job) {
		require.Empty(s.t, pod.OwnerReferences)
		require.NoError(s.t, s.Delete(s.ctx, &pod))
	}
	s.awaitPods(job)
}

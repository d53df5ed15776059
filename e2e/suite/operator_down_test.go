package suite_test

import (
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// downCases are jobs to whose only pod something happens while the operator is down. Each may restart once.
var downCases = map[string]struct {
	happens  func(*space, *v1beta1.GenericJob)
	restarts int  // that must be counted
	again    bool // the replica must run again
}{
	"succeeds":             {func(s *space, j *v1beta1.GenericJob) { s.endAndSee(j, 0) }, 0, false},
	"succeeds-is-deleted":  {func(s *space, j *v1beta1.GenericJob) { s.endAndSee(j, 0); s.deletePod(j) }, 0, false},
	"succeeds-is-evicted":  {func(s *space, j *v1beta1.GenericJob) { s.endAndSee(j, 0); s.evictPod(j) }, 0, false},
	"fails":                {func(s *space, j *v1beta1.GenericJob) { s.endAndSee(j, 1) }, 1, true},
	"running-is-deleted":   {func(s *space, j *v1beta1.GenericJob) { s.deletePod(j) }, 0, true},
	"running-is-evicted":   {func(s *space, j *v1beta1.GenericJob) { s.evictPod(j) }, 0, true},
	"running-is-destroyed": {func(s *space, j *v1beta1.GenericJob) { s.deletePod(j, client.GracePeriodSeconds(0)) }, 0, true},
}

// operatorDownMissesNothing lets things happen that the operator sees only once it is back.
func operatorDownMissesNothing(s *space) {
	jobs := map[string]*v1beta1.GenericJob{}
	for name := range downCases {
		jobs[name] = s.submit(name, `{replicaSpecs: [{type: worker, restartPolicy: {limit: 1}, template: `+pod("obey")+`}]}`)
	}
	for name := range downCases {
		s.awaitRunning(name, "1/1")
	}
	s.setOperators(0)
	defer s.setOperators(1)
	for name, tc := range downCases {
		tc.happens(s, jobs[name])
	}
	for name, job := range jobs {
		s.until("the pod of "+name+" has ended", func() bool {
			pod := s.pods(job)["worker-0"]
			return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		})
	}
	s.setOperators(1)
	for name, tc := range downCases {
		runs := 1
		if tc.again {
			runs = 2
			s.await(name, "it runs again", func(j *v1beta1.GenericJob) bool {
				return j.Status.CompletionTime != nil || s.runs(j, "worker", 0) == 2 && j.Status.Running == "1/1"
			})
			s.end(jobs[name], "worker", 0, 0)
		}
		done := s.awaitPhase(name, v1beta1.JobSucceeded)
		require.EqualValues(s.t, tc.restarts, done.Status.BackoffCount, name)
		require.EqualValues(s.t, runs-1-tc.restarts, done.Status.DisruptionCount, name)
		s.requireRuns(done, "worker", runs)
	}
}

// endAndSee ends the worker of a job and waits until the apiserver knows of it.
func (s *space) endAndSee(job *v1beta1.GenericJob, code int) {
	s.end(job, "worker", 0, code)
	s.until("the pod of "+job.Name+" has ended", func() bool {
		phase := s.pods(job)["worker-0"].Status.Phase
		return phase == corev1.PodSucceeded || phase == corev1.PodFailed
	})
}

func (s *space) deletePod(job *v1beta1.GenericJob, options ...client.DeleteOption) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: spec.PodName(job, "worker", 0)}}
	require.NoError(s.t, s.Delete(s.ctx, pod, options...))
}

func (s *space) evictPod(job *v1beta1.GenericJob) {
	meta := metav1.ObjectMeta{Namespace: s.ns, Name: spec.PodName(job, "worker", 0)}
	require.NoError(s.t, s.SubResource("eviction").Create(s.ctx, &corev1.Pod{ObjectMeta: meta}, &policyv1.Eviction{ObjectMeta: meta}))
}

// setOperators sets the number of the operator's pods, and waits until it is so.
func (s *space) setOperators(n int32) {
	deployment := &appsv1.Deployment{}
	require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, deployment))
	patch := client.MergeFrom(deployment.DeepCopy())
	deployment.Spec.Replicas = ptr.To(n)
	require.NoError(s.t, s.Patch(s.ctx, deployment, patch))
	s.until("the operator runs or is down, as wanted", func() bool { return len(s.operatorPods()) == int(n) })
}

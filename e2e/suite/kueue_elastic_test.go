package suite_test

import (
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/kueue"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/pytorch"
)

// queuedElasticJobKeepsItsStore has an elastic job of the real PyTorch wait for a queue with room for its pods. One of these is the store
// by which its replicas meet. When that is lost, it comes back in its place.
func queuedElasticJobKeepsItsStore(s *space) {
	loadFramework(s.t, "pytorch")
	s.mountData()
	first := s.queued("first", "low", slotted("obey"))
	s.awaitRunning("first", "3/3")

	elastic := elasticJob(60, 1)
	elastic.Scheduler = &v1beta1.SchedulePolicy{Kueue: &v1beta1.KueueScheduler{QueueName: "team"}}
	elastic.ReplicaSpecs[0].Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{slots: resource.MustParse("1")}
	job := s.submitPyTorch("elastic", elastic)
	gj := s.owned(job)
	s.awaitTraining(job, "that its queue is full", func(status *v1beta1.TrainingJobStatus) bool {
		return strings.Contains(describe(status), v1beta1.ReasonQueued)
	})
	require.Equal(s.t, map[string]int64{"node": 2, pytorch.RendezvousType: 1}, podSets(s.workload(gj)))
	require.Empty(s.t, s.pods(gj))
	s.finish(first, 0, 1, 2)
	s.awaitEpoch(gj, "node", 0, 2)

	store := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: spec.PodName(gj, pytorch.RendezvousType, 0)}}
	require.NoError(s.t, s.Delete(s.ctx, store))
	s.await("elastic", "its store is back", func(*v1beta1.GenericJob) bool { return s.runs(gj, pytorch.RendezvousType, 0) == 2 })
	require.True(s.t, kueue.Read(s.workload(gj)).Admitted, "it has kept its quota")

	s.scaleElastic("4")
	s.await("elastic", "that there is no room for the store", func(j *v1beta1.GenericJob) bool {
		return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, "quota for pods in flavor pool")
	})
	s.scaleElastic("3")
	s.awaitLog(gj, "node", 2, "world=3 ")
	require.Equal(s.t, map[string]int64{"node": 3, pytorch.RendezvousType: 1}, podSets(s.workload(gj)), "it has queued again, for all")
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	require.Zero(s.t, job.Status.BackoffCount)
	require.EqualValues(s.t, 1, job.Status.DisruptionCount, "the store")
	s.requireLearned(s.logs(gj, "node", 0))
	s.until("Kueue knows that it is over", func() bool { return kueue.Read(s.workload(gj)).Finished })
}

func (s *space) scaleElastic(replicas string) {
	s.t.Helper()
	text, err := s.kubectl("scale", "pj/elastic", "--replicas="+replicas)
	require.NoError(s.t, err, text)
}

// podSets are how many pods of each type a Workload asks for.
func podSets(w *unstructured.Unstructured) map[string]int64 {
	counts := map[string]int64{}
	sets, _, _ := unstructured.NestedSlice(w.Object, "spec", "podSets")
	for _, one := range sets {
		set := one.(map[string]any)
		counts[set["name"].(string)] = set["count"].(int64)
	}
	return counts
}

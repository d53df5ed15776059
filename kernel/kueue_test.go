package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

func inQueue(name, class string) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{Kueue: &v1beta1.KueueScheduler{QueueName: name, PriorityClass: class}}
	})
}

func labelled(labels map[string]string) kt.JobOption {
	return func(job *v1beta1.GenericJob) { job.Labels = labels }
}

// queued is the story of a job of three workers that Kueue has admitted.
func queued(options ...kt.JobOption) *kt.Story {
	story := kt.NewStory(workers(3, append([]kt.JobOption{inQueue("team", ""), kt.BackoffLimit(9)}, options...)...))
	return story.Then(s, "Kueue admits the job", story.Cluster.Admit).Kubelet(2 * s)
}

func TestNoPodBeforeItsQueueHasQuotaForAll(t *testing.T) {
	story := kt.NewStory(workers(2, inQueue("team", "urgent")))
	require.Empty(t, story.Cluster.Pods)
	w := story.Cluster.Workload
	queue, _, _ := unstructured.NestedString(w.Object, "spec", "queueName")
	priority, _, _ := unstructured.NestedInt64(w.Object, "spec", "priority")
	class, _, _ := unstructured.NestedStringMap(w.Object, "spec", "priorityClassRef")
	sets, _, _ := unstructured.NestedSlice(w.Object, "spec", "podSets")
	require.Equal(t, "team", queue)
	require.EqualValues(t, 7, priority)
	require.Equal(t, map[string]string{"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "urgent"}, class)
	require.Len(t, sets, 1)
	require.EqualValues(t, 2, sets[0].(map[string]any)["count"])

	story.Then(m, "Kueue says why", func() { story.Cluster.Refuse("no quota") })
	job := story.Cluster.Job
	require.Equal(t, v1beta1.JobPending, job.Status.Phase)
	require.Nil(t, job.Status.StartTime, "its deadline does not count")
	require.Equal(t, "Queued", condition(job.Status, v1beta1.ConditionRunning).Reason)
	require.Contains(t, condition(job.Status, v1beta1.ConditionRunning).Message, "no quota.")

	story.Then(m, "Kueue admits the job", story.Cluster.Admit)
	require.Len(t, story.Cluster.Pods, 2)
	for _, pod := range story.Cluster.Pods {
		require.Equal(t, map[string]string{"pool": "spot"}, pod.Spec.NodeSelector)
		require.Equal(t, []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}, pod.Spec.Tolerations)
		require.Equal(t, "worker", pod.Labels["kueue.x-k8s.io/podset"])
	}
}

func TestAnEvictionCountsAsNothingAndGivesTheQuotaBack(t *testing.T) {
	story := queued().Exit(m, "worker", 0, 0)
	require.True(t, story.Cluster.Is("PodsReady"))
	given, _, _ := unstructured.NestedSlice(story.Cluster.Workload.Object, "status", "reclaimablePods")
	require.Equal(t, []any{map[string]any{"name": "worker", "count": int64(1)}}, given)

	story.Then(m, "Kueue preempts the job", func() { story.Cluster.EvictWorkload("Preempted", "by another") })
	require.True(t, story.Cluster.Is("QuotaReserved"), "pods still run")
	require.Equal(t, "Evicted", condition(story.Cluster.Job.Status, v1beta1.ConditionRunning).Reason)
	story.Kubelet(5 * s).Kubelet(s)
	require.False(t, story.Cluster.Is("QuotaReserved"))
	require.True(t, story.Cluster.Is("Requeued"))
	require.Equal(t, v1beta1.JobPending, story.Cluster.Job.Status.Phase)

	story.Then(time.Hour, "Kueue admits the job again", story.Cluster.Admit).Kubelet(2 * s)
	require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
	finish(story, 1, 2)
	s := story.Cluster.Job.Status
	require.Equal(t, v1beta1.JobSucceeded, s.Phase)
	require.Zero(t, s.BackoffCount)
	require.Zero(t, s.DisruptionCount)
	require.InDelta(t, 3600, s.PausedSeconds, 120, "the clock stood still")
	require.True(t, story.Cluster.Is("Finished"))
}

// A job whose spec cannot run keeps its pods until the spec is corrected, but not the quota that others wait for.
func TestAJobThatIsBlockedHearsAnEviction(t *testing.T) {
	story := queued(success(v1beta1.FinishRule{"worker": {intstr.FromInt32(2)}}))
	story.Edit(m, "scales below a rank that a rule names", kt.Replicas("worker", 2)).Edit(m, "wants to debug", kt.DebugNow(true))
	require.Equal(t, v1beta1.ReasonInvalidSpec, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Reason)
	require.Len(t, story.Cluster.Pods, 3)

	story.Then(m, "Kueue preempts the job", func() { story.Cluster.EvictWorkload("Preempted", "by another") })
	story.Kubelet(5 * s).Kubelet(s)
	require.Empty(t, story.Cluster.Pods)
	require.False(t, story.Cluster.Is("QuotaReserved"))

	require.Equal(t, v1beta1.TimeQueued, story.Cluster.Job.Status.Time.Open.Cause)

	story.Edit(m, "asks for the rank again", kt.Replicas("worker", 3)).Edit(m, "ends debugging", kt.DebugNow(false))
	story.Then(m, "Kueue admits the job again", story.Cluster.Admit).Kubelet(2 * s)
	require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
}

func TestAWorkloadThatIsDeletedStopsItsJobFirst(t *testing.T) {
	story := queued()
	story.Then(m, "somebody deletes the Workload", func() { story.Cluster.Workload = nil })
	require.Nil(t, story.Cluster.Workload, "pods still run")
	story.Kubelet(5 * s).Kubelet(s)
	require.NotNil(t, story.Cluster.Workload, "it waits again")
	require.Equal(t, v1beta1.JobPending, story.Cluster.Job.Status.Phase)
}

func TestAPausedJobIsNotInItsQueue(t *testing.T) {
	story := queued().Edit(m, "pauses", kt.PauseNow(true))
	require.NotNil(t, story.Cluster.Workload)
	story.Kubelet(5 * s).Kubelet(s)
	require.Nil(t, story.Cluster.Workload)
	require.Equal(t, v1beta1.JobPaused, story.Cluster.Job.Status.Phase)
	story.Edit(m, "resumes", kt.PauseNow(false))
	require.Equal(t, v1beta1.JobPending, story.Cluster.Job.Status.Phase)
	story.Then(m, "Kueue admits the job", story.Cluster.Admit).Kubelet(2 * s)
	require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
}

func TestAJobThatIsScaledUpQueuesForAll(t *testing.T) {
	story := queued().Exit(m, "worker", 0, 0).Edit(m, "scales up", kt.Replicas("worker", 5))
	require.Contains(t, condition(story.Cluster.Job.Status, v1beta1.ConditionRunning).Message, "more replicas than the queue team has admitted")
	story.Kubelet(5 * s).Kubelet(s)
	require.False(t, story.Cluster.Is("Admitted"))
	story.Then(m, "Kueue admits the job", story.Cluster.Admit).Kubelet(2 * s)
	require.Equal(t, "4/4", story.Cluster.Job.Status.Running)
}

func TestAWholeJobThatStartsAnewQueuesForTheQuotaThatItHasGivenBack(t *testing.T) {
	story := queued(kt.JobScope).Exit(m, "worker", 0, 0).Exit(m, "worker", 1, 1).Kubelet(5 * s).Kubelet(s)
	require.False(t, story.Cluster.Is("Admitted"))
	require.EqualValues(t, 1, story.Cluster.Job.Status.BackoffCount)
	story.Then(m, "Kueue admits the job", story.Cluster.Admit).Kubelet(2 * s)
	require.Equal(t, "3/3", story.Cluster.Job.Status.Running)
}

func TestAJobThatIsScaledDownGivesItsQuotaBack(t *testing.T) {
	story := queued().Edit(m, "scales down", kt.Replicas("worker", 1)).Kubelet(5 * s)
	require.Equal(t, "1/1", story.Cluster.Job.Status.Running)
	given, _, _ := unstructured.NestedSlice(story.Cluster.Workload.Object, "status", "reclaimablePods")
	require.Equal(t, []any{map[string]any{"name": "worker", "count": int64(2)}}, given)
}

func TestALabelNamesTheQueueToo(t *testing.T) {
	job := workers(1, labelled(map[string]string{spec.LabelQueue: "team"}))
	story := kt.NewStory(job)
	require.NotNil(t, story.Cluster.Workload)
	require.Equal(t, "team", story.Cluster.Job.Status.Queue.QueueName)

	// A job that runs goes on as it began.
	story = kt.NewStory(workers(1)).Kubelet(2 * s)
	story.Then(m, "a user labels the job", func() { story.Cluster.Job.Labels = map[string]string{spec.LabelQueue: "team"} })
	require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
	require.Nil(t, story.Cluster.Workload)
}

func TestAJobWhoseQueueCannotBeSaysSo(t *testing.T) {
	d := planWorld(t, kernel.World{Job: workers(1, inQueue("team", "")), Now: kt.Start, Kueue: kernel.Kueue{Missing: "Workload of kueue"}})
	require.Equal(t, v1beta1.ReasonGangUnavailable, condition(d.Status, v1beta1.ConditionBlocked).Reason)
	d = planWorld(t, kernel.World{Job: workers(1, inQueue("team", "")), Now: kt.Start, Kueue: kernel.Kueue{Forbidden: "no"}})
	require.Contains(t, condition(d.Status, v1beta1.ConditionBlocked).Message, "may not read what the queue team needs: no. Give it")
	require.Empty(t, d.Actions)
	require.NotZero(t, d.RequeueAfter)
	d = planWorld(t, kernel.World{Job: workers(1, inQueue("team", "nobody")), Now: kt.Start})
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, `no WorkloadPriorityClass "nobody"`)
	require.Empty(t, d.Actions)
	require.NotZero(t, d.RequeueAfter)
}

// What MultiKueue copies to another cluster brings its Workload along: a second one would take its quota twice.
func TestAJobForWhichSomebodyHasMadeAWorkloadGetsNoSecondOne(t *testing.T) {
	byLabel := labelled(map[string]string{spec.LabelQueue: "team", spec.LabelPrebuilt: "theirs"})
	byAnnotation := func(job *v1beta1.GenericJob) { job.Annotations = map[string]string{spec.LabelPrebuilt: "theirs"} }
	for name, options := range map[string][]kt.JobOption{
		"by label":      {byLabel},
		"by annotation": {inQueue("team", ""), byAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			story := kt.NewStory(workers(1, options...)).Then(m, "nothing happens", func() {})
			require.Nil(t, story.Cluster.Workload)
			require.Empty(t, story.Cluster.Pods)
			job := story.Cluster.Job
			require.Nil(t, job.Status.StartTime)
			blocked := condition(job.Status, v1beta1.ConditionBlocked)
			require.Equal(t, v1beta1.ReasonInvalidSpec, blocked.Reason)
			require.Contains(t, blocked.Message, "somebody else has made for it, theirs, ")
			require.Contains(t, blocked.Message, "Remove "+spec.LabelPrebuilt)
			require.Equal(t, blocked.Message, condition(job.Status, v1beta1.ConditionRunning).Message)

			story.Then(m, "the user does so", func() {
				story.Cluster.Job.Labels, story.Cluster.Job.Annotations = map[string]string{spec.LabelQueue: "team"}, nil
			})
			require.NotNil(t, story.Cluster.Workload)
			require.Empty(t, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Type)
		})
	}
	// One that was admitted by its own goes on.
	story := queued()
	story.Then(m, "a user adds the label", func() { story.Cluster.Job.Labels = map[string]string{spec.LabelPrebuilt: "theirs"} })
	require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
	require.NotNil(t, story.Cluster.Workload)
}

// podOf is the pod of a replica; nil if there is none.
func podOf(story *kt.Story, replica string) *corev1.Pod {
	for name, pod := range story.Cluster.Pods {
		if strings.HasSuffix(name, "-"+replica) {
			return pod
		}
	}
	return nil
}

// annotated gives the template of each replica type annotations.
func annotated(of map[string]map[string]string) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) {
		for i := range s.ReplicaSpecs {
			s.ReplicaSpecs[i].Template.Annotations = of[s.ReplicaSpecs[i].Type]
		}
	})
}

// Kueue takes a Workload whose groups make no sense, and never admits it or places it in any way.
func TestAJobWhoseTopologyIsMistakenSaysSoAndQueuesOnceItIsMended(t *testing.T) {
	group := map[string]string{"kueue.x-k8s.io/podset-group-name": "ring", "kueue.x-k8s.io/podset-required-topology": "rack"}
	story := kt.NewStory(kt.Job(kt.Type("master", 1), kt.Type("worker", 2), inQueue("team", ""), annotated(map[string]map[string]string{"worker": group})))
	require.Nil(t, story.Cluster.Workload)
	for _, kind := range []v1beta1.JobConditionType{v1beta1.ConditionBlocked, v1beta1.ConditionRunning} {
		told := condition(story.Cluster.Job.Status, kind)
		require.Equal(t, v1beta1.ReasonInvalidSpec, told.Reason)
		require.Contains(t, told.Message, `spec.replicaSpecs[worker].template.metadata.annotations[kueue.x-k8s.io/podset-group-name] is "ring", which 1 replica types have`)
		require.Contains(t, told.Message, "Pause the job, correct it, and resume")
	}
	story.Then(m, "the user mends it", func() {
		story.Cluster.EditJob(func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Template.Annotations = group })
	})
	require.NotNil(t, story.Cluster.Workload)
	require.Empty(t, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Type)
}

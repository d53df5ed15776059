package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/build"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// gangs are the gang schedulers, as jobs name them.
var gangs = map[string]v1beta1.SchedulePolicy{
	"t9kScheduler": {T9kScheduler: &v1beta1.T9kScheduler{}},
	"kubernetes":   {Kubernetes: &v1beta1.KubernetesScheduler{}},
	"volcano":      {Volcano: &v1beta1.VolcanoScheduler{}},
	"coscheduling": {Coscheduling: &v1beta1.Coscheduling{}},
	"kai":          {KAI: &v1beta1.KAIScheduler{Queue: "team"}},
}

func gang(name string, minMember int32) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) {
		policy := gangs[name]
		if minMember > 0 {
			policy.MinMember = &minMember
		}
		s.Scheduler = &policy
	})
}

// situations are lives of four workers in which pods have to be placed once more. The scheduler of the stories places a pod only if its
// group has as many pods as its PodGroup asks for. It leaves out those that have finished.
var situations = map[string]struct {
	minMember int32
	options   []kt.JobOption
	life      func(*kt.Story)
}{
	"it begins":            {life: func(*kt.Story) {}},
	"a rank restarts":      {life: func(story *kt.Story) { story.Exit(m, "worker", 2, 1) }},
	"two ranks restart":    {life: func(story *kt.Story) { story.Exit(m, "worker", 2, 1).Exit(0, "worker", 1, 1) }},
	"two ranks, in turns":  {life: func(story *kt.Story) { story.Exit(m, "worker", 2, 1).Kubelet(5*s).Exit(m, "worker", 1, 1) }},
	"... after a success":  {life: func(story *kt.Story) { story.Exit(m, "worker", 0, 0).Exit(m, "worker", 2, 1) }},
	"... two after two":    {life: func(story *kt.Story) { finish(story, 0, 1).Exit(m, "worker", 2, 1).Exit(0, "worker", 3, 1) }},
	"... and once more":    {life: func(story *kt.Story) { finish(story, 0).Exit(m, "worker", 2, 1).Kubelet(5*s).Exit(m, "worker", 2, 1) }},
	"... and then another": {life: func(story *kt.Story) { finish(story, 0).Exit(m, "worker", 2, 1).Kubelet(5*s).Exit(m, "worker", 1, 1) }},
	"a success while one waits": {life: func(story *kt.Story) {
		story.Exit(m, "worker", 2, 1).Exit(0, "worker", 0, 0)
	}},
	"a failure for good while one waits": {options: []kt.JobOption{kt.BackoffLimit(1), success(v1beta1.FinishRule{"worker": ranks(1)})}, life: func(story *kt.Story) {
		story.Exit(m, "worker", 2, 1).Exit(0, "worker", 0, 1)
	}},
	"the whole job restarts": {options: []kt.JobOption{kt.JobScope}, life: func(story *kt.Story) {
		finish(story, 0).Exit(m, "worker", 2, 1)
	}},
	"pause and resume":               {life: func(story *kt.Story) { pauseAndResume(story) }},
	"... that comes after a success": {life: func(story *kt.Story) { pauseAndResume(finish(story, 1)) }},
	"... and a restart": {life: func(story *kt.Story) {
		pauseAndResume(finish(story, 1).Exit(m, "worker", 2, 1).Kubelet(5*s)).Exit(m, "worker", 3, 1)
	}},
	"debug and back": {life: func(story *kt.Story) {
		story.Edit(m, "debugs", kt.DebugNow(true)).Kubelet(5*s).Kubelet(5*s).Edit(m, "leaves debug mode", kt.DebugNow(false)).Kubelet(5 * s)
	}},
	"scaled up":                 {life: func(story *kt.Story) { story.Edit(m, "scales up", kt.Replicas("worker", 6)) }},
	"scaled up after a success": {life: func(story *kt.Story) { finish(story, 0).Edit(m, "scales up", kt.Replicas("worker", 6)) }},
	"scaled down, and a restart": {life: func(story *kt.Story) {
		story.Edit(m, "scales down", kt.Replicas("worker", 2)).Kubelet(5*s).Exit(m, "worker", 1, 1)
	}},
	"scaled down and up again": {life: func(story *kt.Story) {
		story.Edit(m, "scales down", kt.Replicas("worker", 2)).Kubelet(5*s).Edit(m, "scales up", kt.Replicas("worker", 4))
	}},
	"an elastic job that restarts": {minMember: 2, life: func(story *kt.Story) { finish(story, 0, 1, 2).Exit(m, "worker", 3, 1) }},
	"the whole gang is preempted": {life: func(story *kt.Story) {
		story.Then(m, "the scheduler preempts it", func() {
			for rank := range 4 {
				story.Cluster.Evict(spec.PodName(story.Cluster.Job, "worker", rank))
			}
		})
	}},
	"... of those that are left": {life: func(story *kt.Story) {
		finish(story, 0).Then(m, "the scheduler preempts it", func() {
			for rank := 1; rank < 4; rank++ {
				story.Cluster.Evict(spec.PodName(story.Cluster.Job, "worker", rank))
			}
		})
	}},
}

func finish(story *kt.Story, ranks ...int) *kt.Story {
	for _, rank := range ranks {
		story.Exit(m, "worker", rank, 0)
	}
	return story
}

func pauseAndResume(story *kt.Story) *kt.Story {
	return story.Edit(m, "pauses", kt.PauseNow(true)).Kubelet(5*s).Edit(time.Hour, "resumes", kt.PauseNow(false)).Kubelet(5 * s)
}

func TestNoJobIsStuckBehindItsOwnMinimum(t *testing.T) {
	for scheduler := range gangs {
		for name, tc := range situations {
			t.Run(scheduler+"/"+name, func(t *testing.T) {
				story := kt.NewStory(workers(4, append([]kt.JobOption{kt.BackoffLimit(9), gang(scheduler, tc.minMember)}, tc.options...)...)).Kubelet(2 * s)
				tc.life(story)
				for range 5 {
					story.Kubelet(10 * s)
				}
				for _, pod := range story.Cluster.Pods {
					require.NotEqual(t, corev1.PodPending, pod.Status.Phase, story.String())
				}
				require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase, story.String())
				for rank := range 6 {
					story.Exit(m, "worker", rank, 0)
				}
				require.NotEmpty(t, story.Cluster.Job.Status.CompletionTime, story.String())
				require.Empty(t, story.Cluster.Groups, "what a queue has set aside for it is free")
			})
		}
	}
}

func TestAPauseGivesTheQueueItsRoomBack(t *testing.T) {
	for scheduler := range gangs {
		story := kt.NewStory(workers(2, gang(scheduler, 0))).Kubelet(2 * s)
		require.Len(t, story.Cluster.Groups, 1)
		story.Edit(m, "pauses", kt.PauseNow(true))
		require.Len(t, story.Cluster.Groups, 1, "pods are still on their nodes")
		story.Kubelet(5 * s).Kubelet(s)
		require.Empty(t, story.Cluster.Groups, story.String())
	}
}

// A group that asks for fewer pods than have to be placed lets some of them take nodes which another job waits for.
func TestNobodyGoesAheadAlone(t *testing.T) {
	for scheduler := range gangs {
		for minMember, want := range map[int32]int64{0: 4, 2: 2, 9: 4} {
			require.Equal(t, want, minimumOf(kt.NewStory(workers(4, gang(scheduler, minMember)))), scheduler)
		}
	}
	story := kt.NewStory(workers(4, kt.BackoffLimit(9), gang("kubernetes", 0))).Kubelet(2 * s)
	finish(story, 0).Exit(m, "worker", 1, 1)
	require.EqualValues(t, 1, minimumOf(story), "the others run")
	story.Exit(0, "worker", 2, 1)
	require.EqualValues(t, 2, minimumOf(story), "two have to be placed now")
}

func minimumOf(story *kt.Story) int64 {
	number := int32(0)
	if g := story.Cluster.Job.Status.Gang; g != nil {
		number = g.Group
	}
	group := story.Cluster.Groups[build.GangKey(story.Cluster.Job, number, "").GetName()]
	return kt.Minimum(group)
}

// A new group may leave no pod of the old one. That the apiserver had taken pods then stands in the status alone: a policy that came later and refuses
// them must not fail the job.
func TestAJobWhoseGroupIsGivenUpHasHadPods(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), gang("kubernetes", 0), kt.Begun)
	job = after(job, plan(t, job, kt.At(time.Second)))
	require.False(t, job.Status.Gang.HadPods)
	kt.Replicas("worker", 4)(job)
	next := after(job, plan(t, job, kt.At(2*time.Second), kt.Pod(job, "worker", 0), kt.Pod(job, "worker", 1)))
	require.Greater(t, next.Status.Gang.Group, job.Status.Gang.Group)
	require.True(t, kernel.Accepted(kernel.World{Job: next}, "worker"))
	require.False(t, kernel.Accepted(kernel.World{Job: job}, "worker"))
}

package kernel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// Somebody has taken the flavor out of the ClusterQueue and deleted it. Ends are recorded and what is over is cleaned up; new pods, which
// would go to any node, wait for it.
func TestADeletedFlavorFreezesNoJob(t *testing.T) {
	story := queued()
	story.Then(m, "an admin deletes the flavor", func() { story.Cluster.NoFlavor = true })
	require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
	require.Empty(t, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Type, "all run, and need no flavor")

	story.Exit(m, "worker", 0, 0).Exit(m, "worker", 1, 1).Kubelet(2 * s)
	job := story.Cluster.Job
	require.Equal(t, "0", ledger(job.Status, "worker").Succeeded)
	require.EqualValues(t, 1, job.Status.BackoffCount)
	require.Nil(t, podOf(story, "worker-1"), "no pod without the flavor's nodes")
	for _, kind := range []v1beta1.JobConditionType{v1beta1.ConditionBlocked, v1beta1.ConditionRunning} {
		told := condition(job.Status, kind)
		require.Equal(t, v1beta1.ReasonGangUnavailable, told.Reason)
		require.Contains(t, told.Message, `Kueue has admitted replicas of type worker in ResourceFlavor "spot", which is not there`)
		require.Contains(t, told.Message, "Create it, and they come by themselves; or delete the Workload "+story.Cluster.Workload.GetName())
	}

	story.Then(m, "the admin makes it again", func() { story.Cluster.NoFlavor = false }).Kubelet(2 * s)
	require.Equal(t, map[string]string{"pool": "spot"}, podOf(story, "worker-1").Spec.NodeSelector)
	require.Empty(t, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Type)
	story.Then(m, "an admin deletes the flavor again", func() { story.Cluster.NoFlavor = true })
	finish(story, 1, 2)
	require.Equal(t, v1beta1.JobSucceeded, story.Cluster.Job.Status.Phase)
	require.True(t, story.Cluster.Is("Finished"))
}

// Pods that have been made wait for their node, and not for the flavor.
func TestADeletedFlavorIsToldOnlyWherePodsAreMissing(t *testing.T) {
	story := kt.NewStory(workers(2, inQueue("team", ""), kt.BackoffLimit(9)))
	story.Then(s, "Kueue admits the job", story.Cluster.Admit)
	require.Len(t, story.Cluster.Pods, 2)
	story.Then(s, "an admin deletes the flavor", func() { story.Cluster.NoFlavor = true })
	require.Empty(t, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Type)
	require.Equal(t, v1beta1.ReasonPodsNotReady, condition(story.Cluster.Job.Status, v1beta1.ConditionRunning).Reason)

	story.Then(m, "a node rejects a pod", func() { kt.FailedWithout("OutOfcpu")(podOf(story, "worker-0")) })
	require.Equal(t, v1beta1.ReasonGangUnavailable, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Reason, "that one is missing")
}

// An admission is told once, though a flavor may be missing, or the operator may not read it.
func TestAnAdmissionIsToldWithoutItsFlavor(t *testing.T) {
	for name, keep := range map[string]func(*kt.Cluster, bool){
		"deleted": func(c *kt.Cluster, back bool) { c.NoFlavor = !back },
		"forbidden": func(c *kt.Cluster, back bool) {
			c.NoFlavor, c.FlavorForbidden = !back, map[bool]string{false: "no right"}[back]
		},
	} {
		t.Run(name, func(t *testing.T) {
			story := kt.NewStory(workers(2, inQueue("team", "")))
			keep(story.Cluster, false)
			story.Then(s, "Kueue admits the job", story.Cluster.Admit)
			require.Empty(t, story.Cluster.Pods)
			require.Equal(t, 1, strings.Count(story.String(), "event Admitted: The queue team has admitted the job."))
			blocked := condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked)
			require.Equal(t, v1beta1.ReasonGangUnavailable, blocked.Reason)
			require.Contains(t, blocked.Message, map[string]string{"deleted": "not there", "forbidden": "may not read what the queue team needs: no right"}[name])

			story.Then(m, "an admin brings it back", func() { keep(story.Cluster, true) })
			require.Len(t, story.Cluster.Pods, 2)
			require.Equal(t, 1, strings.Count(story.String(), "event Admitted"))
			require.Empty(t, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Type)

			story.Kubelet(s).Then(m, "it goes again", func() { keep(story.Cluster, false) })
			require.Empty(t, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Type, "all run, and need no flavor")
		})
	}
}

// A type whose pods are there needs no flavor, whatever another type lacks.
func TestAMissingFlavorIsToldOfTheTypeThatLacksAPod(t *testing.T) {
	story := kt.NewStory(kt.Job(kt.Type("master", 1), kt.Type("worker", 2, kt.Policy(v1beta1.RestartOnFailure, 9)), inQueue("team", "")))
	story.Then(s, "Kueue admits the job", func() {
		story.Cluster.Admit()
		value, _, _ := unstructured.NestedFieldNoCopy(story.Cluster.Workload.Object, "status", "admission", "podSetAssignments")
		value.([]any)[0].(map[string]any)["flavors"] = map[string]any{"cpu": "gone"}
	})
	blocked := condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked)
	require.Contains(t, blocked.Message, `replicas of type master in ResourceFlavor "gone"`)
	require.Len(t, story.Cluster.Pods, 2, "the other type has its flavor")

	story.Then(s, "an admin makes it", func() { story.Cluster.Also = "gone" }).Kubelet(2 * s)
	require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
	story.Then(m, "an admin deletes it", func() { story.Cluster.Also = "" })
	story.Exit(m, "worker", 1, 1).Kubelet(s).Exit(s, "worker", 1, 1)
	require.Len(t, story.Cluster.Pods, 2, "a replica waits for its delay")
	require.Empty(t, condition(story.Cluster.Job.Status, v1beta1.ConditionBlocked).Type)
	require.Equal(t, v1beta1.ReasonPodsNotReady, condition(story.Cluster.Job.Status, v1beta1.ConditionRunning).Reason)
}

// Beside it: the whole job starts over, is paused, or is sent back to its queue while the flavor is gone.
func TestAJobWithoutItsFlavorIsStillReplacedPausedAndEvicted(t *testing.T) {
	lost := func(options ...kt.JobOption) *kt.Story {
		story := queued(options...)
		return story.Then(m, "an admin deletes the flavor", func() { story.Cluster.NoFlavor = true })
	}
	story := lost(kt.JobScope).Exit(m, "worker", 1, 1).Kubelet(5 * s).Kubelet(s)
	require.EqualValues(t, 1, story.Cluster.Job.Status.JobAttempt)
	require.Empty(t, story.Cluster.Pods, "the old ones are gone")

	story = lost().Edit(m, "pauses", kt.PauseNow(true)).Kubelet(5 * s).Kubelet(s)
	require.Equal(t, v1beta1.JobPaused, story.Cluster.Job.Status.Phase)
	require.Nil(t, story.Cluster.Workload)

	story = lost()
	story.Then(m, "Kueue evicts the job", func() { story.Cluster.EvictWorkload("ClusterQueueStopped", "no") }).Kubelet(5 * s).Kubelet(s)
	require.Empty(t, story.Cluster.Pods)
	require.False(t, story.Cluster.Is("QuotaReserved"))
}

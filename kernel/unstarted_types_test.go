package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// containers gives workers a main container of this name, and others beside it.
func containers(main string, others ...string) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) {
		pod := &s.ReplicaSpecs[0].Template.Spec
		pod.Containers = []corev1.Container{pod.Containers[0]}
		pod.Containers[0].Name = main
		for _, name := range others {
			pod.Containers = append(pod.Containers, corev1.Container{Name: name, Image: "helper"})
		}
	})
}

// A template without a container that its pods have is another one. Whatever has become of that container, its pod goes, and counts as nothing.
func TestAnEditBeforeCodeHasStartedMayRenameOrRemoveContainers(t *testing.T) {
	edits := map[string]kt.JobOption{
		"the main one is renamed": containers("train", "helper"),
		"the other is renamed":    containers("main", "other"),
		"the other is removed":    containers("main"),
		"the main one is removed": containers("helper"),
	}
	states := map[string]kt.PodOption{"waits": waitingFor("ErrImagePull"), "cannot be executed": notExecuted, "has failed": kt.Exited(1), "runs": kt.Running}
	for edit, edited := range edits {
		for state, of := range states {
			t.Run(fmt.Sprintf("%s, and its pod %s", edit, state), func(t *testing.T) {
				job := kt.Job(kt.Type("worker", 2, kt.Policy(onFailure, 3)), containers("main", "helper"), kt.Begun)
				pods := kt.Pods(job, "worker", 2, waitingFor("ErrImagePull"))
				job = kt.Edited(after(job, plan(t, job, kt.At(time.Minute), pods...)), edited)
				pods[0] = kt.Pod(job, "worker", 0, of)
				for n := range 2 {
					d := plan(t, job, kt.At(time.Duration(n+2)*time.Minute), pods...)
					require.EqualValues(t, 1, d.Status.ModeGeneration, "once for each edit")
					requireNothingCounted(t, d.Status)
					require.Empty(t, d.Status.Ledger)
					require.Equal(t, "No pod has failed.", condition(d.Status, v1beta1.ConditionReplicaFailure).Message, "what cannot start is of the earlier spec")
					require.Contains(t, did(d), "StopPod worker-1")
					require.NotContains(t, did(d), "CreatePod worker-0@0", "its name is taken")
					job = after(job, d)
				}
				d := plan(t, job, kt.At(5*time.Minute))
				require.Equal(t, []string{"CreatePod worker-0@0", "CreatePod worker-1@0"}, did(d))
				for _, r := range d.Status.Tasks[0].Replicas {
					require.Empty(t, r.Containers, "those of that pod are gone")
				}
			})
		}
	}
}

// Types are renamed in a pause, or before there is a status. Pods of a type that is gone go with it, and count as nothing.
func TestAnEditBeforeCodeHasStartedMayRenameAType(t *testing.T) {
	states := map[string]kt.PodOption{
		"waits": waitingFor("ErrImagePull"), "cannot be executed": notExecuted, "has failed": kt.Exited(1), "has succeeded": kt.Exited(0), "runs": kt.Running,
	}
	for state, of := range states {
		for _, paused := range []bool{false, true} {
			t.Run(fmt.Sprintf("its pod %s, paused: %t", state, paused), func(t *testing.T) {
				job := kt.Job(kt.Type("worker", 1, kt.Policy(onFailure, 3)), kt.Type("ps", 1, kt.Policy(onFailure, 3)))
				pods := []*corev1.Pod{kt.Pod(job, "worker", 0, waitingFor("ErrImagePull")), kt.Pod(job, "ps", 0, of)}
				if paused {
					kt.Begun(job)
					job = kt.Edited(job, kt.PauseNow(true))
					job = after(job, plan(t, job, kt.At(time.Second)))
					require.Equal(t, v1beta1.JobPaused, job.Status.Phase)
				}
				job = kt.Edited(job, kt.PauseNow(false), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[1].Type = "store" }))
				for n := range 2 {
					d := plan(t, job, kt.At(time.Duration(n+1)*time.Minute), pods...)
					requireNothingCounted(t, d.Status)
					require.Equal(t, []string{"worker", "store"}, []string{d.Status.Tasks[0].Type, d.Status.Tasks[1].Type})
					require.Len(t, d.Status.Tasks, 2)
					require.Contains(t, did(d), "CreatePod store-0@0", "its name is another")
					require.Contains(t, did(d), "StopPod worker-0")
					require.Contains(t, did(d), "DeletePod ps-0")
					job = after(job, d)
				}
				d := plan(t, job, kt.At(4*time.Minute))
				require.Equal(t, []string{"CreatePod worker-0@0", "CreatePod store-0@0"}, did(d))
				requireNothingCounted(t, d.Status)
				require.EqualValues(t, 1, ledger(d.Status, "ps").Replicas[0].Attempt, "should the type come back, its old pod is not taken for a new one")
			})
		}
	}
}

// The pods of the earlier spec go before the job's queue admits it again, and nothing says later that one of them cannot start.
func TestAnEditAfterWhichAJobQueuesAgainTakesBackWhatCannotStart(t *testing.T) {
	story := kt.NewStory(workers(2, inQueue("team", "")))
	story.Then(s, "Kueue admits the job", story.Cluster.Admit).Then(m, "no node has so much", func() {
		for _, pod := range story.Cluster.Pods {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "Insufficient cpu"}}
		}
	})
	require.Equal(t, "Unschedulable", condition(story.Cluster.Job.Status, v1beta1.ConditionReplicaFailure).Reason)
	less := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
	story.Edit(m, "asks for less", kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.ReplicaSpecs[0].Template.Spec.Containers[0].Resources.Requests = less
	}))
	story.Kubelet(5 * s).Kubelet(s)
	require.Empty(t, story.Cluster.Pods)
	require.Equal(t, "No pod has failed.", condition(story.Cluster.Job.Status, v1beta1.ConditionReplicaFailure).Message)
	story.Then(m, "Kueue admits the job", story.Cluster.Admit)
	require.Len(t, story.Cluster.Pods, 2)
	require.Equal(t, "No pod has failed.", condition(story.Cluster.Job.Status, v1beta1.ConditionReplicaFailure).Message)
}

// A program that cannot be executed has not started, and has failed for good under Never. An edit does not undo that.
func TestAnEditDoesNotTakeBackWhatHasFailedForGood(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartNever, 0)), kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.SuccessRules = []v1beta1.FinishRule{{"worker": {intstr.FromInt32(1)}}}
		s.FailureRules = s.SuccessRules
	}), kt.Begun)
	pods := kt.Pods(job, "worker", 2, kt.Scheduled)
	pods[0] = kt.Pod(job, "worker", 0, notExecuted)
	job = after(job, plan(t, job, kt.At(time.Minute), pods...))
	pods[1] = kt.Pod(job, "worker", 1, waitingFor("ImagePullBackOff"))
	job = after(job, plan(t, job, kt.At(2*time.Minute), pods...))
	require.Equal(t, "ImagePullBackOff", condition(job.Status, v1beta1.ConditionReplicaFailure).Reason)
	d := plan(t, kt.Edited(job, imageOf("worker", "right")), kt.At(3*time.Minute), pods...)
	require.Contains(t, did(d), "StopPod worker-1")
	require.Equal(t, "1 of 2 replicas failed for good: worker-0", condition(d.Status, v1beta1.ConditionReplicaFailure).Message)
}

func requireNothingCounted(t *testing.T, s v1beta1.GenericJobStatus) {
	t.Helper()
	require.Zero(t, s.BackoffCount+s.DisruptionCount+s.JobAttempt)
	require.Empty(t, s.Failures)
	require.Nil(t, s.FirstFailure)
	for _, l := range s.Ledger {
		require.Empty(t, l.Succeeded+l.Failed)
	}
}

package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

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
				job := kt.Job(kt.Task("worker", 2, kt.Policy(onFailure, 3)), containers("main", "helper"), kt.Begun)
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
				job := kt.Job(kt.Task("worker", 1, kt.Policy(onFailure, 3)), kt.Task("ps", 1, kt.Policy(onFailure, 3)))
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

func requireNothingCounted(t *testing.T, s v1beta1.GenericJobStatus) {
	t.Helper()
	require.Zero(t, s.BackoffCount+s.DisruptionCount+s.JobAttempt)
	require.Empty(t, s.Failures)
	require.Nil(t, s.FirstFailure)
	for _, l := range s.Ledger {
		require.Empty(t, l.Succeeded+l.Failed)
	}
}

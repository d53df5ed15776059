package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestATrainingJobIsEditedInAPause(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.train("edit", chiefAndTwo)
	c.awaitTraining("edit", v1beta1.JobRunning)
	c.editTraining("edit", func(j *v1beta1.TensorFlowTrainingJob) {
		j.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enable: true}}
	})
	c.awaitTraining("edit", v1beta1.JobPaused)
	c.editTraining("edit", func(j *v1beta1.TensorFlowTrainingJob) {
		j.Spec.RunMode, j.Spec.ReplicaSpecs[1].Replicas = nil, ptr.To[int32](1)
	})
	c.until("it runs with fewer", func() bool { return c.training("edit").Status.Running == "2/2" })
	gj := c.awaitGenericJob(job)
	require.Contains(t, c.pods(gj)["chief-0"].Spec.Containers[0].Env[0].Value, `"worker":["edit-worker-0.edit.`+c.ns+`.svc.cluster.local:2222"]}`)
	require.EqualValues(t, 3, c.training("edit").Status.ObservedGeneration)
}

// The view of a pause may be older than its end: what comes through by that waits, and what runs goes on.
func TestAnEditThatSlipsThroughWaits(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	job := c.train("slip", chiefAndTwo)
	c.until("all run", func() bool { return c.training("slip").Status.Running == "3/3" }) // a job that waits creates nothing
	stop()
	c.show("slip", v1beta1.JobPaused)
	c.editTraining("slip", func(j *v1beta1.TensorFlowTrainingJob) { j.Spec.ReplicaSpecs[1].Replicas = ptr.To[int32](1) })
	c.operate(operation{})
	told := c.awaitBlocked("slip", v1beta1.ReasonInvalidSpec)
	require.Contains(t, told.Message, "immutable unless the job is paused")
	require.EqualValues(t, 2, c.training("slip").Status.ObservedGeneration, "this answers to the edit")
	gj := c.awaitGenericJob(job)
	require.EqualValues(t, 2, *gj.Spec.ReplicaSpecs[1].Replicas, "TF_CONFIG names both workers until it can be changed")
	require.Len(t, c.pods(gj), 3)
}

// Somebody scales the GenericJob meanwhile: what is compiled now has another number, too, which waits. The job keeps the number that it runs with.
func TestAScaleOfAGenericJobIsUndoneWhileAnEditOfItsTrainingJobWaits(t *testing.T) {
	for name, scale := range map[string]func(*cluster, *v1beta1.GenericJob){
		"of a type": func(c *cluster, gj *v1beta1.GenericJob) {
			c.edit(gj.Name, func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Replicas = ptr.To[int32](4) })
		},
		"of the job": func(c *cluster, gj *v1beta1.GenericJob) {
			body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
			require.NoError(c.t, c.SubResource("scale").Update(c.ctx, gj, client.WithSubResourceBody(body)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			stop := c.operate(operation{})
			gj := c.awaitGenericJob(c.train("kept", "replicaSpecs: [{type: worker, replicas: 2, template: POD}]"))
			c.until("all run", func() bool { return c.training("kept").Status.Running == "2/2" })
			before := c.uidsOf(gj)
			stop()
			c.show("kept", v1beta1.JobPaused)
			c.editTraining("kept", func(j *v1beta1.TensorFlowTrainingJob) { j.Spec.ReplicaSpecs[0].Replicas = ptr.To[int32](3) })
			c.operate(operation{})
			c.awaitBlocked("kept", v1beta1.ReasonInvalidSpec)
			spec := c.job("kept").Spec
			scale(c, c.job("kept"))
			c.await("kept", func(j *v1beta1.GenericJob) bool { return j.Generation == 3 && j.Status.ObservedGeneration == 3 })
			require.True(t, c.quietlyEqual("kept", spec))
			require.Equal(t, before, c.uidsOf(gj))
			c.awaitEvent(gj, "Warning FieldIgnored", "Edit TensorFlowTrainingJob kept instead")
		})
	}
}

// TestAPauseWaitsForNoConfigMap: the ConfigMap is for what waits for the pause.
func TestAPauseWaitsForNoConfigMap(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	c.train("wider", "replicaSpecs: [{type: worker, replicas: 2, template: POD}]")
	c.until("all run", func() bool { return c.training("wider").Status.Running == "2/2" })
	stop()
	c.quota("count/configmaps", &corev1.ConfigMap{})
	c.show("wider", v1beta1.JobPaused)
	c.editTraining("wider", func(j *v1beta1.TensorFlowTrainingJob) {
		j.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enable: true}}
		j.Spec.ReplicaSpecs[0].Replicas = ptr.To[int32](65)
	})
	c.operate(operation{})
	c.awaitPhase("wider", v1beta1.JobPaused)
	require.Contains(t, c.awaitBlocked("wider", v1beta1.ReasonCreateFailed).Message, "exceeded quota", "now it needs the ConfigMap")
}

// show writes a phase into the status of a training job, as an operator with an old view does.
func (c *cluster) show(name string, phase v1beta1.JobPhase) {
	c.t.Helper()
	have := c.training(name)
	have.Status.Phase = phase
	require.NoError(c.t, c.Status().Update(c.ctx, have))
}

func TestAJobThatCannotBeCompiledFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	name := "a-name-that-makes-the-host-names-long-" + strings.Repeat("x", 8)
	job := c.train(name, "replicaSpecs: [{type: worker, replicas: 10000, template: POD}]")
	failed := c.awaitTraining(name, v1beta1.JobFailed)
	require.NotNil(t, failed.Status.CompletionTime)
	for _, have := range failed.Status.Conditions {
		require.Equal(t, v1beta1.ReasonInvalidSpec, have.Reason)
		require.Contains(t, have.Message, "Linux allows 131072")
		require.False(t, have.LastTransitionTime.IsZero())
	}
	c.awaitEvent(job, "Warning Failed", "Linux allows 131072")
	require.True(t, apierrors.IsNotFound(c.Get(c.ctx, client.ObjectKeyFromObject(job), &v1beta1.GenericJob{})))
}

// The cache of GenericJobs may lag behind the one of training jobs: what runs is not failed by an edit.
func TestAnEditThatCannotBeCompiledLeavesAGenericJobAloneThatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := c.train("lagging", chiefAndTwo)
	invalid := job.DeepCopy()
	invalid.Spec.ReplicaSpecs[0].Type = "captain"
	c.reconcileOver(job)
	calls, result := c.reconcileOver(invalid, &v1beta1.GenericJob{})
	require.Empty(t, calls)
	require.NotZero(t, result.RequeueAfter)
	require.NoError(t, c.Delete(c.ctx, c.job("lagging")))
	calls, _ = c.reconcileOver(c.training("lagging"), &v1beta1.GenericJob{})
	require.Len(t, calls, 1, "without one it is made")
}

// Its create was under way when another operator saw the job to its end: it would train again what has been trained.
func TestAGenericJobThatComesAfterTheEndIsDeleted(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := c.train("late", chiefAndTwo)
	c.reconcileOver(job)
	late := c.job("late")
	job = c.training("late")
	job.Status.Phase = v1beta1.JobSucceeded
	require.NoError(t, c.Status().Update(c.ctx, job))

	finished := late.DeepCopy()
	now := metav1.Now()
	finished.Status.Phase, finished.Status.CompletionTime = v1beta1.JobFailed, &now
	require.NoError(t, c.Status().Update(c.ctx, finished))
	calls, _ := c.reconcileOver(job)
	require.Empty(t, calls, "one that has finished stays")

	finished.Status.CompletionTime = nil
	require.NoError(t, c.Status().Update(c.ctx, finished))
	calls, _ = c.reconcileOver(job)
	require.Len(t, calls, 1)
	require.True(t, c.gone(late))
}

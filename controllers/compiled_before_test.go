package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// An operator of another version compiles otherwise. What runs goes on as it was compiled, can be scaled, and is compiled anew when it
// has been paused.
func TestAJobThatAnotherOperatorCompiledRunsOnAsItIs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	job, gj := c.elastic("before")
	stop()
	theirs := []string{"torchrun", "--as", "another operator compiles"}
	c.recompiled(gj.Name, theirs)
	c.operate(operation{})
	require.NoError(t, c.scale(job, 3))
	c.awaitTorch(job, "3/3")
	now := c.job(gj.Name)
	require.Equal(t, theirs, now.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command)
	require.EqualValues(t, 2, *now.Spec.ReplicaSpecs[1].Replicas)
	require.Contains(t, c.torchBlocked(job), "template is immutable unless the job is paused", "what waits for a pause is told")

	pause := func(on bool) {
		t.Helper()
		c.until("the edit", func() bool {
			require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
			job.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: on}}
			return c.Update(c.ctx, job) == nil
		})
	}
	pause(true)
	c.awaitPhase(gj.Name, v1beta1.JobPaused)
	c.await(gj.Name, func(j *v1beta1.GenericJob) bool {
		return j.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command[0] == "python3"
	})
	pause(false)
	c.awaitTorch(job, "3/3")
	c.until("nothing waits any more", func() bool {
		require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		return c.torchBlocked(job) == ""
	})
}

// torchBlocked is what a job as it was read says of what blocks it.
func (c *cluster) torchBlocked(job *v1beta1.PyTorchTrainingJob) string {
	for _, told := range job.Status.Conditions {
		if told.Type == v1beta1.ConditionBlocked {
			return told.Message
		}
	}
	return ""
}

// recompiled gives a GenericJob that runs another command, which the API allows in a pause alone. No operator may run.
func (c *cluster) recompiled(name string, command []string) {
	c.t.Helper()
	job := c.job(name)
	job.Status.Phase = v1beta1.JobPaused
	require.NoError(c.t, c.Status().Update(c.ctx, job))
	job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command = command
	require.NoError(c.t, c.Update(c.ctx, job))
	job.Status.Phase = v1beta1.JobRunning
	require.NoError(c.t, c.Status().Update(c.ctx, job))
}

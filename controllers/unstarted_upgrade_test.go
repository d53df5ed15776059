package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/framework"
)

// While an operator is replaced by one that compiles otherwise, code may start. No status says so yet, and the CRD lets templates be edited.
func TestCodeThatStartsWhileTheOperatorIsReplacedRunsOn(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.be(func(k *kubelet) { k.idle = true })
	stop := c.operate(operation{})
	job := c.train("upgraded", chiefAndTwo)
	c.until("the job says that no code has started", func() bool {
		s := c.training(job.Name).Status
		return s.UnstartedSpec != "" && s.ObservedGeneration == 1 && len(c.pods(c.job(job.Name))) == 3
	})
	stop()
	theirs := []string{"another", "operator", "compiles"}
	gj := c.job(job.Name)
	for i := range gj.Spec.ReplicaSpecs {
		gj.Spec.ReplicaSpecs[i].Template.Spec.Containers[0].Command = theirs
	}
	framework.AnnotateCompiled(gj, gj.Generation+1, false)
	require.NoError(t, c.Update(c.ctx, gj))
	gj.Status.ObservedGeneration, gj.Status.UnstartedSpec = gj.Generation, spec.PodsHash(gj)
	require.NoError(t, c.Status().Update(c.ctx, gj))

	c.be(func(k *kubelet) { k.idle = false })
	c.until("all run", func() bool {
		running := 0
		for _, pod := range c.pods(gj) {
			if pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == 3
	})
	before := c.pods(gj)
	c.reconcileOver(c.training(job.Name)) // before anybody has looked at the pods
	c.operate(operation{})
	c.until("the new operator has seen it run", func() bool {
		s := c.job(job.Name).Status
		return s.Phase == v1beta1.JobRunning && s.UnstartedSpec == ""
	})
	for name, pod := range c.pods(gj) {
		require.Equal(t, before[name].UID, pod.UID, "nobody has edited the job, and its code runs")
	}
	require.Zero(t, c.job(job.Name).Status.ModeGeneration)
	require.Equal(t, theirs, c.job(job.Name).Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command)
	require.Contains(t, c.awaitBlocked(job.Name, v1beta1.ReasonInvalidSpec).Message, "pause")
}

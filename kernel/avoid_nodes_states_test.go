package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// lostOn is a world in which a job's only pod is on a node that does not answer.
func lostOn(job *v1beta1.GenericJob, node string, since, now time.Duration) kernel.World {
	pod := kt.Pod(job, "worker", 0, kt.Running, onNode(node), kt.Deleted(kt.At(since), time.Second), kt.Marked)
	return kernel.World{
		Job: job, Pods: []*corev1.Pod{pod}, Nodes: map[string]podstate.Node{node: {SilentSince: kt.At(since)}}, Now: kt.At(now), NodeCount: 9, Settings: kt.Settings,
	}
}

// Most nodes are sick before they are lost. A node with a condition is avoided without an end.
func TestANodeWithAConditionIsLost(t *testing.T) {
	job := endless(v1beta1.AvoidNodes{})
	job = after(job, given(t, job, time.Minute, sick("a")))
	require.Equal(t, []string{"a"}, avoids(job))
	w := lostOn(job, "a", time.Hour, 2*time.Hour)
	w.NodeProblems = []kernel.NodeProblem{sick("a")}
	job = after(job, planWorld(t, w))
	require.Equal(t, []string{"a"}, avoids(job))
	require.Equal(t, 1, failuresOn(job, "a"), "the loss counts")
	require.Equal(t, v1beta1.AvoidCondition, job.Status.AvoidedNodes[0].Reason)
	for range 2 {
		w.Job, w.NodeProblems = job, nil
		job = after(job, planWorld(t, w))
	}
	require.Equal(t, v1beta1.AvoidLost, job.Status.AvoidedNodes[0].Reason, "the condition is gone, the node is not back")
}

// What the last look avoided may have ended when the job ends. The list has each node once: the apiserver takes no other.
func TestANodeIsLostAsTheJobEnds(t *testing.T) {
	job := failing(t, endless(v1beta1.AvoidNodes{Within: "1h"}), 9, "a", "a")
	require.Equal(t, []string{"a"}, avoids(job))
	job.Spec.BackoffLimit = new(int32(0))
	kt.Policy(v1beta1.RestartNever, 0)(&job.Spec.ReplicaSpecs[0])
	job = after(job, planWorld(t, lostOn(job, "a", 2*time.Hour, 3*time.Hour)))
	require.NotNil(t, job.Status.CompletionTime)
	require.Equal(t, []string{"a"}, avoids(job))
}

package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

func TestANodeThatRejectsPodsIsAvoided(t *testing.T) {
	for reason, want := range map[string][]string{"UnexpectedAdmissionError": {"a"}, "OutOfcpu": {}, "NodeAffinity": {}} {
		job := endless(v1beta1.AvoidNodes{})
		for i := range 2 {
			now := kt.At(time.Duration(i) * time.Hour)
			pod := kt.Pod(job, "worker", 0, kt.FailedWithout(reason), onNode("a"))
			job = after(job, planWorld(t, kernel.World{Job: job, Pods: []*corev1.Pod{pod}, Now: now, NodeCount: 9, Settings: kt.Settings}))
		}
		require.Equal(t, want, avoids(job), reason)
		if len(want) > 0 {
			require.Equal(t, v1beta1.AvoidRejected, job.Status.AvoidedNodes[0].Reason)
		}
	}
}

// With restartScope Job the restart of an auxiliary replica leaves the ends of others to the next reconcile, which sees them again.
func TestARejectionCountsOnceWhenAReconcileLeavesItToTheNext(t *testing.T) {
	auxiliary := func(s *v1beta1.ReplicaSpec) { s.Auxiliary = true }
	job := kt.Job(kt.Type("worker", 1), kt.Type("store", 2, auxiliary), kt.BackoffLimit(9), kt.Begun, kt.JobScope, avoiding(v1beta1.AvoidNodes{}))
	for _, store := range []kt.PodOption{kt.ExitedAt(17, kt.At(0)), kt.Running} {
		job = after(job, planWorld(t, kernel.World{Job: job, Now: kt.At(time.Minute), NodeCount: 9, Settings: kt.Settings, Pods: []*corev1.Pod{
			kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "store", 0, store, onNode("b")),
			kt.Pod(job, "store", 1, kt.FailedWithout("UnexpectedAdmissionError"), onNode("a")),
		}}))
	}
	require.Empty(t, avoids(job))
	require.Len(t, job.Status.NodeFailures, 1)
	require.Len(t, job.Status.NodeFailures[0].Times, 1)
}

package suite_test

import (
	"context"
	"os/exec"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// late is how long elasticWaits holds replica 0 back: by default longer than torchrun would wait by itself, which is 60 s.
var late time.Duration

// lateLabel is what replicas that come late wait for.
const lateLabel = "e2e.genericjob.test/late"

// elasticWaits has two jobs whose replica 0 finds no node for long. Of one, it wants to be beside a pod that is not there. Of the other it, and so the
// store, wants a node that is not there.
func elasticWaits(s *space) {
	beside := map[string]string{lateLabel: "true"}
	pod := s.submitLate("no-pod", func(p *corev1.PodSpec) {
		p.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: beside},
			}},
		}}
	})
	node := s.submitLate("no-node", func(p *corev1.PodSpec) { p.NodeSelector = beside })
	three := func(job pyTorchJob) bool { s.refresh(job); return job.Status.Aggregate.Running == 3 }
	s.until("three of each wait", func() bool { return three(pod) && three(node) })
	time.Sleep(late)
	require.True(s.t, three(pod) && three(node), "they still do")

	other := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "other", Labels: beside},
		Spec:       trainer("pytorch", "pytorch", []string{"sleep", "inf"}, nil).Spec,
	}
	require.NoError(s.t, s.Create(s.ctx, other))
	s.label("local", lateLabel, "true")
	for _, job := range []pyTorchJob{pod, node} {
		s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
		s.t.Logf("ELASTIC %s, replica 0 comes after %v: %d restarts, %d disruptions", job.Name, late, job.Status.BackoffCount, job.Status.DisruptionCount)
		require.Zero(s.t, job.Status.BackoffCount)
		require.Zero(s.t, job.Status.DisruptionCount)
		gj := s.owned(job)
		s.requireRuns(gj, "master", 1)
		s.requireRuns(gj, "node", 1, 1, 1)
	}
}

// submitLate submits an elastic job of four with an own type for replica 0.
func (s *space) submitLate(name string, wants func(*corev1.PodSpec)) pyTorchJob {
	s.t.Helper()
	job := elasticOfFour(4, "4")
	job.ReplicaSpecs = append([]v1beta1.PyTorchReplicaSpec{*job.ReplicaSpecs[0].DeepCopy()}, job.ReplicaSpecs...)
	job.ReplicaSpecs[0].Type, job.ReplicaSpecs[1].ScalingWeight = "master", ptr.To[int32](100)
	wants(&job.ReplicaSpecs[0].Template.Spec)
	for i := range job.ReplicaSpecs {
		job.ReplicaSpecs[i].Template.Spec.Containers[0].Env[0].Value += "/" + name // CHECKPOINT_DIR
		folders := &job.ReplicaSpecs[i].Template.Spec.InitContainers[0]
		folders.Command = append(folders.Command, "/data/checkpoint/"+name)
	}
	return s.submitPyTorch(name, job)
}

// label puts a label on a node for the rest of the test.
func (s *space) label(node, key, value string) {
	s.t.Helper()
	s.t.Cleanup(func() { _ = exec.CommandContext(context.Background(), kubectl, "label", "node", node, key+"-").Run() })
	have := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"labels": {"`+key+`": "`+value+`"}}}`))
	require.NoError(s.t, s.Patch(s.ctx, have, patch))
}

package v1beta1_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// tryUnstarted tries edits on a good job that is Pending and whose code has not started. What the refusal must say is "" where there is none.
func tryUnstarted[T client.Object](t *testing.T, good func(...func(T)) T, edits map[string]waiting[T]) {
	t.Helper()
	c := newClient(t)
	ns := newNamespace(t, c)
	for name, w := range edits {
		t.Run(name, func(t *testing.T) {
			j := inPhase(t, c, ns, good(), v1beta1.JobPending)
			unstarted := client.RawPatch(client.Merge.Type(), []byte(`{"status":{"unstartedSpec":"0123456789abcdef"}}`))
			require.NoError(t, c.Status().Patch(t.Context(), j, unstarted))
			w.edit(j)
			err := c.Update(t.Context(), j)
			if w.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			require.Contains(t, said(err), w.want)
		})
	}
}

func TestEditsBeforeCodeHasStarted(t *testing.T) {
	tryUnstarted(t, job, map[string]waiting[*v1beta1.GenericJob]{
		"another image":   {worker(func(s *v1beta1.ReplicaSpec) { s.Template.Spec.Containers[0].Image = "image:2" }), ""},
		"a limit":         {worker(func(s *v1beta1.ReplicaSpec) { s.RestartPolicy.Limit = ptr.To[int32](2) }), ""},
		"another port":    {spec(func(s *v1beta1.GenericJobSpec) { s.Service.Ports[0].Port = 80 }), ""},
		"a heartbeat":     {spec(func(s *v1beta1.GenericJobSpec) { s.Heartbeat = &v1beta1.Heartbeat{File: "/beat"} }), ""},
		"nodeLost":        {nodeLost(30), ""},
		"a type less":     {spec(func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs, s.FailureRules = s.ReplicaSpecs[:1], nil }), "types and their order are immutable"},
		"types reordered": {spec(func(s *v1beta1.GenericJobSpec) { slices.Reverse(s.ReplicaSpecs) }), "types and their order are immutable"},
		"auxiliary": {spec(func(s *v1beta1.GenericJobSpec) {
			s.ReplicaSpecs[0].Auxiliary, s.SuccessRules = true, nil
		}), "auxiliary is immutable"},
		"restartScope":  {spec(func(s *v1beta1.GenericJobSpec) { s.RestartScope = v1beta1.RestartScopeJob }), "restartScope is immutable"},
		"the scheduler": {spec(func(s *v1beta1.GenericJobSpec) { s.Scheduler = nil }), "scheduler is immutable"},
		"the names":     {spec(func(s *v1beta1.GenericJobSpec) { s.PodNames = v1beta1.PodNamesPlain }), "podNames is immutable"},
		"the rules":     {spec(func(s *v1beta1.GenericJobSpec) { s.SuccessRules = nil }), "successRules are immutable"},
	})
}

func TestEditsOfTrainingJobsBeforeCodeHasStarted(t *testing.T) {
	tryUnstarted(t, pytorchJob, map[string]waiting[*v1beta1.PyTorchTrainingJob]{
		"another image":   {pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.Template.Spec.Containers[0].Image = "image:2" }), ""},
		"more replicas":   {pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.Replicas = ptr.To[int32](4) }), "replicaSpecs is immutable"},
		"types reordered": {pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { slices.Reverse(s.ReplicaSpecs) }), "replicaSpecs is immutable"},
	})
	tryUnstarted(t, tensorflowJob, map[string]waiting[*v1beta1.TensorFlowTrainingJob]{
		"a request": {tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) {
			s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		}), ""},
		"more replicas": {tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) { s.Replicas = ptr.To[int32](4) }), "replicaSpecs is immutable"},
		"one more type": {tensorflowTypes("chief", "worker", "ps"), "replicaSpecs is immutable"},
	})
}

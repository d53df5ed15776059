package translate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/translate"
)

// Names in texts of Kubeflow's jobs are the environment's, wherever that comes from. A pod's label has the attempt, for paths of checkpoints.
func TestNamesInKubeflowsJobsAreTheEnvironments(t *testing.T) {
	const containers = `template: {spec: {initContainers: [{name: first, image: i, args: ["$(jobAttempt)"]}], containers: [
{name: NAME, image: i, command: [run, "/checkpoints/$(AT)"], args: ["$(rank) $(attempt) $$(jobAttempt) $(jobAttempt) $(jobAttempts)"], envFrom: [{configMapRef: {name: has-jobAttempt}}],
 env: [{name: AT, valueFrom: {fieldRef: {fieldPath: "metadata.labels['batch.tensorstack.dev/attempt']"}}}, {name: SAME, value: "$(jobAttempt)"}]}]}}}`
	kinds := map[string]string{
		"kubeflow.org/v1, kind: TFJob, spec: {tfReplicaSpecs: {Worker: {":           "tensorflow",
		"kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Master: {": "pytorch",
		"kubeflow.org/v1, kind: XGBoostJob, spec: {xgbReplicaSpecs: {Master: {":     "xgboost",
		"kubeflow.org/v1, kind: PaddleJob, spec: {paddleReplicaSpecs: {Worker: {":   "paddle",
		"kubeflow.org/v1, kind: JAXJob, spec: {jaxReplicaSpecs: {Worker: {":         "jax",
		"kubeflow.org/v2beta1, kind: MPIJob, spec: {mpiReplicaSpecs: {Launcher: {":  "mpi",
	}
	require.Len(t, kinds, len(slices.DeleteFunc(slices.Clone(jobs.Kinds()), func(k *jobs.Kind) bool { return !k.IsKubeflow() })))
	for manifest, container := range kinds {
		text := "{metadata: {name: x}, apiVersion: " + manifest + strings.Replace(containers, "NAME", container, 1) + "}}}"
		made, _, err := translate.Read(strings.NewReader(text), false)
		require.NoError(t, err, manifest)
		require.Len(t, made, 1)
		require.NoError(t, made[0].Err, manifest)
		pod, ok := made[0].Objects[len(made[0].Objects)-1].(*corev1.Pod)
		require.True(t, ok, manifest)
		first := pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1]
		require.Equal(t, []string{"$(jobAttempt)"}, first.Args, manifest)
		trains := pod.Spec.Containers[0]
		require.Equal(t, []string{"run", "/checkpoints/$(AT)"}, trains.Command, manifest)
		require.Equal(t, []string{"$(rank) $(attempt) $$(jobAttempt) $(jobAttempt) $(jobAttempts)"}, trains.Args, manifest)
		require.Contains(t, trains.Env, corev1.EnvVar{Name: "SAME", Value: "$(jobAttempt)"}, manifest)
		require.Equal(t, "0", pod.Labels[v1beta1.LabelAttempt], manifest)
	}
}

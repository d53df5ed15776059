package translate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/translate"
)

// Checkpoints of Kubeflow's jobs have paths with the job attempt, too. Other names are the environment's, as Kubeflow has it.
func TestJobsOfKubeflowHaveTheJobAttempt(t *testing.T) {
	const containers = `template: {spec: {initContainers: [{name: first, image: i, args: ["$(jobAttempt)"]}], containers: [
{name: NAME, image: i, command: [run, "/checkpoints/$(jobAttempt)"], args: ["$(rank) $(attempt) $$(jobAttempt)"], env: [{name: AT, value: "$(jobAttempt)"}]},
{name: own, image: i, args: ["$(jobAttempt)"], env: [{name: jobAttempt, value: mine}]}]}}}`
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
		require.Equal(t, []string{"0"}, first.Args, manifest)
		trains, own := pod.Spec.Containers[0], pod.Spec.Containers[1]
		require.Equal(t, []string{"run", "/checkpoints/0"}, trains.Command, manifest)
		require.Equal(t, []string{"$(rank) $(attempt) $$(jobAttempt)"}, trains.Args, manifest)
		require.Contains(t, trains.Env, corev1.EnvVar{Name: "AT", Value: "0"}, manifest)
		require.Equal(t, []string{"$(jobAttempt)"}, own.Args, "the container's own variable: %s", manifest)
	}
}

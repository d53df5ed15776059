package integrations

import (
	"bytes"
	"strings"
	"testing"
	"time"

	experiments "github.com/kubeflow/katib/pkg/apis/controller/experiments/v1beta1"
	trials "github.com/kubeflow/katib/pkg/apis/controller/trials/v1beta1"
	"github.com/kubeflow/katib/pkg/controller.v1beta1/trial/util"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/e2e/states"
)

// experimentOf is a file of deploy/integrations, as Katib completes it.
func experimentOf(t *testing.T, file string) *experiments.Experiment {
	t.Helper()
	e := &experiments.Experiment{}
	require.NoError(t, yaml.UnmarshalStrict(recipe(t, file), e))
	e.SetDefault()
	return e
}

// byDefault is what Katib makes of a template of a kind that it knows.
func byDefault(kind string) *experiments.TrialTemplate {
	e := &experiments.Experiment{}
	e.Spec.TrialTemplate = &experiments.TrialTemplate{TrialSource: experiments.TrialSource{
		TrialSpec: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubeflow.org/v1", "kind": kind}},
	}}
	e.SetDefault()
	return e.Spec.TrialTemplate
}

// byKatib is what Katib takes a job for, by conditions of a template, and what it says of it.
func byKatib(t *testing.T, template *experiments.TrialTemplate, job *unstructured.Unstructured) (is, message string) {
	t.Helper()
	require.NotEmpty(t, template.SuccessCondition)
	require.NotEmpty(t, template.FailureCondition)
	trial := &trials.Trial{Spec: trials.TrialSpec{SuccessCondition: template.SuccessCondition, FailureCondition: template.FailureCondition}}
	s, err := util.GetDeployedJobStatus(trial, job)
	require.NoError(t, err)
	require.NotNil(t, s)
	return string(s.Condition), s.Message
}

// Katib says of a trial that fails why.
func TestKatibTellsTheCause(t *testing.T) {
	own := experimentOf(t, "katib.yaml").Spec.TrialTemplate
	for _, k := range []states.Kind{states.Generic, states.PyTorch, states.TensorFlow} {
		is, message := byKatib(t, own, k.In(t, stateOf(t, "has failed")))
		require.Equal(t, "Failed", is)
		require.Contains(t, message, "worker-1] exited with error code 1", k.Kind)
	}
	_, message := byKatib(t, byDefault("PyTorchJob"), states.KubeflowPyTorch.In(t, stateOf(t, "has failed")))
	require.Contains(t, message, "worker-1] exited with error code 1")
}

// Katib makes trials by its own account.
func TestKatibMayMakeTrials(t *testing.T) {
	account := rest.CopyConfig(cluster.Config)
	account.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kubeflow:katib-controller"}
	katib, err := client.New(account, client.Options{})
	require.NoError(t, err)
	admin, err := client.New(cluster.Config, client.Options{})
	require.NoError(t, err)
	trial := experimentOf(t, "katib.yaml").Spec.TrialTemplate.TrialSpec
	trial.SetNamespace("default")
	trial.SetName("trial")
	require.True(t, apierrors.IsForbidden(katib.Create(t.Context(), trial.DeepCopy())), "it has no rights on ours by itself")
	for _, document := range bytes.Split(recipe(t, "katib_role.yaml"), []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.UnmarshalStrict(document, &o.Object))
		require.NoError(t, admin.Create(t.Context(), o))
	}
	require.Eventually(t, func() bool {
		err := katib.Create(t.Context(), trial.DeepCopy())
		require.True(t, err == nil || apierrors.IsForbidden(err), "%v", err)
		return err == nil
	}, 10*time.Minute, 100*time.Millisecond)
	require.NoError(t, katib.Delete(t.Context(), trial))
}

// Katib reads metrics of the pods with these labels alone.
func TestKatibFindsThePrimaryPod(t *testing.T) {
	selects := func(labels map[string]string, pods states.Kind) (found []string) {
		for name, pod := range pods.Pods(t) {
			all := true
			for key, value := range labels {
				all = all && pod.Labels[key] == value
			}
			if all {
				// Pods of the operator's own kinds have a part of their job's UID in their names.
				found = append(found, strings.Replace(name, "job-433ea-", "job-", 1))
			}
		}
		return found
	}
	own := experimentOf(t, "katib.yaml").Spec.TrialTemplate
	require.Equal(t, own.TrialSpec.GroupVersionKind(), states.PyTorch.GroupVersionKind)
	for k, want := range map[*states.Kind]struct {
		labels map[string]string
		pods   []string
	}{
		&states.PyTorch:            {own.PrimaryPodLabels, []string{"job-master-0"}},
		&states.Generic:            {own.PrimaryPodLabels, []string{"job-master-0"}},
		&states.KubeflowPyTorch:    {byDefault("PyTorchJob").PrimaryPodLabels, []string{"job-master-0"}},
		&states.KubeflowTensorFlow: {byDefault("TFJob").PrimaryPodLabels, []string{"job-chief-0"}},
	} {
		require.NotEmpty(t, want.labels)
		require.ElementsMatch(t, want.pods, selects(want.labels, *k), k.Kind)
	}
	workers := map[string]string{"training.kubeflow.org/replica-type": "worker"} // as Katib's example of a TFJob has it
	require.ElementsMatch(t, []string{"job-worker-0", "job-worker-1"}, selects(workers, states.KubeflowTensorFlow))
}

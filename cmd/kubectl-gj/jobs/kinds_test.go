package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

func TestTheKindsAreThoseOfTheTranslators(t *testing.T) {
	var names []string
	for _, k := range jobs.Kinds() {
		names = append(names, k.Kind+"."+k.Group+"/"+k.Version+" "+k.Short())
		require.Equal(t, k.GroupVersionKind, jobs.ByKind(k.GroupVersionKind).GroupVersionKind)
		if k.Framework != nil {
			require.IsType(t, k.Framework.New(), k.New())
		}
	}
	require.Equal(t, []string{
		"TensorFlowTrainingJob.batch.tensorstack.dev/v1beta1 tj",
		"PyTorchTrainingJob.batch.tensorstack.dev/v1beta1 pj",
		"TFJob.kubeflow.org/v1 tfjob",
		"PyTorchJob.kubeflow.org/v1 pytorchjob",
		"XGBoostJob.kubeflow.org/v1 xgboostjob",
		"PaddleJob.kubeflow.org/v1 paddlejob",
		"JAXJob.kubeflow.org/v1 jaxjob.kubeflow.org",
		"MPIJob.kubeflow.org/v2beta1 mpijob",
		"GenericJob.batch.tensorstack.dev/v1beta1 gj",
	}, names)
}

func TestNamesOfJobs(t *testing.T) {
	for text, want := range map[string]string{
		"pj/mnist": "PyTorchTrainingJob", "TFJobs/mnist": "TFJob", "mpijob.kubeflow.org/mnist": "MPIJob", "gj/mnist": v1beta1.KindGenericJob,
	} {
		name, err := jobs.ParseName(text)
		require.NoError(t, err)
		require.Equal(t, want, name.Kind.Kind)
		require.Equal(t, "mnist", name.Name)
	}
	for _, wrong := range []string{"", "pj/", "/mnist", "pj/a/b"} {
		_, err := jobs.ParseName(wrong)
		require.Error(t, err, wrong)
	}
}

// Kubeflow's conditions begin with the kind; a GenericJob's, which the plugin explains, do not.
func TestReasonsOfKubeflowsConditionsLoseTheKind(t *testing.T) {
	job := &kubeflow.XGBoostJob{}
	job.Status.Conditions = []kubeflow.JobCondition{{Type: kubeflow.JobFailed, Status: corev1.ConditionTrue, Reason: "XGBoostJobFailed"}}
	family := jobs.Family{Kind: jobs.ByKind(kubeflow.GroupVersion.WithKind("XGBoostJob")), Job: job}
	require.Equal(t, []v1beta1.JobCondition{{Type: v1beta1.ConditionFailed, Status: metav1.ConditionTrue, Reason: "Failed"}}, family.Conditions())
}

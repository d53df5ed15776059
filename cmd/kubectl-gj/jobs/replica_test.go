package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// The name of a type may end with that of another.
func TestTheReplicaOfAPod(t *testing.T) {
	job := kerneltest.Job(kerneltest.Type("worker", 2), kerneltest.Type("gpu-worker", 2))
	for _, names := range []v1beta1.PodNames{"", v1beta1.PodNamesPlain} {
		job.Spec.PodNames = names
		for _, replicaType := range []string{"worker", "gpu-worker"} {
			is, rank, ok := jobs.ReplicaOf(job, spec.PodName(job, replicaType, 11))
			require.True(t, ok)
			require.Equal(t, replicaType, is)
			require.Equal(t, 11, rank, "it was scaled away")
		}
	}
	for _, pod := range []string{"", "worker", "other-worker-0", spec.PodName(job, "ps", 0), spec.PodName(job, "worker", 0) + "x"} {
		_, _, ok := jobs.ReplicaOf(job, pod)
		require.False(t, ok, pod)
	}
	_, _, ok := jobs.ReplicaOf(nil, "job-worker-0")
	require.False(t, ok)
}

func TestTheAddressOfAJob(t *testing.T) {
	job := kerneltest.Job(kerneltest.Type("worker", 1))
	require.Equal(t, "gj/job", jobs.AddressOf(job))
	job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Workflow", Name: "all", Controller: new(true)}}
	require.Equal(t, "gj/job", jobs.AddressOf(job), "it is a step of a workflow")
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationCompiledGeneration, "1")
	for version, want := range map[string]string{"batch.tensorstack.dev/v1beta1": "pj/mnist", "example.com/v1": "pytorchtrainingjob/mnist"} {
		job.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: "PyTorchTrainingJob", Name: "mnist", Controller: new(true)}}
		require.Equal(t, want, jobs.AddressOf(job))
	}
}

package kubeflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
	"github.com/genericjob/genericjob/translators/translatortest"
)

func TestGolden(t *testing.T) {
	for name, r := range map[string]framework.Registration{
		"tfjob": framework.Register(kubeflow.TFJobs), "pytorchjob": framework.Register(kubeflow.PyTorchJobs),
		"xgboostjob": framework.Register(kubeflow.XGBoostJobs), "paddlejob": framework.Register(kubeflow.PaddleJobs),
		"jaxjob": framework.Register(kubeflow.JAXJobs), "mpijob": framework.Register(kubeflow.MPIJobs),
	} {
		t.Run(name, func(t *testing.T) { translatortest.GoldenIn(t, "testdata/"+name, r) })
	}
}

// B7: an empty list, and a negative number, made the operator panic in each reconcile, for everybody.
func TestB7NonsenseIsNoPanic(t *testing.T) {
	job := &kubeflowv1.PyTorchJob{}
	job.Spec.ElasticPolicy = &kubeflowv1.ElasticPolicy{RDZVConf: []kubeflowv1.RDZVConf{}}
	job.Spec.PyTorchReplicaSpecs = map[string]*kubeflowv1.ReplicaSpec{"Worker": replicas("pytorch", 2)}
	program, err := kubeflow.CompilePyTorchJob(job)
	require.NoError(t, err)
	for _, v := range program.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Env {
		if v.Name == "PET_RDZV_CONF" {
			require.Equal(t, strings.Join(framework.RendezvousConf(true), ","), v.Value)
		}
	}
	tf := &kubeflowv1.TFJob{}
	tf.Spec.TFReplicaSpecs = map[string]*kubeflowv1.ReplicaSpec{"Worker": replicas("tensorflow", -3)}
	_, err = kubeflow.CompileTFJob(tf)
	require.EqualError(t, err, "spec.tfReplicaSpecs[Worker].replicas is -3: want a number from 0 to 10000")
}

func TestB17KeysInAnyCase(t *testing.T) {
	compile := func(worker, master string) framework.Program {
		job := &kubeflowv1.PyTorchJob{}
		job.Spec.PyTorchReplicaSpecs = map[string]*kubeflowv1.ReplicaSpec{
			worker: replicas("pytorch", 2), master: replicas("pytorch", 1),
		}
		program, err := kubeflow.CompilePyTorchJob(job)
		require.NoError(t, err)
		return program
	}
	require.Equal(t, compile("Worker", "Master"), compile("worker", "MASTER"))
}

func TestB18ANullReplicaSpecIsNoPanic(t *testing.T) {
	job := &kubeflowv1.TFJob{}
	job.Spec.TFReplicaSpecs = map[string]*kubeflowv1.ReplicaSpec{"Worker": nil}
	_, err := kubeflow.CompileTFJob(job)
	require.EqualError(t, err, "spec.tfReplicaSpecs[Worker] is null: give it a template, or remove it")
	kubeflow.TFJobs.Mirror(job, v1beta1.GenericJobStatus{})
	require.Empty(t, job.Status.ReplicaStatuses)
}

func replicas(container string, n int32) *kubeflowv1.ReplicaSpec {
	spec := &kubeflowv1.ReplicaSpec{Replicas: &n}
	spec.Template.Spec.Containers = []corev1.Container{{Name: container}}
	return spec
}

// Scaling an elastic job must leave the templates as they are: what stays is not restarted.
func TestScalingLeavesTheTemplatesAlone(t *testing.T) {
	compile := func(n int32) framework.Program {
		job := &kubeflowv1.PyTorchJob{}
		job.Spec.NprocPerNode = ptr.To("2")
		job.Spec.ElasticPolicy = &kubeflowv1.ElasticPolicy{MinReplicas: ptr.To[int32](1), MaxReplicas: ptr.To[int32](9)}
		job.Spec.PyTorchReplicaSpecs = map[string]*kubeflowv1.ReplicaSpec{"Master": replicas("pytorch", 1), "Worker": replicas("pytorch", n)}
		program, err := kubeflow.CompilePyTorchJob(job)
		require.NoError(t, err)
		return program
	}
	before, after := compile(2), compile(5)
	require.EqualValues(t, 5, *after.Spec.ReplicaSpecs[1].Replicas)
	after.Spec.ReplicaSpecs[1].Replicas = before.Spec.ReplicaSpecs[1].Replicas
	require.Equal(t, before, after)

	dynamic := func(n int32) framework.Program {
		job := &kubeflowv1.TFJob{}
		job.Spec.EnableDynamicWorker = true
		job.Spec.TFReplicaSpecs = map[string]*kubeflowv1.ReplicaSpec{"PS": replicas("tensorflow", 2), "Worker": replicas("tensorflow", n)}
		program, err := kubeflow.CompileTFJob(job)
		require.NoError(t, err)
		return program
	}
	require.Equal(t, dynamic(2).Spec.ReplicaSpecs[0].Template, dynamic(7).Spec.ReplicaSpecs[0].Template)
}

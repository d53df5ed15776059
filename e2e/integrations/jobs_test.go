package integrations

import (
	"fmt"
	"os"
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/translators/framework"
	translators "github.com/genericjob/genericjob/translators/kubeflow"
)

var cluster *envtest.Environment

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if cluster, err = testenv.Serve("../../deploy/crd", "../../deploy/kubeflow/crd"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = cluster.Stop() }()
	return m.Run()
}

// clientOf is a client that knows the types of one side alone: Kubeflow's, or the operator's for the same kinds.
func clientOf(t *testing.T, add func(*runtime.Scheme) error) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, add(scheme))
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return c
}

// byTask is the metadata that Flyte gives to what it makes for a task.
func byTask(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, Finalizers: []string{"flyte.org/finalizer-k8s"}, Labels: map[string]string{"execution-id": name, "node-id": "n0"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "flyte.lyft.com/v1alpha1", Kind: "flyteworkflow", Name: name, UID: "1", Controller: new(true), BlockOwnerDeletion: new(true)}},
	}
}

// replicas are of one type, as Flyte makes them from the pod of a task. Its main container has the name that Kubeflow's operator wants.
func replicas(container string, number int32, policy kubeflow.RestartPolicy) *kubeflow.ReplicaSpec {
	return &kubeflow.ReplicaSpec{Replicas: new(number), RestartPolicy: policy, Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"node-id": "n0"}, Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: container, Image: "i", Args: []string{"pyflyte-execute", "--inputs", "s3://in"}, Env: []corev1.EnvVar{{Name: "FLYTE_ATTEMPT_NUMBER", Value: "0"}},
		}}},
	}}
}

// What Flyte makes of distributed tasks is made here by Kubeflow's Go types, as Flyte's plugins do it.
func TestJobsOfFlyteAreTakenAndCompiled(t *testing.T) {
	const never, onFailure = kubeflow.RestartPolicyNever, kubeflow.RestartPolicyOnFailure
	type types = map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec
	theirs := clientOf(t, kubeflow.AddToScheme)
	for name, tc := range map[string]struct {
		job   client.Object
		kind  framework.Registration
		types map[string]int32
	}{
		"plain": {&kubeflow.PyTorchJob{Spec: kubeflow.PyTorchJobSpec{PyTorchReplicaSpecs: types{
			kubeflow.PyTorchJobReplicaTypeMaster: replicas("pytorch", 1, never), kubeflow.PyTorchJobReplicaTypeWorker: replicas("pytorch", 2, never),
		}}}, framework.Register(translators.PyTorchJobs), map[string]int32{"master": 1, "worker": 2}},
		"run-policy": {&kubeflow.PyTorchJob{Spec: kubeflow.PyTorchJobSpec{
			RunPolicy: kubeflow.RunPolicy{CleanPodPolicy: new(kubeflow.CleanPodPolicyRunning), BackoffLimit: new(int32(3)), ActiveDeadlineSeconds: new(int64(60)), TTLSecondsAfterFinished: new(int32(60))},
			PyTorchReplicaSpecs: types{
				kubeflow.PyTorchJobReplicaTypeMaster: replicas("pytorch", 1, onFailure), kubeflow.PyTorchJobReplicaTypeWorker: replicas("pytorch", 2, onFailure),
			},
		}}, framework.Register(translators.PyTorchJobs), map[string]int32{"master": 1, "worker": 2}},
		"elastic": {&kubeflow.PyTorchJob{Spec: kubeflow.PyTorchJobSpec{
			ElasticPolicy:       &kubeflow.ElasticPolicy{MinReplicas: new(int32(1)), MaxReplicas: new(int32(2)), RDZVBackend: new(kubeflow.BackendC10D), NProcPerNode: new(int32(4)), MaxRestarts: new(int32(3))},
			PyTorchReplicaSpecs: types{kubeflow.PyTorchJobReplicaTypeWorker: replicas("pytorch", 2, never)},
		}}, framework.Register(translators.PyTorchJobs), map[string]int32{"worker": 2}},
		"tensorflow": {&kubeflow.TFJob{Spec: kubeflow.TFJobSpec{TFReplicaSpecs: types{
			kubeflow.TFJobReplicaTypeChief: replicas("tensorflow", 1, never), kubeflow.TFJobReplicaTypeWorker: replicas("tensorflow", 2, never),
			kubeflow.TFJobReplicaTypePS: replicas("tensorflow", 1, never), kubeflow.TFJobReplicaTypeEval: replicas("tensorflow", 1, never),
		}}}, framework.Register(translators.TFJobs), map[string]int32{"chief": 1, "worker": 2, "ps": 1, "evaluator": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			meta := byTask(name)
			tc.job.SetNamespace(meta.Namespace)
			tc.job.SetName(meta.Name)
			tc.job.SetLabels(meta.Labels)
			tc.job.SetFinalizers(meta.Finalizers)
			tc.job.SetOwnerReferences(meta.OwnerReferences)
			require.NoError(t, theirs.Create(t.Context(), tc.job))
			ours := tc.kind.New()
			require.NoError(t, clientOf(t, tc.kind.AddToScheme).Get(t.Context(), client.ObjectKeyFromObject(tc.job), ours))
			program, err := tc.kind.Compile(ours)
			require.NoError(t, err)
			found := map[string]int32{}
			for _, r := range program.Spec.ReplicaSpecs {
				found[r.Type] = *r.Replicas
			}
			require.Equal(t, tc.types, found)
		})
	}
}

// Flyte's plugin for MPI speaks the version that is not served.
func TestMPIJobsOfFlyteAreNotServed(t *testing.T) {
	job := &kubeflow.MPIJob{ObjectMeta: byTask("mpi")}
	err := clientOf(t, kubeflow.AddToScheme).Create(t.Context(), job)
	require.True(t, meta.IsNoMatchError(err), "%v", err)
}

package kubeflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// shows is the reason of the last condition that a job shows in a state of its replicas, and its counts.
func shows(t *testing.T, r framework.Registration, job client.Object, spec string, phases map[string]v1beta1.ReplicaPhase) (string, map[string]*kubeflowv1.ReplicaStatus) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalStrict([]byte("{metadata: {name: job}, spec: {"+spec+"}}"), job))
	status := v1beta1.GenericJobStatus{StartTime: ptr.To(metav1.Unix(1, 0)), Phase: v1beta1.JobRunning}
	for name, phase := range phases {
		status.Tasks = append(status.Tasks, v1beta1.TaskStatus{Type: name, Replicas: []v1beta1.ReplicaStatus{{Phase: phase}}})
	}
	require.NoError(t, r.Mirror(job, status))
	state := job.(kubeflowv1.Job).State()
	return state.Conditions[len(state.Conditions)-1].Reason, state.ReplicaStatuses
}

// Kubeflow calls a job running when the replica runs that decides it.
func TestWhoDecidesWhetherAJobRuns(t *testing.T) {
	const pod = "template: {spec: {containers: [{name: a}]}}"
	const both = "{Launcher: {" + pod + "}, Worker: {" + pod + "}}"
	mpi := framework.Register(kubeflow.MPIJobs)
	reason, counts := shows(t, mpi, &v2beta1.MPIJob{}, "mpiReplicaSpecs: "+both, map[string]v1beta1.ReplicaPhase{"worker": v1beta1.ReplicaRunning, "launcher": v1beta1.ReplicaPending})
	require.Equal(t, "MPIJobCreated", reason)
	require.EqualValues(t, 1, counts["Worker"].Active)
	require.Empty(t, counts["Launcher"].Active)
	reason, _ = shows(t, mpi, &v2beta1.MPIJob{}, "mpiReplicaSpecs: "+both, map[string]v1beta1.ReplicaPhase{"worker": v1beta1.ReplicaRunning, "launcher": v1beta1.ReplicaRunning})
	require.Equal(t, "MPIJobRunning", reason)

	reason, counts = shows(t, mpi, &v2beta1.MPIJob{}, "mpiReplicaSpecs: "+both, map[string]v1beta1.ReplicaPhase{"worker": v1beta1.ReplicaPending, "launcher": v1beta1.ReplicaRunning})
	require.Equal(t, "MPIJobCreated", reason, "mpirun may wait for the worker")
	require.EqualValues(t, 1, counts["Launcher"].Active)
	reason, _ = shows(t, mpi, &v2beta1.MPIJob{}, "mpiReplicaSpecs: {Launcher: {"+pod+"}}", map[string]v1beta1.ReplicaPhase{"launcher": v1beta1.ReplicaRunning})
	require.Equal(t, "MPIJobRunning", reason)

	const pair = "xgbReplicaSpecs: {Master: {" + pod + "}, Worker: {" + pod + "}}"
	xgboost := framework.Register(kubeflow.XGBoostJobs)
	reason, _ = shows(t, xgboost, &kubeflowv1.XGBoostJob{}, pair, map[string]v1beta1.ReplicaPhase{"master": v1beta1.ReplicaPending, "worker": v1beta1.ReplicaRunning})
	require.Equal(t, "XGBoostJobCreated", reason)
	reason, _ = shows(t, xgboost, &kubeflowv1.XGBoostJob{}, pair, map[string]v1beta1.ReplicaPhase{"master": v1beta1.ReplicaRunning})
	require.Equal(t, "XGBoostJobRunning", reason)

	reason, counts = shows(t, framework.Register(kubeflow.JAXJobs), &kubeflowv1.JAXJob{}, "jaxReplicaSpecs: {Worker: {"+pod+"}}", map[string]v1beta1.ReplicaPhase{"worker": v1beta1.ReplicaRunning})
	require.Equal(t, "JAXJobRunning", reason)
	require.Equal(t, "training.kubeflow.org/job-name=job,training.kubeflow.org/operator-name=jaxjob-controller,training.kubeflow.org/replica-type=worker", counts["Worker"].Selector)
}

// What Python keeps back is lost with a pod that is killed. Who wants that says so, and has it.
func TestPythonPrintsAtOnce(t *testing.T) {
	for field, r := range map[string]framework.Registration{
		"pytorchReplicaSpecs: {Master: {replicas: 1, %s}}#pytorch": framework.Register(kubeflow.PyTorchJobs),
		"xgbReplicaSpecs: {Master: {replicas: 1, %s}}#xgboost":     framework.Register(kubeflow.XGBoostJobs),
		"paddleReplicaSpecs: {Worker: {replicas: 1, %s}}#paddle":   framework.Register(kubeflow.PaddleJobs),
		"jaxReplicaSpecs: {Worker: {replicas: 1, %s}}#jax":         framework.Register(kubeflow.JAXJobs),
	} {
		for own, want := range map[string]string{
			"": "1", "{name: PYTHONUNBUFFERED, value: '0'}": "0", "{name: PYTHONUNBUFFERED, value: ''}": "",
			"{name: A, value: '0'}, {name: PYTHONUNBUFFERED, value: $(A)}, {name: B, value: $(PYTHONUNBUFFERED)}": "$(A)",
		} {
			spec, container, _ := strings.Cut(field, "#")
			job := r.New()
			require.NoError(t, yaml.UnmarshalStrict([]byte("{metadata: {name: job}, spec: {"+
				fmt.Sprintf(spec, "template: {spec: {containers: [{name: "+container+", env: ["+own+"]}]}}")+"}}"), job))
			program, err := r.Compile(job)
			require.NoError(t, err)
			require.Empty(t, program.Warnings)
			var values, names []string
			for _, e := range program.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Env {
				names = append(names, e.Name)
				if e.Name == "PYTHONUNBUFFERED" {
					values = append(values, e.Value)
				}
			}
			require.Equal(t, []string{want}, values, spec)
			if b := slices.Index(names, "B"); b >= 0 { // what refers to it comes after it, and it after what it refers to
				at := slices.Index(names, "PYTHONUNBUFFERED")
				require.Less(t, slices.Index(names, "A"), at)
				require.Less(t, at, b)
			}
		}
	}
}

// Kubeflow's operators take jobs in which a type has no replica.
func TestATypeWithoutReplicasIsLeftOut(t *testing.T) {
	job := &kubeflowv1.XGBoostJob{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(`{metadata: {name: job}, spec: {xgbReplicaSpecs: {
Master: {replicas: 1, template: {spec: {containers: [{name: xgboost}]}}}, Worker: {replicas: 0, template: {spec: {containers: [{name: xgboost}]}}}}}}`), job))
	program, err := kubeflow.CompileXGBoostJob(job)
	require.NoError(t, err)
	require.Len(t, program.Spec.ReplicaSpecs, 1)
	require.Equal(t, "master", program.Spec.ReplicaSpecs[0].Type)
	paddle := &kubeflowv1.PaddleJob{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(`{metadata: {name: job}, spec: {paddleReplicaSpecs: {
Master: {replicas: 0, template: {spec: {containers: [{name: paddle}]}}}, Worker: {replicas: 2, template: {spec: {containers: [{name: paddle}]}}}}}}`), paddle))
	program, err = kubeflow.CompilePaddleJob(paddle)
	require.NoError(t, err)
	require.Len(t, program.Spec.ReplicaSpecs, 1)
	require.Empty(t, program.Spec.SuccessRules, "every worker must succeed")
}

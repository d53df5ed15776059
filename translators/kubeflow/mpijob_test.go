package kubeflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// mpiJob is an MPIJob of two workers with more in its spec, in its launcher's container and in that of its workers.
func mpiJob(t *testing.T, spec, launcher, worker string) *v2beta1.MPIJob {
	t.Helper()
	job := &v2beta1.MPIJob{}
	require.NoError(t, yaml.UnmarshalStrict([]byte("{metadata: {name: pi, namespace: ns}, spec: {"+spec+`mpiReplicaSpecs: {
Launcher: {template: {spec: {containers: [{name: a, image: a, `+launcher+`}]}}},
Worker: {replicas: 2, template: {spec: {containers: [{name: a, image: a, `+worker+"}]}}}}}}"), job))
	return job
}

func compiled(t *testing.T, job *v2beta1.MPIJob) framework.Program {
	t.Helper()
	program, err := kubeflow.CompileMPIJob(job)
	require.NoError(t, err)
	return program
}

// variables are those of the first container of a type, each as <name>=<value>.
func variables(program framework.Program, i int) []string {
	var out []string
	for _, e := range program.Spec.ReplicaSpecs[i].Template.Spec.Containers[0].Env {
		out = append(out, e.Name+"="+e.Value)
	}
	return out
}

// The workers' sshd may listen at a port of the user's: Open MPI 5 was told otherwise, and reached none of them.
func TestTheUsersVariablesWinInMPIJobs(t *testing.T) {
	program := compiled(t, mpiJob(t, "", `env: [{name: PRTE_MCA_plm_ssh_args, value: -p 2222}, {name: OMPI_MCA_orte_keep_fqdn_hostnames, value: "false"},
  {name: NVIDIA_VISIBLE_DEVICES, value: all}, {name: K_MPI_JOB_ROLE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`,
		"env: [{name: K_MPI_JOB_ROLE, value: mine}]"))
	require.Equal(t, []string{
		"PRTE_MCA_plm_ssh_args=-p 2222", "OMPI_MCA_orte_keep_fqdn_hostnames=false", "NVIDIA_VISIBLE_DEVICES=all", "K_MPI_JOB_ROLE=",
		"OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile", "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10", "OMPI_MCA_orte_set_default_slots=1",
		"PRTE_MCA_prte_default_hostfile=/etc/mpi/hostfile", "NVIDIA_DRIVER_CAPABILITIES=",
	}, variables(program, 0))
	require.Equal(t, []string{"K_MPI_JOB_ROLE=mine"}, variables(program, 1))
	require.Empty(t, program.Warnings)
}

// Who says by Open MPI 4's variable how workers are reached has said it for Open MPI 5.
func TestOpenMPI5KeepsThePortOfOpenMPI4(t *testing.T) {
	for _, name := range []string{"OMPI_MCA_plm_rsh_args", "OMPI_MCA_plm_ssh_args", "PRTE_MCA_plm_rsh_args"} {
		env := variables(compiled(t, mpiJob(t, "", "env: [{name: "+name+", value: -p 2222}]", "")), 0)
		require.NotContains(t, strings.Join(env, " "), "PRTE_MCA_plm_ssh_args", name)
		require.Contains(t, env, name+"=-p 2222")
	}
	require.Contains(t, variables(compiled(t, mpiJob(t, "", "", "")), 0), "PRTE_MCA_plm_ssh_args=-o ConnectionAttempts=10")
}

// Intel MPI and MPICH are told of a port by variables of their own.
func TestVariablesOfOtherImplementationsAreTheUsersToo(t *testing.T) {
	for implementation, want := range map[v2beta1.MPIImplementation]string{
		v2beta1.Intel: "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", v2beta1.MPICH: "HYDRA_LAUNCH_EXTRA_ARGS",
	} {
		job := mpiJob(t, "", "env: [{name: "+want+", value: -p 2222}]", "")
		job.Spec.MPIImplementation = implementation
		found := 0
		for _, e := range compiled(t, job).Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Env {
			if e.Name == want {
				found++
				require.Equal(t, corev1.EnvVar{Name: want, Value: "-p 2222"}, e)
			}
		}
		require.Equal(t, 1, found, implementation)
	}
}

// The launcher waits for nobody in its pod: how workers are reached, by which port and which keys, only its own command knows. It starts at
// once, as the MPI operator's does, and is run again when its workers are there.
func TestTheLauncherStartsAsTheMPIOperators(t *testing.T) {
	for policy, want := range map[string]v1beta1.StartPolicy{
		"": v1beta1.StartRestartAfterOthers, "launcherCreationPolicy: AtStartup, ": v1beta1.StartRestartAfterOthers,
		"launcherCreationPolicy: WaitForWorkersReady, ": v1beta1.StartAfterOthers,
	} {
		program := compiled(t, mpiJob(t, policy, "", ""))
		require.Equal(t, want, program.Spec.ReplicaSpecs[0].StartPolicy, policy)
		require.Empty(t, program.Spec.ReplicaSpecs[1].StartPolicy)
		for _, r := range program.Spec.ReplicaSpecs {
			require.Empty(t, r.Template.Spec.InitContainers)
		}
		require.Equal(t, map[string]string{
			"hostfile": "pi-worker-0 slots=1\npi-worker-1 slots=1\n", "discover_hosts.sh": "#!/bin/sh\necho pi-worker-0\necho pi-worker-1\n",
		}, program.Data)
	}
}

// The MPI operator's launcher is a batch Job's: a pod that failed is followed by another, whatever its policy, as long as the limit allows.
func TestALauncherThatFailsIsRunAgainAsABatchJobsPod(t *testing.T) {
	for policy, want := range map[kubeflowv1.RestartPolicy]v1beta1.RestartPolicyType{
		"": v1beta1.RestartOnFailure, kubeflowv1.RestartOnFailure: v1beta1.RestartOnFailure, kubeflowv1.RestartNever: v1beta1.RestartOnFailure,
		kubeflowv1.RestartExitCode: v1beta1.RestartOnFailure, kubeflowv1.RestartAlways: v1beta1.RestartAlways,
	} {
		job := mpiJob(t, "runPolicy: {backoffLimit: 3}, ", "", "")
		job.Spec.MPIReplicaSpecs["Launcher"].RestartPolicy = policy
		job.Spec.MPIReplicaSpecs["Worker"].RestartPolicy = policy
		program := compiled(t, job)
		require.Equal(t, &v1beta1.RestartPolicy{Policy: want}, program.Spec.ReplicaSpecs[0].RestartPolicy, policy)
		if policy == "" || policy == kubeflowv1.RestartNever {
			require.Equal(t, v1beta1.RestartNever, program.Spec.ReplicaSpecs[1].RestartPolicy.Policy, "workers are pods of their own")
		}
		require.EqualValues(t, 3, *program.Spec.BackoffLimit)
	}
}

// The MPI operator says that a job runs when all of its workers do, and takes that back for none of them.
func TestAnMPIJobThatHasRunGoesOnRunningWithoutAWorker(t *testing.T) {
	job := mpiJob(t, "", "", "")
	show := func(second v1beta1.ReplicaPhase) string {
		kubeflow.MPIJobs.Mirror(job, status(9, task("launcher", v1beta1.ReplicaRunning), task("worker", v1beta1.ReplicaRunning, second)))
		return job.Status.Conditions[len(job.Status.Conditions)-1].Reason
	}
	require.Equal(t, "MPIJobCreated", show(v1beta1.ReplicaPending))
	require.Equal(t, "MPIJobRunning", show(v1beta1.ReplicaSucceeded))
	require.Equal(t, "MPIJobRunning", show(v1beta1.ReplicaPending))
}

// The reasons are those of the batch Job that the MPI operator makes of the launcher.
func TestTheReasonOfAnMPIJobsFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		failed string
		want   string
	}{
		"the launcher":  {v1beta1.ReasonFailed, "launcher", "BackoffLimitExceeded"},
		"a worker":      {v1beta1.ReasonFailed, "worker", "MPIJobFailed"},
		"no rule holds": {v1beta1.ReasonSuccessUnreachable, "launcher", "BackoffLimitExceeded"},
		"the deadline":  {v1beta1.ReasonDeadlineExceeded, "", "DeadlineExceeded"},
		"the spec":      {v1beta1.ReasonInvalidSpec, "", "InvalidSpec"},
	} {
		job := mpiJob(t, "", "", "")
		s := status(9, task("launcher", v1beta1.ReplicaFailed))
		s.Phase, s.CompletionTime = v1beta1.JobFailed, ptr.To(at(9))
		s.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionFailed, Status: metav1.ConditionTrue, Reason: tc.reason, Message: "because"}}
		if tc.failed != "" {
			s.Ledger = []v1beta1.TaskLedger{{Type: tc.failed, Failed: "0"}}
		}
		kubeflow.MPIJobs.Mirror(job, s)
		last := job.Status.Conditions[len(job.Status.Conditions)-1]
		require.Equal(t, kubeflowv1.JobFailed, last.Type)
		require.Equal(t, tc.want, last.Reason, name)
		require.Equal(t, "MPIJob pi has failed: because", last.Message)
	}
}

// Scripts find the launcher as the pod of a batch Job, and Kueue places ranks by their index, of which a launcher that works has the first.
func TestLabelsOfAnMPIJob(t *testing.T) {
	for spec, want := range map[string]string{"": "$(rank)", "runLauncherAsWorker: true, ": "$(index)"} {
		program := compiled(t, mpiJob(t, spec, "", ""))
		for i, role := range []string{"launcher", "worker"} {
			labels := map[string]string{
				"training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/job-name": "pi", "training.kubeflow.org/job-role": role,
				"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": want,
			}
			if role == "launcher" {
				labels["job-name"], labels["batch.kubernetes.io/job-name"] = "pi-launcher", "pi-launcher"
			}
			require.Equal(t, labels, program.Spec.ReplicaSpecs[i].Template.Labels)
		}
	}
}

// A deadline of 0 is over at once there. A GenericJob has no shorter one than a second.
func TestADeadlineOfZeroIsOverAtOnce(t *testing.T) {
	require.EqualValues(t, 1, *compiled(t, mpiJob(t, "runPolicy: {activeDeadlineSeconds: 0}, ", "", "")).Spec.ActiveDeadlineSeconds)
	require.EqualValues(t, 7, *compiled(t, mpiJob(t, "runPolicy: {activeDeadlineSeconds: 7}, ", "", "")).Spec.ActiveDeadlineSeconds)
	require.Nil(t, compiled(t, mpiJob(t, "", "", "")).Spec.ActiveDeadlineSeconds)
}

func TestNoSlots(t *testing.T) {
	require.Equal(t, "pi-worker-0 slots=0\npi-worker-1 slots=0\n", compiled(t, mpiJob(t, "slotsPerWorker: 0, ", "", "")).Data["hostfile"])
}

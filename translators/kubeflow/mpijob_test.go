package kubeflow_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// Who says by Open MPI 4's variable how workers are reached has said it for Open MPI 5, too. That does not read the variable: ssh tried
// port 22.
func TestOpenMPI5KeepsThePortOfOpenMPI4(t *testing.T) {
	for _, name := range []string{"OMPI_MCA_plm_rsh_args", "OMPI_MCA_plm_ssh_args", "PRTE_MCA_plm_rsh_args"} {
		env := variables(compiled(t, mpiJob(t, "", "env: [{name: "+name+", value: -p 2222}]", "")), 0)
		require.Contains(t, env, name+"=-p 2222")
		require.Greater(t, slices.Index(env, "PRTE_MCA_plm_ssh_args=$("+name+")"), slices.Index(env, name+"=-p 2222"), "the kubelet knows what stands before")
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
		require.Equal(t, &v1beta1.RestartPolicy{Policy: want, Limit: ptr.To[int32](3)}, program.Spec.ReplicaSpecs[0].RestartPolicy, policy)
	}
	require.EqualValues(t, 6, *compiled(t, mpiJob(t, "", "", "")).Spec.ReplicaSpecs[0].RestartPolicy.Limit)
}

// There a worker is a pod. Of one that failed nothing is run again but by its policy, and one that was taken away is made anew. Only the
// launcher ends the job, and no worker spends the job's limit. A worker that cannot start ends for good some day, for the launcher waits
// for it.
func TestHowWorkersEndIsTheLaunchersToJudge(t *testing.T) {
	for limit, least := range map[string]int32{"": 6, "runPolicy: {backoffLimit: 0}, ": 6, "runPolicy: {backoffLimit: 9}, ": 9} {
		for policy, want := range map[kubeflowv1.RestartPolicy]v1beta1.RestartPolicy{
			"": {Policy: v1beta1.RestartOnFailure, Limit: ptr.To[int32](0)}, kubeflowv1.RestartNever: {Policy: v1beta1.RestartOnFailure, Limit: ptr.To[int32](0)},
			kubeflowv1.RestartOnFailure: {Policy: v1beta1.RestartOnFailure, Limit: &least}, kubeflowv1.RestartAlways: {Policy: v1beta1.RestartAlways, Limit: &least},
		} {
			job := mpiJob(t, limit, "", "")
			job.Spec.MPIReplicaSpecs["Worker"].RestartPolicy = policy
			program := compiled(t, job)
			require.Equal(t, &want, program.Spec.ReplicaSpecs[1].RestartPolicy, policy)
			require.Equal(t, []v1beta1.FinishRule{{"launcher": {intstr.FromInt32(0)}}}, program.Spec.FailureRules)
			require.Nil(t, program.Spec.BackoffLimit)
		}
	}
}

// There All means all workers. What the launcher has said stays to be read.
func TestCleanUpLeavesTheLauncher(t *testing.T) {
	for policy, want := range map[string]v1beta1.CleanUpPolicy{"All": v1beta1.CleanUpUnfinished, "Running": v1beta1.CleanUpUnfinished, "None": v1beta1.CleanUpNone} {
		require.Equal(t, want, compiled(t, mpiJob(t, "runPolicy: {cleanPodPolicy: "+policy+"}, ", "", "")).Spec.CleanUpPolicy)
	}
}

// The MPI operator looks for no worker of a finished job whose pods it takes away.
// Only the kubelet sees that a Secret is missing, and tells the pod alone. Once a pod has started it is there.
// Templates of the MPI operator's users name its Secret and its ConfigMap, which ours have other names than.
func TestTemplatesThatNameTheMPIOperatorsSecretAndConfigMap(t *testing.T) {
	job := mpiJob(t, "", `env: [{name: A, valueFrom: {secretKeyRef: {name: pi-ssh, key: k}}}, {name: B, valueFrom: {configMapKeyRef: {name: pi-config, key: k}}},
  {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: D, valueFrom: {secretKeyRef: {name: other-ssh, key: k}}}], envFrom: [{configMapRef: {name: pi-config}}, {secretRef: {name: pi-ssh}}]`, "")
	require.NoError(t, yaml.Unmarshal([]byte(`{volumes: [{name: s, secret: {secretName: pi-ssh}}, {name: c, configMap: {name: pi-config}}, {name: o, configMap: {name: config}},
  {name: p, projected: {sources: [{secret: {name: pi-ssh}}, {configMap: {name: pi-config}}, {secret: {name: pi}}]}}],
  initContainers: [{name: i, envFrom: [{secretRef: {name: pi-ssh}}]}]}`), &job.Spec.MPIReplicaSpecs["Worker"].Template.Spec))
	program := compiled(t, job)
	config := framework.ConfigMapName("pi", program.Data)
	main := program.Spec.ReplicaSpecs[0].Template.Spec.Containers[0]
	require.Equal(t, "mpi-ssh", main.Env[0].ValueFrom.SecretKeyRef.Name)
	require.Equal(t, config, main.Env[1].ValueFrom.ConfigMapKeyRef.Name)
	require.Equal(t, "other-ssh", main.Env[3].ValueFrom.SecretKeyRef.Name)
	require.Equal(t, []string{config, "mpi-ssh"}, []string{main.EnvFrom[0].ConfigMapRef.Name, main.EnvFrom[1].SecretRef.Name})
	pod := program.Spec.ReplicaSpecs[1].Template.Spec
	require.Equal(t, []string{"mpi-ssh", config, "config"}, []string{pod.Volumes[0].Secret.SecretName, pod.Volumes[1].ConfigMap.Name, pod.Volumes[2].ConfigMap.Name})
	sources := pod.Volumes[3].Projected.Sources
	require.Equal(t, []string{"mpi-ssh", config, "pi"}, []string{sources[0].Secret.Name, sources[1].ConfigMap.Name, sources[2].Secret.Name})
	require.Equal(t, "mpi-ssh", pod.InitContainers[0].EnvFrom[0].SecretRef.Name)
}

// In the network of nodes mpirun finds its hosts by the cluster's name servers alone. Templates that were exported say ClusterFirst.
func TestHostsAreFoundFromTheNodesNetwork(t *testing.T) {
	job := mpiJob(t, "", "", "")
	job.Spec.MPIReplicaSpecs["Launcher"].Template.Spec.DNSPolicy = corev1.DNSClusterFirst
	worker := &job.Spec.MPIReplicaSpecs["Worker"].Template.Spec
	worker.DNSPolicy, worker.HostNetwork = corev1.DNSClusterFirst, true
	program := compiled(t, job)
	require.Equal(t, corev1.DNSClusterFirst, program.Spec.ReplicaSpecs[0].Template.Spec.DNSPolicy)
	require.Equal(t, corev1.DNSClusterFirstWithHostNet, program.Spec.ReplicaSpecs[1].Template.Spec.DNSPolicy)
}

// With keys of its own a job needs nothing of its namespace's. The name is nobody else's, for it has the UID.
func TestAnMPIJobWithKeysOfItsOwn(t *testing.T) {
	job := mpiJob(t, "", "env: [{name: A, valueFrom: {secretKeyRef: {name: pi-ssh, key: k}}}]", "")
	job.UID = "1-2"
	program, err := served("", job).Compile(job)
	require.NoError(t, err)
	require.Equal(t, "pi-ssh-1-2", program.SSHKeys)
	for _, r := range program.Spec.ReplicaSpecs {
		require.Equal(t, "pi-ssh-1-2", r.Template.Spec.Volumes[0].Secret.SecretName)
	}
	require.Equal(t, "pi-ssh-1-2", program.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Env[0].ValueFrom.SecretKeyRef.Name)
	pending := status(1, task("launcher", v1beta1.ReplicaPending), task("worker", v1beta1.ReplicaPending, v1beta1.ReplicaPending))
	require.NoError(t, served("", job).Mirror(job, pending))
	require.Equal(t, "MPIJob pi is created.", job.Status.Conditions[0].Message)

	job.Spec.RunPolicy.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue")
	program, err = served("", job).Compile(job)
	require.NoError(t, err)
	require.Empty(t, program.SSHKeys, "another controller's job")
	require.Empty(t, compiled(t, mpiJob(t, "", "", "")).SSHKeys, "those of the namespace are not the operator's to make")
}

// The MPI operator takes names of 54 characters, and its launcher's host name has no index.
func TestTheLongestNamesOfMPIJobs(t *testing.T) {
	for length, want := range map[int]string{52: "launcher", 53: "mpirun", 54: "mpirun"} {
		job := mpiJob(t, "runLauncherAsWorker: true, ", "", "")
		job.Name = strings.Repeat("x", length)
		program := compiled(t, job)
		require.Equal(t, want, program.Spec.ReplicaSpecs[0].Type)
		require.Equal(t, "worker", program.Spec.ReplicaSpecs[1].Type)
		rule := []v1beta1.FinishRule{{want: {intstr.FromInt32(0)}}}
		require.Equal(t, rule, program.Spec.SuccessRules)
		require.Equal(t, rule, program.Spec.FailureRules)
		host := v1beta1.HostName(job.Name, want, 0)
		require.LessOrEqual(t, len(host), 63)
		require.Contains(t, program.Data["hostfile"], host+" slots=1\n")
		labels := program.Spec.ReplicaSpecs[0].Template.Labels
		require.Equal(t, []string{"launcher", "launcher", job.Name + "-launcher"},
			[]string{labels["training.kubeflow.org/job-role"], labels["training.kubeflow.org/replica-type"], labels["job-name"]})

		kubeflow.MPIJobs.Mirror(job, status(1, task(want, v1beta1.ReplicaRunning), task("worker", v1beta1.ReplicaRunning, v1beta1.ReplicaRunning)))
		require.Equal(t, kubeflowv1.JobRunning, job.Status.Conditions[len(job.Status.Conditions)-1].Type)
		require.EqualValues(t, 1, job.Status.ReplicaStatuses["Launcher"].Active)
		large := status(2, finished(v1beta1.JobFailed, 2), task(want), task("worker"))
		large.Ledger = []v1beta1.TaskLedger{{Type: want, Failed: "0"}}
		kubeflow.MPIJobs.Mirror(job, large)
		require.EqualValues(t, 1, job.Status.ReplicaStatuses["Launcher"].Failed)
		require.Equal(t, want, large.Ledger[0].Type, "the GenericJob's own")
	}
}

// The MPI operator says that a job runs when all of its workers do, and takes that back for none of them. The reasons are those of the
// batch Job that the MPI operator makes of the launcher. Scripts find the launcher as the pod of a batch Job. Kueue places ranks by their
// index, and a launcher that works has the first.
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

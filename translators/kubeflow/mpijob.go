package kubeflow

import (
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Names and paths of what the containers of an MPIJob need.
const (
	// sshSecret is the Secret of the namespace with the key pair of its jobs, where the operator makes none.
	sshSecret = "mpi-ssh"
	rootsKeys = "/root/.ssh"
	mpiFolder = "/etc/mpi"

	hostFile   = "hostfile"
	hostScript = "discover_hosts.sh"

	defaultLauncherRestarts int32 = 6 // as many as a batch Job's

	// sshSecretMessage has the commands of deploy/kubeflow/README.md.
	sshSecretMessage = " Its pods start when namespace %[1]s has the Secret " + sshSecret + ", by which its jobs log in to their workers. If it is missing, make it: " +
		"ssh-keygen -q -t ed25519 -N '' -C mpi -f key && kubectl -n %[1]s create secret generic " + sshSecret +
		" --from-file=ssh-privatekey=key --from-file=ssh-publickey=key.pub && rm key key.pub"
)

// CompileMPIJob makes a GenericJob of an MPIJob. It succeeds with its launcher. Its pods mount the key pair of their namespace.
func CompileMPIJob(job *v2beta1.MPIJob) (framework.Program, error) {
	return compileMPIJob(job, sshSecret)
}

// compileWithKeys asks for a key pair of the job's own.
func compileWithKeys(job *v2beta1.MPIJob) (framework.Program, error) {
	name := job.Name + "-ssh-" + string(job.UID)
	program, err := compileMPIJob(job, name)
	if err == nil && !program.Foreign {
		program.SSHKeys = name
	}
	return program, err
}

// compileMPIJob makes a GenericJob of an MPIJob whose key pair is in a Secret of that name.
func compileMPIJob(job *v2beta1.MPIJob, keys string) (framework.Program, error) {
	policy := commonRunPolicy(job)
	program := newProgram(&policy, &kubeflow.InlineRunPolicy{})
	if program.Foreign {
		return program, nil
	}
	list, err := mpiKind.members(job.Spec.MPIReplicaSpecs)
	if err != nil {
		return program, err
	}
	switch m := find(list, launcher); {
	case m == nil:
		return program, fmt.Errorf("spec.mpiReplicaSpecs: Launcher is missing: it runs mpirun, and the job succeeds when it does")
	case m.replicas != 1:
		return program, fmt.Errorf("%s.replicas is %d: a job has exactly one launcher; use Worker for the others", m.field, m.replicas)
	}
	program.Spec.SuccessRules = []v1beta1.FinishRule{{launcherType(job.Name): {firstRank}}}
	program.Spec.FailureRules = []v1beta1.FinishRule{{launcherType(job.Name): {firstRank}}}
	program.Spec.BackoffLimit = nil // each type has a limit of its own
	mpiKind.addReplicas(&program, job.Name, list)
	program.Data = mpiData(job, list)
	for i, m := range list {
		spec := &program.Spec.ReplicaSpecs[i]
		addMPILabels(&spec.Template, job, m.name)
		theirNames{job.Name, keys, framework.ConfigMapName(job.Name, program.Data)}.replace(&spec.Template.Spec)
		mountKeys(&spec.Template.Spec, job, keys)
		if spec.Template.Spec.HostNetwork { // whatever the user says, as there: with another policy mpirun finds no host
			spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
		}
		main := &spec.Template.Spec.Containers[0]
		if m.name == launcher {
			setLauncher(spec, job, m)
			addMissingEnv(main, launcherEnv(job, main)...)
			mountHosts(&spec.Template.Spec, job.Name, program.Data)
			continue
		}
		setWorker(spec, job)
		addMissingEnv(main, corev1.EnvVar{Name: "K_MPI_JOB_ROLE", Value: worker})
		if len(main.Command) == 0 && len(main.Args) == 0 {
			main.Command = []string{"/usr/sbin/sshd", "-De"}
		}
	}
	return program, nil
}

// commonRunPolicy returns the run policy of an MPIJob as that of the other kinds. Clean-up deletes the workers and keeps the launcher with its log, even with
// All: a pod that has ended by itself stays.
func commonRunPolicy(job *v2beta1.MPIJob) kubeflow.RunPolicy {
	p := job.Spec.RunPolicy
	out := kubeflow.RunPolicy{InlineRunPolicy: p.InlineRunPolicy, Suspend: p.Suspend, SchedulingPolicy: p.SchedulingPolicy}
	if out.CleanPodPolicy == kubeflow.CleanPodsAll {
		out.CleanPodPolicy = kubeflow.CleanPodsRunning
	}
	if p.IsForeign() {
		out.ManagedBy = ptr.To(kubeflow.ManagedBy(*p.ManagedBy))
	}
	return out
}

// setLauncher sets how the launcher starts and restarts: as the pod of a batch Job, which is what the MPI operator makes. That Job creates a new pod
// until backoffLimit is reached, even if the policy is Never or ExitCode. A launcher fails if its workers are not there yet. So it is restarted only
// when they are; else it would use up its limit while an image is pulled.
func setLauncher(spec *v1beta1.ReplicaSpec, job *v2beta1.MPIJob, m member) {
	spec.Type = launcherType(job.Name)
	if m.spec.RestartPolicy != kubeflow.RestartAlways {
		spec.RestartPolicy = &v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure}
	}
	spec.RestartPolicy.Limit = ptr.To(launcherRestarts(job))
	spec.StartPolicy = v1beta1.StartRestartAfterOthers
	if job.Spec.LauncherCreationPolicy == v2beta1.WaitForWorkersReady {
		spec.StartPolicy = v1beta1.StartAfterOthers
	}
}

func launcherRestarts(job *v2beta1.MPIJob) int32 {
	return ptr.Deref(job.Spec.RunPolicy.BackoffLimit, defaultLauncherRestarts)
}

// setWorker sets how a worker restarts, as with the MPI operator. A worker that failed is restarted only if its policy says so. One that was deleted
// gets a new pod. Neither ends the job: an elastic program goes on without it, and the launcher of any other program fails. The MPI operator restarts
// a worker without a limit. Here there is a limit, because a launcher waits for its workers: one that cannot start must fail for good some day.
func setWorker(spec *v1beta1.ReplicaSpec, job *v2beta1.MPIJob) {
	spec.RestartPolicy.Limit = ptr.To(max(launcherRestarts(job), defaultLauncherRestarts))
	if spec.RestartPolicy.Policy == v1beta1.RestartNever {
		spec.RestartPolicy = &v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure, Limit: ptr.To[int32](0)}
	}
}

// addMPILabels adds the labels that only MPIJobs have. With runLauncherAsWorker the launcher has index 0, and the workers count from 1. The launcher's pod
// has the labels of a pod of the batch Job <job>-launcher.
func addMPILabels(t *corev1.PodTemplateSpec, job *v2beta1.MPIJob, name string) {
	if ptr.Deref(job.Spec.RunLauncherAsWorker, false) {
		t.Labels[kubeflow.LabelReplicaIndex] = "$(index)"
	}
	if name == launcher {
		t.Labels[batchv1.JobNameLabel] = job.Name + "-" + launcher
		t.Labels["job-name"] = t.Labels[batchv1.JobNameLabel]
	}
}

// mpiData returns the files that the launcher reads: a list of hosts for mpirun, and a script that prints them.
func mpiData(job *v2beta1.MPIJob, list []member) map[string]string {
	var remote []string
	if m := find(list, worker); m != nil {
		for rank := range m.replicas {
			remote = append(remote, v1beta1.HostName(job.Name, worker, int(rank)))
		}
	}
	all := remote
	if ptr.Deref(job.Spec.RunLauncherAsWorker, false) || len(remote) == 0 {
		all = append([]string{v1beta1.HostName(job.Name, launcherType(job.Name), 0)}, remote...)
	}
	line := " slots="
	if job.Spec.MPIImplementation == v2beta1.Intel || job.Spec.MPIImplementation == v2beta1.MPICH {
		line = ":"
	}
	hosts, script := "", "#!/bin/sh\n"
	for _, host := range all {
		hosts += host + line + slots(job) + "\n"
		script += "echo " + host + "\n"
	}
	return map[string]string{hostFile: hosts, hostScript: script}
}

func slots(job *v2beta1.MPIJob) string {
	return strconv.Itoa(int(ptr.Deref(job.Spec.SlotsPerWorker, 1)))
}

// launcherEnv returns what tells mpirun of its hosts. What begins with PRTE is for Open MPI 5, which does not read the others.
func launcherEnv(job *v2beta1.MPIJob, main *corev1.Container) []corev1.EnvVar {
	const file, tries = mpiFolder + "/" + hostFile, "-o ConnectionAttempts=10"
	out := []corev1.EnvVar{{Name: "K_MPI_JOB_ROLE", Value: launcher}}
	switch job.Spec.MPIImplementation {
	case v2beta1.Intel:
		out = append(out, corev1.EnvVar{Name: "I_MPI_HYDRA_HOST_FILE", Value: file}, corev1.EnvVar{Name: "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", Value: tries},
			corev1.EnvVar{Name: "I_MPI_PERHOST", Value: slots(job)})
	case v2beta1.MPICH:
		out = append(out, corev1.EnvVar{Name: "HYDRA_HOST_FILE", Value: file}, corev1.EnvVar{Name: "HYDRA_LAUNCH_EXTRA_ARGS", Value: tries})
	default:
		out = append(out,
			corev1.EnvVar{Name: "OMPI_MCA_orte_keep_fqdn_hostnames", Value: "true"},
			corev1.EnvVar{Name: "OMPI_MCA_orte_default_hostfile", Value: file},
			corev1.EnvVar{Name: "OMPI_MCA_plm_rsh_args", Value: tries},
			corev1.EnvVar{Name: "OMPI_MCA_orte_set_default_slots", Value: slots(job)},
			corev1.EnvVar{Name: "PRTE_MCA_prte_default_hostfile", Value: file},
			corev1.EnvVar{Name: "PRTE_MCA_plm_ssh_args", Value: sshArguments(main, tries)})
	}
	if ptr.Deref(job.Spec.RunLauncherAsWorker, false) {
		return out
	}
	return append(out, corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES"}, corev1.EnvVar{Name: "NVIDIA_DRIVER_CAPABILITIES"})
}

// sshArguments returns the arguments with which Open MPI 5 is to call ssh. If the user sets them by an older name, which Open MPI 5.0.7 does not read,
// the value refers to that.
func sshArguments(main *corev1.Container, otherwise string) string {
	for _, name := range []string{"PRTE_MCA_plm_rsh_args", "OMPI_MCA_plm_ssh_args", "OMPI_MCA_plm_rsh_args"} {
		if framework.SetsEnv(main, name) {
			return "$(" + name + ")" // the kubelet replaces it, wherever the value comes from
		}
	}
	return otherwise
}

// addMissingEnv appends variables to those of a container, except those that the user sets. The user knows best how mpirun reaches its hosts: by another port,
// for example.
func addMissingEnv(c *corev1.Container, variables ...corev1.EnvVar) {
	for _, v := range variables {
		if !framework.SetsEnv(c, v.Name) {
			c.Env = append(c.Env, v)
		}
	}
}

// mountKeys mounts the key pair of a Secret in the first container. ssh refuses a key of root that others may read.
func mountKeys(spec *corev1.PodSpec, job *v2beta1.MPIJob, secret string) {
	folder := job.Spec.SSHAuthMountPath
	if folder == "" {
		folder = rootsKeys
	}
	mode := corev1.SecretVolumeSourceDefaultMode
	if folder == rootsKeys {
		mode = 0o600
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "ssh-auth", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: secret, DefaultMode: ptr.To(mode),
		Items: []corev1.KeyToPath{
			{Key: corev1.SSHAuthPrivateKey, Path: "id_rsa"}, {Key: "ssh-publickey", Path: "id_rsa.pub"}, {Key: "ssh-publickey", Path: "authorized_keys"},
		},
	}}})
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "ssh-auth", MountPath: folder})
}

// mountHosts mounts the files of mpiData in the launcher.
func mountHosts(spec *corev1.PodSpec, job string, data map[string]string) {
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "mpi-job-config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: framework.ConfigMapName(job, data)}, DefaultMode: ptr.To(corev1.ConfigMapVolumeSourceDefaultMode),
		Items: []corev1.KeyToPath{
			{Key: hostFile, Path: hostFile, Mode: ptr.To[int32](0o444)}, {Key: hostScript, Path: hostScript, Mode: ptr.To[int32](0o555)},
		},
	}}})
	main := &spec.Containers[0]
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "mpi-job-config", MountPath: mpiFolder})
}

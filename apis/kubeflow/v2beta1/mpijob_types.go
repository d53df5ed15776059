package v2beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// MPIJob runs a program with mpirun, over ssh, with a key pair: see sshAuthMountPath. The operator runs the job as a
// GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=mpijobs,singular=mpijob
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[-1:].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but the Service and the pods' names are made of it: only lower-case letters, digits and '-' inside, and a letter first\"",message="metadata.name must be a DNS label that begins with a letter: the Service and the pods' names are made of it"
// +kubebuilder:validation:XValidation:rule="self.spec.mpiReplicaSpecs.all(t, size(self.metadata.name) + 6 + size(string(((has(self.spec.mpiReplicaSpecs[t].replicas) ? self.spec.mpiReplicaSpecs[t].replicas : 1)) - 1)) + 2 <= 63)",fieldPath=".spec.mpiReplicaSpecs",messageExpression="\"the pod name <metadata.name>-worker-<highest index> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it\"",message="the pod name <metadata.name>-worker-<highest index> must fit in 63 characters: shorten metadata.name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || (has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.suspend) && oldSelf.spec.runPolicy.suspend) || (has(self.spec.runPolicy) && has(self.spec.runPolicy.suspend) && self.spec.runPolicy.suspend) || (size(self.spec.mpiReplicaSpecs) == size(oldSelf.spec.mpiReplicaSpecs) && self.spec.mpiReplicaSpecs.all(t, t in oldSelf.spec.mpiReplicaSpecs && (oldSelf.?status.?unstartedSpec.hasValue() || (self.spec.mpiReplicaSpecs[t].template == oldSelf.spec.mpiReplicaSpecs[t].template && (has(self.spec.mpiReplicaSpecs[t].restartPolicy) ? self.spec.mpiReplicaSpecs[t].restartPolicy : '-') == (has(oldSelf.spec.mpiReplicaSpecs[t].restartPolicy) ? oldSelf.spec.mpiReplicaSpecs[t].restartPolicy : '-'))) && ((has(self.spec.mpiReplicaSpecs[t].replicas) ? self.spec.mpiReplicaSpecs[t].replicas : 1) == (has(oldSelf.spec.mpiReplicaSpecs[t].replicas) ? oldSelf.spec.mpiReplicaSpecs[t].replicas : 1))))",fieldPath=".spec.mpiReplicaSpecs",message="mpiReplicaSpecs is immutable unless the job is suspended: set spec.runPolicy.suspend to true, then edit; once the job is over, delete it and create it again"
type MPIJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec MPIJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +optional
	Status kubeflow.JobStatus `json:"status,omitempty"`
}

// MPIJobList is a list of MPIJobs.
//
// +kubebuilder:object:root=true
type MPIJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MPIJob `json:"items"`
}

// MPIJobSpec is the desired state of an MPIJob.
//
// +kubebuilder:validation:XValidation:rule="self.mpiReplicaSpecs.all(t, t.lowerAscii() in ['launcher', 'worker'])",fieldPath=".mpiReplicaSpecs",messageExpression="'has a type ' + self.mpiReplicaSpecs.filter(t, !(t.lowerAscii() in ['launcher', 'worker']))[0] + ': want Launcher or Worker'",message="want types Launcher or Worker, in any case"
// +kubebuilder:validation:XValidation:rule="self.mpiReplicaSpecs.all(t, self.mpiReplicaSpecs.exists_one(u, u.lowerAscii() == t.lowerAscii()))",fieldPath=".mpiReplicaSpecs",message="two of its types differ only in case: keep one of them"
// +kubebuilder:validation:XValidation:rule="self.mpiReplicaSpecs.exists(t, t.lowerAscii() == 'launcher')",fieldPath=".mpiReplicaSpecs",message="Launcher is missing: it runs mpirun, and the job succeeds when it does"
// +kubebuilder:validation:XValidation:rule="self.mpiReplicaSpecs.all(t, t.lowerAscii() != 'launcher' || !has(self.mpiReplicaSpecs[t].replicas) || self.mpiReplicaSpecs[t].replicas == 1)",fieldPath=".mpiReplicaSpecs",message="a job has exactly one launcher: set replicas of Launcher to 1, and use Worker for the others"
// +kubebuilder:validation:XValidation:rule="self.mpiReplicaSpecs.all(t, has(self.mpiReplicaSpecs[t].template.spec) && size(self.mpiReplicaSpecs[t].template.spec.containers) > 0)",fieldPath=".mpiReplicaSpecs",message="each template must have a container"
// +kubebuilder:validation:XValidation:rule="(has(self.runPolicy) && has(self.runPolicy.managedBy) ? self.runPolicy.managedBy : 'kubeflow.org/mpi-operator') == (has(oldSelf.runPolicy) && has(oldSelf.runPolicy.managedBy) ? oldSelf.runPolicy.managedBy : 'kubeflow.org/mpi-operator')",fieldPath=".runPolicy.managedBy",message="managedBy is immutable: create the job again to change it"
type MPIJobSpec struct {
	// runPolicy says how the job runs, how long, how often it restarts and what stays of it. Its backoffLimit is the launcher's alone, default
	// 6. Its cleanPodPolicy All keeps pods that have ended, and so the launcher's, as Running does.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// slotsPerWorker is the number of processes that mpirun may start on each worker. Default 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	SlotsPerWorker *int32 `json:"slotsPerWorker,omitempty"`
	// runLauncherAsWorker has mpirun start processes in the launcher, too. Default false.
	// +optional
	RunLauncherAsWorker *bool `json:"runLauncherAsWorker,omitempty"`
	// sshAuthMountPath is the folder in which the containers find the key pair: id_rsa, id_rsa.pub and authorized_keys. It comes from a Secret
	// <job>-ssh-<UID of the job>, which the operator makes. Where it may not make one, the key pair comes from the Secret mpi-ssh of the namespace,
	// keys ssh-privatekey and ssh-publickey. You make that Secret by hand, once for all jobs, and pods start when it is there. Where a template names
	// a Secret <job>-ssh it is this one, and a ConfigMap <job>-config is the job's. Default /root/.ssh.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	SSHAuthMountPath string `json:"sshAuthMountPath,omitempty"`
	// launcherCreationPolicy says when the launcher's pod is created: at once (AtStartup, the default), or when all workers are Ready
	// (WaitForWorkersReady). A launcher that is run again waits for them in any case. With a gang scheduler it never does: all pods are placed
	// together.
	// +optional
	LauncherCreationPolicy LauncherCreationPolicy `json:"launcherCreationPolicy,omitempty"`
	// mpiImplementation says which variables tell mpirun of the hosts: OpenMPI (default), Intel or MPICH.
	// +optional
	MPIImplementation MPIImplementation `json:"mpiImplementation,omitempty"`
	// mpiReplicaSpecs describe the replicas by type: Launcher, which is one and must be there, and Worker, in any case. Immutable while the
	// job runs; everything may change while it is suspended. The first container of each is the one that matters.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=2
	// +required
	MPIReplicaSpecs map[string]*kubeflow.ReplicaSpec `json:"mpiReplicaSpecs"`
}

// RunPolicy says how an MPIJob runs.
type RunPolicy struct {
	kubeflow.InlineRunPolicy `json:",inline"`

	// suspend stops the job: its pods are deleted and none is created while it is true. It may change at any time.
	// Default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// managedBy names the controller that runs the job. Default kubeflow.org/mpi-operator, which this operator answers to. A job of
	// kueue.x-k8s.io/multikueue is left alone. Immutable.
	// +kubebuilder:validation:Enum=kubeflow.org/mpi-operator;kueue.x-k8s.io/multikueue
	// +optional
	ManagedBy *string `json:"managedBy,omitempty"`
	// schedulingPolicy is for gang schedulers and for Kueue.
	// +optional
	SchedulingPolicy *kubeflow.SchedulingPolicy `json:"schedulingPolicy,omitempty"`
}

// LauncherCreationPolicy says when the pod of a launcher is created.
//
// +kubebuilder:validation:Enum=AtStartup;WaitForWorkersReady
type LauncherCreationPolicy string

// The values of LauncherCreationPolicy.
const (
	AtStartup           LauncherCreationPolicy = "AtStartup"
	WaitForWorkersReady LauncherCreationPolicy = "WaitForWorkersReady"
)

// MPIImplementation is an implementation of MPI.
//
// +kubebuilder:validation:Enum=OpenMPI;Intel;MPICH
type MPIImplementation string

// The values of MPIImplementation.
const (
	OpenMPI MPIImplementation = "OpenMPI"
	Intel   MPIImplementation = "Intel"
	MPICH   MPIImplementation = "MPICH"
)

// The replica types of an MPIJob.
const (
	MPILauncher = "Launcher"
	MPIWorker   = "Worker"
)

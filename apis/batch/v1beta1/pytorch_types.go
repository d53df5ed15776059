package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PyTorchTrainingJob runs distributed training with PyTorch: its replicas find each other through the environment, or
// through torchrun, which can also be elastic. The operator runs the job as a GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.elastic.expectedReplicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=pj,categories=all
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Running",type=string,JSONPath=`.status.running`,description="replicas that run, of those that have not finished; after the end those that were left, if any"
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=`.status.backoffCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.aggregate.succeeded`,priority=1
// +kubebuilder:printcolumn:name="Disruptions",type=integer,JSONPath=`.status.disruptionCount`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Running")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but the Service and the pods' host names are made of it: only lower-case letters, digits and '-' inside, and a letter first\"",message="metadata.name must be a DNS label that begins with a letter: the Service and the pods' host names are made of it"
// +kubebuilder:validation:XValidation:rule="self.spec.replicaSpecs.all(r, size(self.metadata.name) + size(r.type) + size(string(self.spec.?elastic.?maxReplicas.orValue(r.?replicas.orValue(1)) - 1)) + 2 <= 63)",fieldPath=".spec.replicaSpecs",messageExpression="\"the host name <metadata.name>-<type>-<highest rank> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it or the type\"",message="the host name <metadata.name>-<type>-<highest rank> must fit in 63 characters: shorten metadata.name or the type"
// +kubebuilder:validation:XValidation:rule="self.?status.?aggregate.?running.orValue(0) != oldSelf.?status.?aggregate.?running.orValue(0) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || (self.spec.replicaSpecs.map(r, r.type) == oldSelf.spec.replicaSpecs.map(r, r.type) && (oldSelf.?status.?unstartedSpec.hasValue() ? self.spec.replicaSpecs.all(n, oldSelf.spec.replicaSpecs.exists(o, o.type == n.type && n.?replicas.orValue(1) == o.?replicas.orValue(1))) : self.spec.replicaSpecs == oldSelf.spec.replicaSpecs))",fieldPath=".spec.replicaSpecs",message="replicaSpecs is immutable unless the job is paused (an elastic job is scaled by spec.elastic.expectedReplicas): set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.torchrunConfig) ? has(oldSelf.spec.torchrunConfig) && self.spec.torchrunConfig == oldSelf.spec.torchrunConfig : !has(oldSelf.spec.torchrunConfig)) || oldSelf.?status.?phase.orValue('Paused') == 'Paused'",fieldPath=".spec.torchrunConfig",message="torchrunConfig is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.scheduler) ? has(oldSelf.spec.scheduler) && self.spec.scheduler == oldSelf.spec.scheduler : !has(oldSelf.spec.scheduler)) || oldSelf.?status.?phase.orValue('Paused') == 'Paused'",fieldPath=".spec.scheduler",message="scheduler is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.elastic) && ((has(self.spec.elastic.enabled) && self.spec.elastic.enabled) || (has(self.spec.elastic.enable) && self.spec.elastic.enable))) == (has(oldSelf.spec.elastic) && ((has(oldSelf.spec.elastic.enabled) && oldSelf.spec.elastic.enabled) || (has(oldSelf.spec.elastic.enable) && oldSelf.spec.elastic.enable))) || oldSelf.?status.?phase.orValue('Paused') == 'Paused'",fieldPath=".spec.elastic",message="a job becomes elastic, or ceases to be, only in a pause: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
type PyTorchTrainingJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec PyTorchTrainingJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status PyTorchTrainingJobStatus `json:"status,omitempty"`
}

// PyTorchTrainingJobList is a list of PyTorchTrainingJobs.
//
// +kubebuilder:object:root=true
type PyTorchTrainingJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PyTorchTrainingJob `json:"items"`
}

// PyTorchTrainingJobSpec is the desired state of a PyTorchTrainingJob.
//
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || !((has(self.elastic.enabled) && self.elastic.enabled) || (has(self.elastic.enable) && self.elastic.enable)) || (has(self.torchrunConfig) && ((has(self.torchrunConfig.enabled) && self.torchrunConfig.enabled) || (has(self.torchrunConfig.enable) && self.torchrunConfig.enable)))",fieldPath=".elastic",message="only torchrun can train with a number of replicas that changes: set spec.torchrunConfig.enabled to true, or spec.elastic.enabled to false"
// +kubebuilder:validation:XValidation:rule="self.?elastic.?expectedReplicas.orValue(0) == oldSelf.?elastic.?expectedReplicas.orValue(0) || self.?elastic.?enabled.orValue(false) || self.?elastic.?enable.orValue(false)",fieldPath=".elastic",message="the job is not elastic, so it cannot be scaled: set spec.replicaSpecs[].replicas in a pause; or spec.elastic.enabled, minReplicas and maxReplicas, with spec.torchrunConfig.enabled"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || !has(self.elastic.minReplicas) || size(self.replicaSpecs) <= self.elastic.minReplicas",fieldPath=".elastic.minReplicas",message="each type of spec.replicaSpecs keeps at least one replica: set it to their number or more"
// +kubebuilder:validation:XValidation:rule="!has(self.runMode) || !has(self.runMode.pause) || !has(self.runMode.pause.resumeSpecs) || self.runMode.pause.resumeSpecs.all(d, self.replicaSpecs.exists(s, s.type == d.type))",fieldPath=".runMode.pause.resumeSpecs",message="each type must be that of one of spec.replicaSpecs: correct it, or remove the entry"
// +kubebuilder:validation:XValidation:rule="(has(self.managedBy) ? self.managedBy : 'batch.tensorstack.dev/genericjob') == (has(oldSelf.managedBy) ? oldSelf.managedBy : 'batch.tensorstack.dev/genericjob')",fieldPath=".managedBy",message="managedBy is immutable: create the job again to change it"
// +kubebuilder:validation:XValidation:rule="self.?elastic.?enabled.orValue(false) || self.?elastic.?enable.orValue(false) || self.replicaSpecs.map(r, r.?replicas.orValue(1)).sum() <= 20000",fieldPath=".replicaSpecs",message="the job has more than 20000 replicas over all types, and 20000 are allowed: run fewer in one job"
// +kubebuilder:validation:XValidation:rule="!has(self.runPolicy) || !has(self.runPolicy.failurePolicy) || !has(self.runPolicy.failurePolicy.rules) || [self.replicaSpecs.map(s, s.type)].all(types, self.runPolicy.failurePolicy.rules.all(r, !has(r.match.types) || r.match.types.all(t, t in types)))",fieldPath=".runPolicy.failurePolicy.rules",message="each of match.types must be the type of one of spec.replicaSpecs: correct the type, or add it"
type PyTorchTrainingJobSpec struct {
	// replicaSpecs describe the replicas; at least one. Rank 0 of the first is the master, whose success is the job's.
	// Immutable while the job runs; everything may change while it is paused. Together they have at most 20,000 replicas.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +required
	ReplicaSpecs []PyTorchReplicaSpec `json:"replicaSpecs"`
	// elastic lets the number of replicas change while the job trains. It needs torchrun.
	// +optional
	Elastic *ElasticConfig `json:"elastic,omitempty"`
	// torchrunConfig has torchrun start the training processes. Default: the containers' own commands do.
	// Immutable while the job runs.
	// +optional
	TorchrunConfig *TorchrunConfig `json:"torchrunConfig,omitempty"`
	// runMode switches between running at once (the default), debugging and pausing. It may change at any time.
	// +optional
	RunMode *RunMode `json:"runMode,omitempty"`
	// runPolicy says how long the job may run, how often it restarts, and what stays of it.
	// +optional
	RunPolicy *RunPolicy `json:"runPolicy,omitempty"`
	// tensorboardSpec asks for a TensorBoard that shows the job's logs. Default: none.
	// +optional
	TensorBoardSpec *TensorBoardSpec `json:"tensorboardSpec,omitempty"`
	// scheduler chooses a gang scheduler. Default: the cluster's default scheduler places each pod by itself.
	// Immutable while the job runs.
	// +optional
	Scheduler *SchedulePolicy `json:"scheduler,omitempty"`
	// managedBy names the controller that runs the job. Default batch.tensorstack.dev/genericjob, which is this operator. A job of
	// kueue.x-k8s.io/multikueue is left alone: Kueue runs it on another cluster. Immutable. Extension (as in batch/v1 Job).
	// +optional
	ManagedBy *ManagedBy `json:"managedBy,omitempty"`
}

// PyTorchReplicaSpec describes the replicas of one type.
//
// +kubebuilder:validation:XValidation:rule="size(self.template.?spec.?containers.orValue([])) > 0",fieldPath=".template",message="spec.containers must list at least one container: what shall the replicas run?"
type PyTorchReplicaSpec struct {
	// type is the name of this kind of replica, for example master, worker or node: a DNS label, unique in the job.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=60
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +required
	Type string `json:"type"`
	// replicas is the number of replicas of this type. Default 1. It has no effect in an elastic job.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// scalingWeight is this type's share of an elastic job's replicas, relative to the others. Default 1. It has no
	// effect in other jobs.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	ScalingWeight *int32 `json:"scalingWeight,omitempty"`
	// template describes the pods; the container named python, else the first, is the one that trains. Its
	// restartPolicy has no effect: pods are always Never, and the operator replaces them.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`
	// restartPolicy says when a replica that ended is started again: Always (after success too), OnFailure (default),
	// Never or ExitCode. With ExitCode only exit codes 130, 137, 138 and 143 start it again: it was killed from
	// outside, or the program asked for it.
	// +optional
	RestartPolicy RestartPolicyType `json:"restartPolicy,omitempty"`
}

// ElasticConfig says how many replicas an elastic job may have.
//
// +kubebuilder:validation:XValidation:rule="!((has(self.enabled) && self.enabled) || (has(self.enable) && self.enable)) || (has(self.minReplicas) && has(self.maxReplicas))",message="an elastic job needs minReplicas and maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",fieldPath=".minReplicas",message="minReplicas must not be more than maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.expectedReplicas) || ((!has(self.minReplicas) || self.minReplicas <= self.expectedReplicas) && (!has(self.maxReplicas) || self.expectedReplicas <= self.maxReplicas))",fieldPath=".expectedReplicas",message="expectedReplicas must be from minReplicas to maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.minReplicas) || (has(self.minReplicas) && self.minReplicas == oldSelf.minReplicas)",fieldPath=".minReplicas",message="minReplicas is immutable: create the job again to change it"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.maxReplicas) || (has(self.maxReplicas) && self.maxReplicas == oldSelf.maxReplicas)",fieldPath=".maxReplicas",message="maxReplicas is immutable: create the job again to change it"
type ElasticConfig struct {
	// enabled makes the job elastic. Default false. It changes only while the job is paused.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// enable is an older spelling of enabled; either one makes the job elastic.
	// +optional
	Enable bool `json:"enable,omitempty"`
	// minReplicas is the smallest number of replicas that can train, over all types. Immutable.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// maxReplicas is the largest number of replicas. Immutable.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// expectedReplicas is the number of replicas to run now, over all types. Default minReplicas, which the operator writes
	// here, for the scale subresource cannot be read without. It may change at any time, by hand, by `kubectl scale` or by a
	// HorizontalPodAutoscaler; the pods that stay are not restarted.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	ExpectedReplicas *int32 `json:"expectedReplicas,omitempty"`
}

// TorchrunConfig says how torchrun starts the training processes of each replica. The command of the training container
// has no effect then: its args are the script and the script's arguments.
type TorchrunConfig struct {
	// enabled has torchrun start the training processes. Default false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// enable is an older spelling of enabled; either one switches torchrun on.
	// +optional
	Enable bool `json:"enable,omitempty"`
	// minNodes is from before December 2023 and has no effect: a job whose number of replicas changes sets elastic.
	// +optional
	MinNodes *int32 `json:"minNodes,omitempty"`
	// maxRestarts is how often torchrun restarts the training processes of all replicas before it gives up
	// (--max_restarts). Pods that fail after that are restarted by the operator, as runPolicy.backoffLimit allows. The loss of
	// one replica costs each of the others one. Default: 10 in an elastic job; else torchrun's own, which is 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// procPerNode is the number of training processes of each replica: a number, gpu, auto or cpu. With gpu it is as
	// many as the training container has GPUs (its limit of nvidia.com/gpu, amd.com/gpu or any other <domain>.com/gpu).
	// torchrun itself understands auto and cpu. Default: torchrun's own, which is 1.
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:XValidation:rule="self.matches('^([1-9][0-9]*|gpu|cpu|auto)$')",messageExpression="\"procPerNode is '\" + self + \"': want a positive number in quotes, gpu, cpu or auto\"",message="want a positive number in quotes, gpu, cpu or auto"
	// +optional
	ProcPerNode string `json:"procPerNode,omitempty"`
	// rdzvBackend is where the replicas find each other: c10d, or etcd or etcd-v2, whose address extraOptions must give as
	// --rdzv_endpoint=<host>:<port>. For c10d a replica of its own serves, of the type rendezvous, if the job is elastic or maxRestarts is above 0.
	// Then any other may be lost. Else replica 0 serves. Default: c10d if the job is elastic or maxRestarts is above 0. Else each replica gets its
	// rank from the operator (static), for c10d sorts the replicas by their names, as text.
	// +kubebuilder:validation:Enum=c10d;etcd;etcd-v2
	// +optional
	RdzvBackend string `json:"rdzvBackend,omitempty"`
	// rendezvousResources are what the replica of the type rendezvous asks for. Default: 50m of CPU, 256Mi of memory and limits of 1
	// and 1Gi, as far as the first type asks for these. Extension.
	// +optional
	RendezvousResources *corev1.ResourceRequirements `json:"rendezvousResources,omitempty"`
	// extraOptions are further options of torchrun. One that the operator would set itself is taken from here; --rdzv_conf is
	// merged, key by key.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	// +optional
	ExtraOptions []string `json:"extraOptions,omitempty"`
}

// PyTorchTrainingJobStatus is the observed state of a PyTorchTrainingJob.
type PyTorchTrainingJobStatus struct {
	TrainingJobStatus `json:",inline"`

	// replicas is the number of replicas that have not ended, for the scale subresource. Extension.
	// +optional
	Replicas int32 `json:"replicas"`
	// selector finds the job's pods, for the scale subresource: a HorizontalPodAutoscaler reads their metrics.
	// Extension.
	// +optional
	Selector string `json:"selector,omitempty"`
}

// IsOn reports whether the job is elastic.
func (e *ElasticConfig) IsOn() bool { return e != nil && (e.Enabled || e.Enable) }

// IsOn reports whether torchrun starts the training processes.
func (c *TorchrunConfig) IsOn() bool { return c != nil && (c.Enabled || c.Enable) }

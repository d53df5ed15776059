package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TensorFlowTrainingJob runs distributed training with TensorFlow. The operator gives each replica its TF_CONFIG and runs
// the job as a GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tj,categories=all
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Running",type=string,JSONPath=`.status.running`,description="replicas that run, of those that have not finished; after the end those that were left, if any"
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=`.status.backoffCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.aggregate.succeeded`,priority=1
// +kubebuilder:printcolumn:name="Disruptions",type=integer,JSONPath=`.status.disruptionCount`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Running")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but the Service and the pods' host names are made of it: only lower-case letters, digits and '-' inside, and a letter first\"",message="metadata.name must be a DNS label that begins with a letter: the Service and the pods' host names are made of it"
// +kubebuilder:validation:XValidation:rule="self.spec.replicaSpecs.all(r, size(self.metadata.name) + size(r.type) + size(string(r.?replicas.orValue(1) - 1)) + 2 <= 63)",fieldPath=".spec.replicaSpecs",messageExpression="\"the host name <metadata.name>-<type>-<highest rank> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it\"",message="the host name <metadata.name>-<type>-<highest rank> must fit in 63 characters: shorten metadata.name"
// +kubebuilder:validation:XValidation:rule="self.?status.?aggregate.?running.orValue(0) != oldSelf.?status.?aggregate.?running.orValue(0) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || (self.spec.replicaSpecs.map(r, r.type) == oldSelf.spec.replicaSpecs.map(r, r.type) && (oldSelf.?status.?unstartedSpec.hasValue() ? self.spec.replicaSpecs.all(n, oldSelf.spec.replicaSpecs.exists(o, o.type == n.type && n.?replicas.orValue(1) == o.?replicas.orValue(1))) : self.spec.replicaSpecs == oldSelf.spec.replicaSpecs))",fieldPath=".spec.replicaSpecs",message="replicaSpecs is immutable unless the job is paused, for TensorFlow reads TF_CONFIG once: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.scheduler) ? has(oldSelf.spec.scheduler) && self.spec.scheduler == oldSelf.spec.scheduler : !has(oldSelf.spec.scheduler)) || oldSelf.?status.?phase.orValue('Paused') == 'Paused'",fieldPath=".spec.scheduler",message="scheduler is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
type TensorFlowTrainingJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec TensorFlowTrainingJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status TrainingJobStatus `json:"status,omitempty"`
}

// TensorFlowTrainingJobList is a list of TensorFlowTrainingJobs.
//
// +kubebuilder:object:root=true
type TensorFlowTrainingJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TensorFlowTrainingJob `json:"items"`
}

// TensorFlowTrainingJobSpec is the desired state of a TensorFlowTrainingJob.
//
// +kubebuilder:validation:XValidation:rule="self.replicaSpecs.exists(r, r.type == 'chief' || r.type == 'worker')",fieldPath=".replicaSpecs",message="one of them must be of type chief or worker: the job succeeds when the chief, or else worker 0, does"
// +kubebuilder:validation:XValidation:rule="!has(self.runMode) || !has(self.runMode.pause) || !has(self.runMode.pause.resumeSpecs) || self.runMode.pause.resumeSpecs.all(d, self.replicaSpecs.exists(s, s.type == d.type))",fieldPath=".runMode.pause.resumeSpecs",message="each type must be that of one of spec.replicaSpecs: correct it, or remove the entry"
// +kubebuilder:validation:XValidation:rule="(has(self.managedBy) ? self.managedBy : 'batch.tensorstack.dev/genericjob') == (has(oldSelf.managedBy) ? oldSelf.managedBy : 'batch.tensorstack.dev/genericjob')",fieldPath=".managedBy",message="managedBy is immutable: create the job again to change it"
// +kubebuilder:validation:XValidation:rule="!has(self.runPolicy) || !has(self.runPolicy.failurePolicy) || !has(self.runPolicy.failurePolicy.rules) || [self.replicaSpecs.map(s, s.type)].all(types, self.runPolicy.failurePolicy.rules.all(r, !has(r.match.types) || r.match.types.all(t, t in types)))",fieldPath=".runPolicy.failurePolicy.rules",message="each of match.types must be the type of one of spec.replicaSpecs: correct the type, or add it"
type TensorFlowTrainingJobSpec struct {
	// replicaSpecs describe the replicas: at least a chief or a worker. Immutable while the job runs; everything may
	// change while it is paused. Together they have at most 20,000 replicas.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.map(r, r.?replicas.orValue(1)).sum() <= 20000",message="the job has more than 20000 replicas over all types, and 20000 are allowed: run fewer in one job"
	// +listType=map
	// +listMapKey=type
	// +required
	ReplicaSpecs []TensorFlowReplicaSpec `json:"replicaSpecs"`
	// runMode switches between running at once (the default), debugging and pausing. It may change at any time.
	// +optional
	RunMode *RunMode `json:"runMode,omitempty"`
	// tensorboardSpec asks for a TensorBoard that shows the job's logs. Default: none.
	// +optional
	TensorBoardSpec *TensorBoardSpec `json:"tensorboardSpec,omitempty"`
	// runPolicy says how long the job may run, how often it restarts, and what stays of it.
	// +optional
	RunPolicy *RunPolicy `json:"runPolicy,omitempty"`
	// scheduler chooses a gang scheduler. Default: the cluster's default scheduler places each pod by itself.
	// Immutable while the job runs.
	// +optional
	Scheduler *SchedulePolicy `json:"scheduler,omitempty"`
	// managedBy names the controller that runs the job. Default batch.tensorstack.dev/genericjob, which is this operator. A job of
	// kueue.x-k8s.io/multikueue is left alone: Kueue runs it on another cluster. Immutable. Extension (as in batch/v1 Job).
	// +optional
	ManagedBy *ManagedBy `json:"managedBy,omitempty"`
}

// TensorFlowReplicaSpec describes the replicas of one type.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'chief' || !has(self.replicas) || self.replicas == 1",fieldPath=".replicas",message="a job has at most one chief: set it to 1, and use type worker for the others"
// +kubebuilder:validation:XValidation:rule="has(self.template.spec) && self.template.spec.containers.exists(c, c.name == 'tensorflow')",fieldPath=".template",messageExpression="\"spec.containers must have a container named 'tensorflow', the one that trains, but has [\" + (has(self.template.spec) ? (size(self.template.spec.containers) > 0 ? self.template.spec.containers[0].name : \"\") + (size(self.template.spec.containers) > 1 ? \", \" + self.template.spec.containers[1].name : \"\") + (size(self.template.spec.containers) > 2 ? \", \" + self.template.spec.containers[2].name : \"\") + (size(self.template.spec.containers) > 3 ? \", ...\" : \"\") : \"\") + \"]: rename the one that trains\"",message="spec.containers must have a container named 'tensorflow', the one that trains: rename it"
type TensorFlowReplicaSpec struct {
	// type is chief, worker, ps or evaluator; each at most once.
	// +required
	Type TensorFlowReplicaType `json:"type"`
	// replicas is the number of replicas of this type. Default 1; there is at most one chief.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// template describes the pods; the container named tensorflow is the one that trains. Its restartPolicy has no
	// effect: pods are always Never, and the operator replaces them.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`
	// restartPolicy says when a replica that ended is started again: Never (default), OnFailure, Always (after success
	// too) or ExitCode. With ExitCode only exit codes 130, 137, 138 and 143 start it again: it was killed from outside,
	// or the program asked for it.
	// +optional
	RestartPolicy RestartPolicyType `json:"restartPolicy,omitempty"`
}

// TensorFlowReplicaType names what a replica does in a TensorFlow cluster.
//
// +kubebuilder:validation:Enum=chief;worker;ps;evaluator
type TensorFlowReplicaType string

// The values of TensorFlowReplicaType.
const (
	TensorFlowChief           TensorFlowReplicaType = "chief"
	TensorFlowWorker          TensorFlowReplicaType = "worker"
	TensorFlowParameterServer TensorFlowReplicaType = "ps"
	TensorFlowEvaluator       TensorFlowReplicaType = "evaluator"
)

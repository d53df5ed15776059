package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TFJob runs distributed training with TensorFlow. The operator gives each replica its TF_CONFIG and runs the job as a
// GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=tfjobs,singular=tfjob
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[-1:].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but the Service and the pods' names are made of it: only lower-case letters, digits and '-' inside, and a letter first\"",message="metadata.name must be a DNS label that begins with a letter: the Service and the pods' names are made of it"
// +kubebuilder:validation:XValidation:rule="self.spec.tfReplicaSpecs.all(t, size(self.metadata.name) + size(t) + size(string((has(self.spec.tfReplicaSpecs[t].replicas) && self.spec.tfReplicaSpecs[t].replicas > 0 ? self.spec.tfReplicaSpecs[t].replicas : 1) - 1)) + 2 <= 63)",fieldPath=".spec.tfReplicaSpecs",messageExpression="\"the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it\"",message="the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters: shorten metadata.name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || (has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.suspend) && oldSelf.spec.runPolicy.suspend) || (has(self.spec.runPolicy) && has(self.spec.runPolicy.suspend) && self.spec.runPolicy.suspend) || (size(self.spec.tfReplicaSpecs) == size(oldSelf.spec.tfReplicaSpecs) && self.spec.tfReplicaSpecs.all(t, t in oldSelf.spec.tfReplicaSpecs && (oldSelf.?status.?unstartedSpec.hasValue() || (self.spec.tfReplicaSpecs[t].template == oldSelf.spec.tfReplicaSpecs[t].template && (has(self.spec.tfReplicaSpecs[t].restartPolicy) ? self.spec.tfReplicaSpecs[t].restartPolicy : 'Never') == (has(oldSelf.spec.tfReplicaSpecs[t].restartPolicy) ? oldSelf.spec.tfReplicaSpecs[t].restartPolicy : 'Never'))) && ((has(self.spec.enableDynamicWorker) && self.spec.enableDynamicWorker && t.lowerAscii() == 'worker') || (has(self.spec.tfReplicaSpecs[t].replicas) ? self.spec.tfReplicaSpecs[t].replicas : 1) == (has(oldSelf.spec.tfReplicaSpecs[t].replicas) ? oldSelf.spec.tfReplicaSpecs[t].replicas : 1))))",fieldPath=".spec.tfReplicaSpecs",message="tfReplicaSpecs is immutable unless the job is suspended (but for the number of workers, with enableDynamicWorker): set spec.runPolicy.suspend to true, then edit; once the job is over, delete it and create it again"
type TFJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec TFJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// TFJobList is a list of TFJobs.
//
// +kubebuilder:object:root=true
type TFJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TFJob `json:"items"`
}

// TFJobSpec is the desired state of a TFJob.
//
// +kubebuilder:validation:XValidation:rule="self.tfReplicaSpecs.all(t, t.lowerAscii() in ['chief', 'master', 'worker', 'ps', 'evaluator'])",fieldPath=".tfReplicaSpecs",messageExpression="'has a type ' + self.tfReplicaSpecs.filter(t, !(t.lowerAscii() in ['chief', 'master', 'worker', 'ps', 'evaluator']))[0] + ': want Chief, Master, Worker, PS or Evaluator'",message="want types Chief, Master, Worker, PS or Evaluator, in any case"
// +kubebuilder:validation:XValidation:rule="self.tfReplicaSpecs.all(t, self.tfReplicaSpecs.exists_one(u, u.lowerAscii() == t.lowerAscii()))",fieldPath=".tfReplicaSpecs",message="two of its types differ only in case: keep one of them"
// +kubebuilder:validation:XValidation:rule="!self.tfReplicaSpecs.exists(t, t.lowerAscii() == 'chief') || !self.tfReplicaSpecs.exists(t, t.lowerAscii() == 'master')",fieldPath=".tfReplicaSpecs",message="Chief and Master are two names for one thing: keep one of them"
// +kubebuilder:validation:XValidation:rule="self.tfReplicaSpecs.exists(t, !has(self.tfReplicaSpecs[t].replicas) || self.tfReplicaSpecs[t].replicas > 0)",fieldPath=".tfReplicaSpecs",message="the job has no replica: set replicas of one type to 1 or more; to stop a job set spec.runPolicy.suspend"
// +kubebuilder:validation:XValidation:rule="self.tfReplicaSpecs.all(t, has(self.tfReplicaSpecs[t].template.spec) && self.tfReplicaSpecs[t].template.spec.containers.exists(c, c.name == 'tensorflow'))",fieldPath=".tfReplicaSpecs",message="each template must have a container named 'tensorflow', the one that trains: rename it"
// +kubebuilder:validation:XValidation:rule="self.tfReplicaSpecs.all(t, !has(self.tfReplicaSpecs[t].template.spec) || self.tfReplicaSpecs[t].template.spec.containers.all(c, has(c.image) && size(c.image) > 0))",fieldPath=".tfReplicaSpecs",message="each container must have an image"
// +kubebuilder:validation:XValidation:rule="!has(self.cleanPodPolicy) || !has(self.runPolicy) || !has(self.runPolicy.cleanPodPolicy) || self.cleanPodPolicy == self.runPolicy.cleanPodPolicy",fieldPath=".cleanPodPolicy",message="runPolicy.cleanPodPolicy says something else: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="!has(self.ttlSecondsAfterFinished) || !has(self.runPolicy) || !has(self.runPolicy.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished == self.runPolicy.ttlSecondsAfterFinished",fieldPath=".ttlSecondsAfterFinished",message="runPolicy.ttlSecondsAfterFinished says something else: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="!has(self.activeDeadlineSeconds) || !has(self.runPolicy) || !has(self.runPolicy.activeDeadlineSeconds) || self.activeDeadlineSeconds == self.runPolicy.activeDeadlineSeconds",fieldPath=".activeDeadlineSeconds",message="runPolicy.activeDeadlineSeconds says something else: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="!has(self.backoffLimit) || !has(self.runPolicy) || !has(self.runPolicy.backoffLimit) || self.backoffLimit == self.runPolicy.backoffLimit",fieldPath=".backoffLimit",message="runPolicy.backoffLimit says something else: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="(has(self.runPolicy) && has(self.runPolicy.managedBy) ? self.runPolicy.managedBy : 'kubeflow.org/training-operator') == (has(oldSelf.runPolicy) && has(oldSelf.runPolicy.managedBy) ? oldSelf.runPolicy.managedBy : 'kubeflow.org/training-operator')",fieldPath=".runPolicy.managedBy",message="managedBy is immutable: create the job again to change it"
type TFJobSpec struct {
	// runPolicy says how the job runs, how long, how often it restarts and what stays of it.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// The older form of the run policy.
	InlineRunPolicy `json:",inline"`
	// successPolicy says when the job has succeeded. A job with a chief or master succeeds when that does. Without one,
	// by default when worker 0 does; with AllWorkers, when all workers have.
	// +optional
	SuccessPolicy SuccessPolicy `json:"successPolicy,omitempty"`
	// enableDynamicWorker gives each worker a TF_CONFIG that names only itself and the parameter servers. So the number
	// of workers may change while the job runs. A worker's failure then does not fail the job. Default false.
	// +optional
	EnableDynamicWorker bool `json:"enableDynamicWorker,omitempty"`
	// tfReplicaSpecs describe the replicas by type: Chief (or Master), Worker, PS, Evaluator, in any case. A type with
	// replicas 0 is left out. Immutable while the job runs, but for the number of workers with enableDynamicWorker;
	// everything may change while it is suspended.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=5
	// +required
	TFReplicaSpecs map[string]*ReplicaSpec `json:"tfReplicaSpecs"`
}

// SuccessPolicy says when a TFJob has succeeded.
//
// +kubebuilder:validation:Enum="";AllWorkers
type SuccessPolicy string

// SuccessPolicyAllWorkers means that the job has succeeded when all its workers have.
const SuccessPolicyAllWorkers SuccessPolicy = "AllWorkers"

// The replica types of a TFJob.
const (
	TFChief           = "Chief"
	TFMaster          = "Master"
	TFWorker          = "Worker"
	TFParameterServer = "PS"
	TFEvaluator       = "Evaluator"
)

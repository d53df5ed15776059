package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// XGBoostJob trains one model with XGBoost or LightGBM in several replicas, which find the master through the environment. The
// operator runs the job as a GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=xgboostjobs,singular=xgboostjob
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[-1:].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but the Service and the pods' names are made of it: only lower-case letters, digits and '-' inside, and a letter first\"",message="metadata.name must be a DNS label that begins with a letter: the Service and the pods' names are made of it"
// +kubebuilder:validation:XValidation:rule="self.spec.xgbReplicaSpecs.all(t, size(self.metadata.name) + size(t) + size(string(((has(self.spec.xgbReplicaSpecs[t].replicas) && self.spec.xgbReplicaSpecs[t].replicas > 0 ? self.spec.xgbReplicaSpecs[t].replicas : 1)) - 1)) + 2 <= 63)",fieldPath=".spec.xgbReplicaSpecs",messageExpression="\"the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it\"",message="the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters: shorten metadata.name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || (has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.suspend) && oldSelf.spec.runPolicy.suspend) || (has(self.spec.runPolicy) && has(self.spec.runPolicy.suspend) && self.spec.runPolicy.suspend) || (size(self.spec.xgbReplicaSpecs) == size(oldSelf.spec.xgbReplicaSpecs) && self.spec.xgbReplicaSpecs.all(t, t in oldSelf.spec.xgbReplicaSpecs && (oldSelf.?status.?unstartedSpec.hasValue() || (self.spec.xgbReplicaSpecs[t].template == oldSelf.spec.xgbReplicaSpecs[t].template && (has(self.spec.xgbReplicaSpecs[t].restartPolicy) ? self.spec.xgbReplicaSpecs[t].restartPolicy : 'Never') == (has(oldSelf.spec.xgbReplicaSpecs[t].restartPolicy) ? oldSelf.spec.xgbReplicaSpecs[t].restartPolicy : 'Never'))) && ((has(self.spec.xgbReplicaSpecs[t].replicas) ? self.spec.xgbReplicaSpecs[t].replicas : 1) == (has(oldSelf.spec.xgbReplicaSpecs[t].replicas) ? oldSelf.spec.xgbReplicaSpecs[t].replicas : 1))))",fieldPath=".spec.xgbReplicaSpecs",message="xgbReplicaSpecs is immutable unless the job is suspended: set spec.runPolicy.suspend to true, then edit; once the job is over, delete it and create it again"
type XGBoostJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec XGBoostJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// XGBoostJobList is a list of XGBoostJobs.
//
// +kubebuilder:object:root=true
type XGBoostJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []XGBoostJob `json:"items"`
}

// XGBoostJobSpec is the desired state of an XGBoostJob.
//
// +kubebuilder:validation:XValidation:rule="self.xgbReplicaSpecs.all(t, t.lowerAscii() in ['master', 'worker'])",fieldPath=".xgbReplicaSpecs",messageExpression="'has a type ' + self.xgbReplicaSpecs.filter(t, !(t.lowerAscii() in ['master', 'worker']))[0] + ': want Master or Worker'",message="want types Master or Worker, in any case"
// +kubebuilder:validation:XValidation:rule="self.xgbReplicaSpecs.all(t, self.xgbReplicaSpecs.exists_one(u, u.lowerAscii() == t.lowerAscii()))",fieldPath=".xgbReplicaSpecs",message="two of its types differ only in case: keep one of them"
// +kubebuilder:validation:XValidation:rule="self.xgbReplicaSpecs.exists(t, t.lowerAscii() == 'master')",fieldPath=".xgbReplicaSpecs",message="Master is missing: the job succeeds when it does"
// +kubebuilder:validation:XValidation:rule="self.xgbReplicaSpecs.all(t, t.lowerAscii() != 'master' || !has(self.xgbReplicaSpecs[t].replicas) || self.xgbReplicaSpecs[t].replicas == 1)",fieldPath=".xgbReplicaSpecs",message="a job has exactly one master: set replicas of Master to 1, and use Worker for the others"
// +kubebuilder:validation:XValidation:rule="self.xgbReplicaSpecs.all(t, has(self.xgbReplicaSpecs[t].template.spec) && self.xgbReplicaSpecs[t].template.spec.containers.exists(c, c.name == 'xgboost'))",fieldPath=".xgbReplicaSpecs",message="each template must have a container named 'xgboost', the one that trains: rename it"
// +kubebuilder:validation:XValidation:rule="self.xgbReplicaSpecs.all(t, !has(self.xgbReplicaSpecs[t].template.spec) || self.xgbReplicaSpecs[t].template.spec.containers.all(c, has(c.image) && size(c.image) > 0))",fieldPath=".xgbReplicaSpecs",message="each container must have an image"
// +kubebuilder:validation:XValidation:rule="(has(self.runPolicy) && has(self.runPolicy.managedBy) ? self.runPolicy.managedBy : 'kubeflow.org/training-operator') == (has(oldSelf.runPolicy) && has(oldSelf.runPolicy.managedBy) ? oldSelf.runPolicy.managedBy : 'kubeflow.org/training-operator')",fieldPath=".runPolicy.managedBy",message="managedBy is immutable: create the job again to change it"
type XGBoostJobSpec struct {
	// runPolicy says how the job runs, how long, how often it restarts and what stays of it.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// xgbReplicaSpecs describe the replicas by type: Master, which is one and must be there, and Worker, in any case. Immutable
	// while the job runs; everything may change while it is suspended.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=2
	// +required
	XGBReplicaSpecs map[string]*ReplicaSpec `json:"xgbReplicaSpecs"`
}

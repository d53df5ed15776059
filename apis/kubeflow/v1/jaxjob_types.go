package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// JAXJob runs one program in several processes, as JAX's multi-controller mode wants it. The operator tells each where the
// coordinator is and which one it is, and runs the job as a GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.jaxReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:resource:path=jaxjobs,singular=jaxjob
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[-1:].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but the Service and the pods' names are made of it: only lower-case letters, digits and '-' inside, and a letter first\"",message="metadata.name must be a DNS label that begins with a letter: the Service and the pods' names are made of it"
// +kubebuilder:validation:XValidation:rule="self.spec.jaxReplicaSpecs.all(t, size(self.metadata.name) + size(t) + size(string(((has(self.spec.jaxReplicaSpecs[t].replicas) ? self.spec.jaxReplicaSpecs[t].replicas : 1)) - 1)) + 2 <= 63)",fieldPath=".spec.jaxReplicaSpecs",messageExpression="\"the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it\"",message="the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters: shorten metadata.name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || (has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.suspend) && oldSelf.spec.runPolicy.suspend) || (has(self.spec.runPolicy) && has(self.spec.runPolicy.suspend) && self.spec.runPolicy.suspend) || (size(self.spec.jaxReplicaSpecs) == size(oldSelf.spec.jaxReplicaSpecs) && self.spec.jaxReplicaSpecs.all(t, t in oldSelf.spec.jaxReplicaSpecs && (oldSelf.?status.?unstartedSpec.hasValue() || (self.spec.jaxReplicaSpecs[t].template == oldSelf.spec.jaxReplicaSpecs[t].template && (has(self.spec.jaxReplicaSpecs[t].restartPolicy) ? self.spec.jaxReplicaSpecs[t].restartPolicy : 'Never') == (has(oldSelf.spec.jaxReplicaSpecs[t].restartPolicy) ? oldSelf.spec.jaxReplicaSpecs[t].restartPolicy : 'Never'))) && ((has(self.spec.jaxReplicaSpecs[t].replicas) ? self.spec.jaxReplicaSpecs[t].replicas : 1) == (has(oldSelf.spec.jaxReplicaSpecs[t].replicas) ? oldSelf.spec.jaxReplicaSpecs[t].replicas : 1))))",fieldPath=".spec.jaxReplicaSpecs",message="jaxReplicaSpecs is immutable unless the job is suspended: set spec.runPolicy.suspend to true, then edit; once the job is over, delete it and create it again"
type JAXJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec JAXJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// JAXJobList is a list of JAXJobs.
//
// +kubebuilder:object:root=true
type JAXJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JAXJob `json:"items"`
}

// JAXJobSpec is the desired state of a JAXJob.
//
// +kubebuilder:validation:XValidation:rule="self.jaxReplicaSpecs.all(t, t.lowerAscii() in ['worker'])",fieldPath=".jaxReplicaSpecs",messageExpression="'has a type ' + self.jaxReplicaSpecs.filter(t, !(t.lowerAscii() in ['worker']))[0] + ': want Worker'",message="the only type is Worker, in any case"
// +kubebuilder:validation:XValidation:rule="self.jaxReplicaSpecs.all(t, self.jaxReplicaSpecs.exists_one(u, u.lowerAscii() == t.lowerAscii()))",fieldPath=".jaxReplicaSpecs",message="two of its types differ only in case: keep one of them"
// +kubebuilder:validation:XValidation:rule="self.jaxReplicaSpecs.all(t, !has(self.jaxReplicaSpecs[t].replicas) || self.jaxReplicaSpecs[t].replicas > 0)",fieldPath=".jaxReplicaSpecs",message="replicas must be 1 or more: to stop a job set spec.runPolicy.suspend; for no workers leave Worker out"
// +kubebuilder:validation:XValidation:rule="self.jaxReplicaSpecs.all(t, has(self.jaxReplicaSpecs[t].template.spec) && self.jaxReplicaSpecs[t].template.spec.containers.exists(c, c.name == 'jax'))",fieldPath=".jaxReplicaSpecs",message="each template must have a container named 'jax', the one that trains: rename it"
// +kubebuilder:validation:XValidation:rule="self.jaxReplicaSpecs.all(t, !has(self.jaxReplicaSpecs[t].template.spec) || self.jaxReplicaSpecs[t].template.spec.containers.all(c, has(c.image) && size(c.image) > 0))",fieldPath=".jaxReplicaSpecs",message="each container must have an image"
// +kubebuilder:validation:XValidation:rule="(has(self.runPolicy) && has(self.runPolicy.managedBy) ? self.runPolicy.managedBy : 'kubeflow.org/training-operator') == (has(oldSelf.runPolicy) && has(oldSelf.runPolicy.managedBy) ? oldSelf.runPolicy.managedBy : 'kubeflow.org/training-operator')",fieldPath=".runPolicy.managedBy",message="managedBy is immutable: create the job again to change it"
type JAXJobSpec struct {
	// runPolicy says how the job runs, how long, how often it restarts and what stays of it.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// jaxReplicaSpecs describe the replicas, which are of one type: Worker, in any case. Immutable while the job runs; everything
	// may change while it is suspended.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=1
	// +required
	JAXReplicaSpecs map[string]*ReplicaSpec `json:"jaxReplicaSpecs"`
}

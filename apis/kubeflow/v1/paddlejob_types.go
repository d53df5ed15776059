package v1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PaddleJob runs distributed training with PaddlePaddle: its replicas find each other through the environment, which
// `paddle.distributed.launch` reads. The operator runs the job as a GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.paddleReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:resource:path=paddlejobs,singular=paddlejob
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[-1:].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but the Service and the pods' names are made of it: only lower-case letters, digits and '-' inside, and a letter first\"",message="metadata.name must be a DNS label that begins with a letter: the Service and the pods' names are made of it"
// +kubebuilder:validation:XValidation:rule="self.spec.paddleReplicaSpecs.all(t, size(self.metadata.name) + size(t) + size(string((t.lowerAscii() == 'worker' && has(self.spec.elasticPolicy) && has(self.spec.elasticPolicy.maxReplicas) ? self.spec.elasticPolicy.maxReplicas : (has(self.spec.paddleReplicaSpecs[t].replicas) && self.spec.paddleReplicaSpecs[t].replicas > 0 ? self.spec.paddleReplicaSpecs[t].replicas : 1)) - 1)) + 2 <= 63)",fieldPath=".spec.paddleReplicaSpecs",messageExpression="\"the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it\"",message="the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters: shorten metadata.name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || (has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.suspend) && oldSelf.spec.runPolicy.suspend) || (has(self.spec.runPolicy) && has(self.spec.runPolicy.suspend) && self.spec.runPolicy.suspend) || (size(self.spec.paddleReplicaSpecs) == size(oldSelf.spec.paddleReplicaSpecs) && self.spec.paddleReplicaSpecs.all(t, t in oldSelf.spec.paddleReplicaSpecs && (oldSelf.?status.?unstartedSpec.hasValue() || (self.spec.paddleReplicaSpecs[t].template == oldSelf.spec.paddleReplicaSpecs[t].template && (has(self.spec.paddleReplicaSpecs[t].restartPolicy) ? self.spec.paddleReplicaSpecs[t].restartPolicy : 'OnFailure') == (has(oldSelf.spec.paddleReplicaSpecs[t].restartPolicy) ? oldSelf.spec.paddleReplicaSpecs[t].restartPolicy : 'OnFailure'))) && ((has(self.spec.elasticPolicy) && t.lowerAscii() == 'worker') || (has(self.spec.paddleReplicaSpecs[t].replicas) ? self.spec.paddleReplicaSpecs[t].replicas : 1) == (has(oldSelf.spec.paddleReplicaSpecs[t].replicas) ? oldSelf.spec.paddleReplicaSpecs[t].replicas : 1))))",fieldPath=".spec.paddleReplicaSpecs",message="paddleReplicaSpecs is immutable unless the job is suspended (but for the number of workers, with elasticPolicy): set spec.runPolicy.suspend to true, then edit; once the job is over, delete it and create it again"
type PaddleJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec PaddleJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// PaddleJobList is a list of PaddleJobs.
//
// +kubebuilder:object:root=true
type PaddleJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PaddleJob `json:"items"`
}

// PaddleJobSpec is the desired state of a PaddleJob.
//
// +kubebuilder:validation:XValidation:rule="self.paddleReplicaSpecs.all(t, t.lowerAscii() in ['master', 'worker'])",fieldPath=".paddleReplicaSpecs",messageExpression="'has a type ' + self.paddleReplicaSpecs.filter(t, !(t.lowerAscii() in ['master', 'worker']))[0] + ': want Master or Worker'",message="want types Master or Worker, in any case"
// +kubebuilder:validation:XValidation:rule="self.paddleReplicaSpecs.all(t, self.paddleReplicaSpecs.exists_one(u, u.lowerAscii() == t.lowerAscii()))",fieldPath=".paddleReplicaSpecs",message="two of its types differ only in case: keep one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.elasticPolicy) || self.paddleReplicaSpecs.exists(t, t.lowerAscii() == 'worker')",fieldPath=".elasticPolicy",message="only workers come and go: add Worker to paddleReplicaSpecs, or remove elasticPolicy"
// +kubebuilder:validation:XValidation:rule="!has(self.elasticPolicy) || self.paddleReplicaSpecs.all(t, t.lowerAscii() != 'worker' || ((!has(self.elasticPolicy.minReplicas) || self.elasticPolicy.minReplicas <= (has(self.paddleReplicaSpecs[t].replicas) ? self.paddleReplicaSpecs[t].replicas : 1)) && (!has(self.elasticPolicy.maxReplicas) || (has(self.paddleReplicaSpecs[t].replicas) ? self.paddleReplicaSpecs[t].replicas : 1) <= self.elasticPolicy.maxReplicas)))",fieldPath=".paddleReplicaSpecs",message="replicas of Worker must be from elasticPolicy.minReplicas to elasticPolicy.maxReplicas"
// +kubebuilder:validation:XValidation:rule="self.paddleReplicaSpecs.exists(t, !has(self.paddleReplicaSpecs[t].replicas) || self.paddleReplicaSpecs[t].replicas > 0)",fieldPath=".paddleReplicaSpecs",message="the job has no replica: set replicas of one type to 1 or more; to stop a job set spec.runPolicy.suspend"
// +kubebuilder:validation:XValidation:rule="self.paddleReplicaSpecs.all(t, has(self.paddleReplicaSpecs[t].template.spec) && self.paddleReplicaSpecs[t].template.spec.containers.exists(c, c.name == 'paddle'))",fieldPath=".paddleReplicaSpecs",message="each template must have a container named 'paddle', the one that trains: rename it"
// +kubebuilder:validation:XValidation:rule="self.paddleReplicaSpecs.all(t, !has(self.paddleReplicaSpecs[t].template.spec) || self.paddleReplicaSpecs[t].template.spec.containers.all(c, has(c.image) && size(c.image) > 0))",fieldPath=".paddleReplicaSpecs",message="each container must have an image"
// +kubebuilder:validation:XValidation:rule="(has(self.runPolicy) && has(self.runPolicy.managedBy) ? self.runPolicy.managedBy : 'kubeflow.org/training-operator') == (has(oldSelf.runPolicy) && has(oldSelf.runPolicy.managedBy) ? oldSelf.runPolicy.managedBy : 'kubeflow.org/training-operator')",fieldPath=".runPolicy.managedBy",message="managedBy is immutable: create the job again to change it"
type PaddleJobSpec struct {
	// runPolicy says how the job runs, how long, how often it restarts and what stays of it.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// elasticPolicy lets the number of workers change while the job trains.
	// +optional
	ElasticPolicy *PaddleElasticPolicy `json:"elasticPolicy,omitempty"`
	// paddleReplicaSpecs describe the replicas by type: Master and Worker, in any case. Without Master all workers train
	// together; with it each Master is a parameter server. Immutable while the job runs, but for the number of workers with
	// elasticPolicy; everything may change while it is suspended.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=2
	// +required
	PaddleReplicaSpecs map[string]*ReplicaSpec `json:"paddleReplicaSpecs"`
}

// PaddleElasticPolicy says how many workers an elastic job may have.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",fieldPath=".minReplicas",message="minReplicas must not be more than maxReplicas"
type PaddleElasticPolicy struct {
	// minReplicas is the smallest number of workers that can train. Default: maxReplicas, else the number of workers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// maxReplicas is the largest number of workers. Default: minReplicas, else the number of workers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// maxRestarts has no effect, nor has it with Kubeflow's operator: runPolicy.backoffLimit bounds restarts.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// metrics make a HorizontalPodAutoscaler of the job's name, which changes the number of workers. Default: none.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

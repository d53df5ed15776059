package v1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PyTorchJob runs distributed training with PyTorch: its replicas find each other through the environment, which torchrun
// reads too. The operator runs the job as a GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.pytorchReplicaSpecs.Worker.replicas,statuspath=.status.replicaStatuses.Worker.active,selectorpath=.status.replicaStatuses.Worker.selector
// +kubebuilder:resource:path=pytorchjobs,singular=pytorchjob
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.conditions[-1:].type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[-1:].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but the Service and the pods' names are made of it: only lower-case letters, digits and '-' inside, and a letter first\"",message="metadata.name must be a DNS label that begins with a letter: the Service and the pods' names are made of it"
// +kubebuilder:validation:XValidation:rule="self.spec.pytorchReplicaSpecs.all(t, size(self.metadata.name) + size(t) + size(string((t.lowerAscii() == 'worker' && has(self.spec.elasticPolicy) && has(self.spec.elasticPolicy.maxReplicas) ? self.spec.elasticPolicy.maxReplicas : (has(self.spec.pytorchReplicaSpecs[t].replicas) ? self.spec.pytorchReplicaSpecs[t].replicas : 1)) - 1)) + 2 <= 63)",fieldPath=".spec.pytorchReplicaSpecs",messageExpression="\"the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it\"",message="the pod name <metadata.name>-<type>-<highest index> must fit in 63 characters: shorten metadata.name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.startTime) || (has(oldSelf.spec.runPolicy) && has(oldSelf.spec.runPolicy.suspend) && oldSelf.spec.runPolicy.suspend) || (has(self.spec.runPolicy) && has(self.spec.runPolicy.suspend) && self.spec.runPolicy.suspend) || (size(self.spec.pytorchReplicaSpecs) == size(oldSelf.spec.pytorchReplicaSpecs) && self.spec.pytorchReplicaSpecs.all(t, t in oldSelf.spec.pytorchReplicaSpecs && (oldSelf.?status.?unstartedSpec.hasValue() || (self.spec.pytorchReplicaSpecs[t].template == oldSelf.spec.pytorchReplicaSpecs[t].template && (has(self.spec.pytorchReplicaSpecs[t].restartPolicy) ? self.spec.pytorchReplicaSpecs[t].restartPolicy : 'OnFailure') == (has(oldSelf.spec.pytorchReplicaSpecs[t].restartPolicy) ? oldSelf.spec.pytorchReplicaSpecs[t].restartPolicy : 'OnFailure'))) && ((has(self.spec.elasticPolicy) && t.lowerAscii() == 'worker') || (has(self.spec.pytorchReplicaSpecs[t].replicas) ? self.spec.pytorchReplicaSpecs[t].replicas : 1) == (has(oldSelf.spec.pytorchReplicaSpecs[t].replicas) ? oldSelf.spec.pytorchReplicaSpecs[t].replicas : 1))))",fieldPath=".spec.pytorchReplicaSpecs",message="pytorchReplicaSpecs is immutable unless the job is suspended (but for the number of workers, with elasticPolicy): set spec.runPolicy.suspend to true, then edit; once the job is over, delete it and create it again"
type PyTorchJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec PyTorchJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +optional
	Status JobStatus `json:"status,omitempty"`
}

// PyTorchJobList is a list of PyTorchJobs.
//
// +kubebuilder:object:root=true
type PyTorchJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PyTorchJob `json:"items"`
}

// PyTorchJobSpec is the desired state of a PyTorchJob.
//
// +kubebuilder:validation:XValidation:rule="self.pytorchReplicaSpecs.all(t, t.lowerAscii() in ['master', 'worker'])",fieldPath=".pytorchReplicaSpecs",messageExpression="'has a type ' + self.pytorchReplicaSpecs.filter(t, !(t.lowerAscii() in ['master', 'worker']))[0] + ': want Master or Worker'",message="want types Master or Worker, in any case"
// +kubebuilder:validation:XValidation:rule="self.pytorchReplicaSpecs.all(t, self.pytorchReplicaSpecs.exists_one(u, u.lowerAscii() == t.lowerAscii()))",fieldPath=".pytorchReplicaSpecs",message="two of its types differ only in case: keep one of them"
// +kubebuilder:validation:XValidation:rule="self.pytorchReplicaSpecs.all(t, t.lowerAscii() != 'master' || !has(self.pytorchReplicaSpecs[t].replicas) || self.pytorchReplicaSpecs[t].replicas == 1)",fieldPath=".pytorchReplicaSpecs",message="a job has exactly one master: set replicas of Master to 1, and use Worker for the others"
// +kubebuilder:validation:XValidation:rule="self.pytorchReplicaSpecs.all(t, !has(self.pytorchReplicaSpecs[t].replicas) || self.pytorchReplicaSpecs[t].replicas > 0)",fieldPath=".pytorchReplicaSpecs",message="replicas must be 1 or more: to stop a job set spec.runPolicy.suspend; for no workers leave Worker out"
// +kubebuilder:validation:XValidation:rule="self.pytorchReplicaSpecs.all(t, has(self.pytorchReplicaSpecs[t].template.spec) && self.pytorchReplicaSpecs[t].template.spec.containers.exists(c, c.name == 'pytorch'))",fieldPath=".pytorchReplicaSpecs",message="each template must have a container named 'pytorch', the one that trains: rename it"
// +kubebuilder:validation:XValidation:rule="self.pytorchReplicaSpecs.all(t, !has(self.pytorchReplicaSpecs[t].template.spec) || self.pytorchReplicaSpecs[t].template.spec.containers.all(c, has(c.image) && size(c.image) > 0))",fieldPath=".pytorchReplicaSpecs",message="each container must have an image"
// +kubebuilder:validation:XValidation:rule="!has(self.elasticPolicy) || self.pytorchReplicaSpecs.exists(t, t.lowerAscii() == 'worker')",fieldPath=".elasticPolicy",message="only workers come and go: add Worker to pytorchReplicaSpecs, or remove elasticPolicy"
// +kubebuilder:validation:XValidation:rule="!has(self.elasticPolicy) || self.pytorchReplicaSpecs.all(t, t.lowerAscii() != 'worker' || ((!has(self.elasticPolicy.minReplicas) || self.elasticPolicy.minReplicas <= (has(self.pytorchReplicaSpecs[t].replicas) ? self.pytorchReplicaSpecs[t].replicas : 1)) && (!has(self.elasticPolicy.maxReplicas) || (has(self.pytorchReplicaSpecs[t].replicas) ? self.pytorchReplicaSpecs[t].replicas : 1) <= self.elasticPolicy.maxReplicas)))",fieldPath=".pytorchReplicaSpecs",message="replicas of Worker must be from elasticPolicy.minReplicas to elasticPolicy.maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.nprocPerNode) || !has(self.elasticPolicy) || !has(self.elasticPolicy.nProcPerNode)",fieldPath=".elasticPolicy.nProcPerNode",message="spec.nprocPerNode says it too: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="!has(self.cleanPodPolicy) || !has(self.runPolicy) || !has(self.runPolicy.cleanPodPolicy) || self.cleanPodPolicy == self.runPolicy.cleanPodPolicy",fieldPath=".cleanPodPolicy",message="runPolicy.cleanPodPolicy says something else: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="!has(self.ttlSecondsAfterFinished) || !has(self.runPolicy) || !has(self.runPolicy.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished == self.runPolicy.ttlSecondsAfterFinished",fieldPath=".ttlSecondsAfterFinished",message="runPolicy.ttlSecondsAfterFinished says something else: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="!has(self.activeDeadlineSeconds) || !has(self.runPolicy) || !has(self.runPolicy.activeDeadlineSeconds) || self.activeDeadlineSeconds == self.runPolicy.activeDeadlineSeconds",fieldPath=".activeDeadlineSeconds",message="runPolicy.activeDeadlineSeconds says something else: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="!has(self.backoffLimit) || !has(self.runPolicy) || !has(self.runPolicy.backoffLimit) || self.backoffLimit == self.runPolicy.backoffLimit",fieldPath=".backoffLimit",message="runPolicy.backoffLimit says something else: remove this one, which is the older form"
// +kubebuilder:validation:XValidation:rule="(has(self.runPolicy) && has(self.runPolicy.managedBy) ? self.runPolicy.managedBy : 'kubeflow.org/training-operator') == (has(oldSelf.runPolicy) && has(oldSelf.runPolicy.managedBy) ? oldSelf.runPolicy.managedBy : 'kubeflow.org/training-operator')",fieldPath=".runPolicy.managedBy",message="managedBy is immutable: create the job again to change it"
type PyTorchJobSpec struct {
	// runPolicy says how the job runs, how long, how often it restarts and what stays of it.
	// +optional
	RunPolicy RunPolicy `json:"runPolicy,omitempty"`
	// The older form of the run policy.
	InlineRunPolicy `json:",inline"`
	// elasticPolicy lets the number of workers change while the job trains. It is for commands that start torchrun.
	// +optional
	ElasticPolicy *ElasticPolicy `json:"elasticPolicy,omitempty"`
	// nprocPerNode is the number of training processes of each replica, for torchrun: a number in quotes, auto
	// (default), cpu or gpu.
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:XValidation:rule="self.matches('^([1-9][0-9]*|gpu|cpu|auto)$')",messageExpression="\"nprocPerNode is '\" + self + \"': want a positive number in quotes, gpu, cpu or auto\"",message="want a positive number in quotes, gpu, cpu or auto"
	// +optional
	NprocPerNode *string `json:"nprocPerNode,omitempty"`
	// pytorchReplicaSpecs describe the replicas by type: Master, which is one, and Worker, in any case. Immutable while
	// the job runs, but for the number of workers with elasticPolicy; everything may change while it is suspended.
	// `kubectl scale` and autoscalers need the type to be spelled Worker.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=2
	// +required
	PyTorchReplicaSpecs map[string]*ReplicaSpec `json:"pytorchReplicaSpecs"`
}

// ElasticPolicy says how many workers an elastic job may have and how torchrun's agents meet.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",fieldPath=".minReplicas",message="minReplicas must not be more than maxReplicas"
type ElasticPolicy struct {
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
	// rdzvBackend is where the agents meet: c10d (default), which worker 0 serves, or another that torchrun knows.
	// +kubebuilder:validation:Enum=c10d;etcd;etcd-v2;static
	// +optional
	RDZVBackend *string `json:"rdzvBackend,omitempty"`
	// rdzvPort is the port at which they meet. Default: that of the workers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	RDZVPort *int32 `json:"rdzvPort,omitempty"`
	// rdzvHost is the host at which they meet. Default: worker 0.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RDZVHost *string `json:"rdzvHost,omitempty"`
	// rdzvId tells meetings apart that share an etcd.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RDZVID *string `json:"rdzvId,omitempty"`
	// rdzvConf are further settings of the backend.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	RDZVConf []RDZVConf `json:"rdzvConf,omitempty"`
	// standalone has each replica meet only with itself. Default false.
	// +optional
	Standalone *bool `json:"standalone,omitempty"`
	// nProcPerNode is the older form of spec.nprocPerNode.
	// +kubebuilder:validation:Minimum=1
	// +optional
	NProcPerNode *int32 `json:"nProcPerNode,omitempty"`
	// maxRestarts is how often torchrun restarts its training processes before the pod fails.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// metrics make a HorizontalPodAutoscaler of the job's name, which changes the number of workers. Default: none.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// RDZVConf is one setting of a rendezvous backend.
type RDZVConf struct {
	// key is its name.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
	// value is its value.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Value string `json:"value,omitempty"`
}

// The replica types of a PyTorchJob.
const (
	PyTorchMaster = "Master"
	PyTorchWorker = "Worker"
)

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// GenericJob runs a set of replicas (pods), restarts them by policy and decides by rules when the whole has succeeded
// or failed. It offers less automation than a framework kind such as PyTorchTrainingJob and more freedom: any number
// of replica types, each with its own pod template.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.aggregate.running
// +kubebuilder:resource:shortName=gj,categories=all
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Running",type=string,JSONPath=`.status.running`,description="replicas that run, of those that have not finished; after the end those that were left, if any"
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=`.status.backoffCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.aggregate.succeeded`,priority=1
// +kubebuilder:printcolumn:name="Disruptions",type=integer,JSONPath=`.status.disruptionCount`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Running")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but pods' host names are made of it: only lower-case letters, digits and '-' inside\"",message="metadata.name must be a DNS label (lower-case letters, digits and '-' inside): pods' host names are made of it"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.service) || self.metadata.name.matches('^[a-z]')",fieldPath=".spec.service",messageExpression="\"metadata.name is '\" + self.metadata.name + \"', but must begin with a letter when spec.service is set: the Service has the job's name\"",message="metadata.name must begin with a letter when spec.service is set: the Service has the job's name"
// +kubebuilder:validation:XValidation:rule="self.spec.replicaSpecs.all(r, size(self.metadata.name) + size(r.type) + size(string(self.spec.?replicas.orValue(r.?replicas.orValue(1)) - 1)) + 2 <= 63)",fieldPath=".spec.replicaSpecs",messageExpression="\"the host name <metadata.name>-<type>-<highest rank> must fit in 63 characters, but metadata.name is '\" + self.metadata.name + \"': shorten it or the type\"",message="the host name <metadata.name>-<type>-<highest rank> must fit in 63 characters: shorten metadata.name or the type"
// +kubebuilder:validation:XValidation:rule="self.?status.?lastUpdateTime.orValue(timestamp('1970-01-01T00:00:00Z')) != oldSelf.?status.?lastUpdateTime.orValue(timestamp('1970-01-01T00:00:00Z')) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || (self.spec.replicaSpecs.map(r, r.type) == oldSelf.spec.replicaSpecs.map(r, r.type) && self.spec.replicaSpecs.all(n, oldSelf.spec.replicaSpecs.exists(o, o.type == n.type && (oldSelf.?status.?unstartedSpec.hasValue() || (o.template == n.template && (has(n.restartPolicy) ? has(o.restartPolicy) && n.restartPolicy == o.restartPolicy : !has(o.restartPolicy)))) && n.?auxiliary.orValue(false) == o.?auxiliary.orValue(false))))",fieldPath=".spec.replicaSpecs",messageExpression="(!(self.spec.replicaSpecs.map(r, r.type) == oldSelf.spec.replicaSpecs.map(r, r.type)) ? 'types and their order are' : !self.spec.replicaSpecs.all(n, oldSelf.spec.replicaSpecs.exists(o, o.type == n.type && o.template == n.template)) ? 'template is' : self.spec.replicaSpecs.all(n, oldSelf.spec.replicaSpecs.exists(o, o.type == n.type && n.?auxiliary.orValue(false) == o.?auxiliary.orValue(false))) ? 'restartPolicy is' : 'auxiliary is') + ' immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again'",message="types, their order, template, restartPolicy and auxiliary are immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.service) ? has(oldSelf.spec.service) && self.spec.service == oldSelf.spec.service : !has(oldSelf.spec.service)) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || oldSelf.?status.?unstartedSpec.hasValue()",fieldPath=".spec.service",message="service is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(!has(self.spec.successRules) && !has(oldSelf.spec.successRules)) || self.?status.?lastUpdateTime.orValue(timestamp('1970-01-01T00:00:00Z')) != oldSelf.?status.?lastUpdateTime.orValue(timestamp('1970-01-01T00:00:00Z')) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || (has(self.spec.successRules) ? has(oldSelf.spec.successRules) && self.spec.successRules == oldSelf.spec.successRules : !has(oldSelf.spec.successRules))",fieldPath=".spec.successRules",message="successRules are immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(!has(self.spec.failureRules) && !has(oldSelf.spec.failureRules)) || self.?status.?lastUpdateTime.orValue(timestamp('1970-01-01T00:00:00Z')) != oldSelf.?status.?lastUpdateTime.orValue(timestamp('1970-01-01T00:00:00Z')) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || (has(self.spec.failureRules) ? has(oldSelf.spec.failureRules) && self.spec.failureRules == oldSelf.spec.failureRules : !has(oldSelf.spec.failureRules))",fieldPath=".spec.failureRules",message="failureRules are immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.scheduler) ? has(oldSelf.spec.scheduler) && self.spec.scheduler == oldSelf.spec.scheduler : !has(oldSelf.spec.scheduler)) || oldSelf.?status.?phase.orValue('Paused') == 'Paused'",fieldPath=".spec.scheduler",message="scheduler is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(self.spec.?restartScope.orValue('Replica') == 'Job') == (oldSelf.spec.?restartScope.orValue('Replica') == 'Job') || oldSelf.?status.?phase.orValue('Paused') == 'Paused'",fieldPath=".spec.restartScope",message="restartScope is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(self.spec.?restartStrategy.orValue('Recreate') == 'InPlace') == (oldSelf.spec.?restartStrategy.orValue('Recreate') == 'InPlace') || oldSelf.?status.?phase.orValue('Paused') == 'Paused'",fieldPath=".spec.restartStrategy",message="restartStrategy is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.heartbeat) ? has(oldSelf.spec.heartbeat) && self.spec.heartbeat == oldSelf.spec.heartbeat : !has(oldSelf.spec.heartbeat)) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || oldSelf.?status.?unstartedSpec.hasValue()",fieldPath=".spec.heartbeat",message="heartbeat is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.progress) ? has(oldSelf.spec.progress) && self.spec.progress == oldSelf.spec.progress : !has(oldSelf.spec.progress)) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || oldSelf.?status.?unstartedSpec.hasValue()",fieldPath=".spec.progress",message="progress is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.nodeLost) ? has(oldSelf.spec.nodeLost) && self.spec.nodeLost == oldSelf.spec.nodeLost : !has(oldSelf.spec.nodeLost)) || oldSelf.?status.?phase.orValue('Paused') == 'Paused' || oldSelf.?status.?unstartedSpec.hasValue()",fieldPath=".spec.nodeLost",message="nodeLost is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
// +kubebuilder:validation:XValidation:rule="(self.spec.?podNames.orValue('Hashed') == 'Plain') == (oldSelf.spec.?podNames.orValue('Hashed') == 'Plain') || oldSelf.?status.?phase.orValue('Pending') == 'Paused'",fieldPath=".spec.podNames",message="podNames is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
type GenericJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job runs.
	// +required
	Spec GenericJobSpec `json:"spec"`
	// status is what the operator has seen and decided. A job that is restored from a backup without its status starts over.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status GenericJobStatus `json:"status,omitempty"`
}

// GenericJobList is a list of GenericJobs.
//
// +kubebuilder:object:root=true
type GenericJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GenericJob `json:"items"`
}

// GenericJobSpec is the desired state of a GenericJob.
//
// +kubebuilder:validation:XValidation:rule="!has(self.successRules) || [self.replicaSpecs.filter(s, !s.?auxiliary.orValue(false)).map(s, s.type)].all(types, self.successRules.all(r, r.all(t, t in types)))",fieldPath=".successRules",message="each key must be the type of one of spec.replicaSpecs, and not of an auxiliary one: correct the key, or add the type"
// +kubebuilder:validation:XValidation:rule="!has(self.failureRules) || [self.replicaSpecs.filter(s, !s.?auxiliary.orValue(false)).map(s, s.type)].all(types, self.failureRules.all(r, r.all(t, t in types)))",fieldPath=".failureRules",message="each key must be the type of one of spec.replicaSpecs, and not of an auxiliary one: correct the key, or add the type"
// +kubebuilder:validation:XValidation:rule="!has(self.runMode) || !has(self.runMode.pause) || !has(self.runMode.pause.resumeSpecs) || self.runMode.pause.resumeSpecs.all(d, self.replicaSpecs.exists(s, s.type == d.type))",fieldPath=".runMode.pause.resumeSpecs",message="each type must be that of one of spec.replicaSpecs: correct it, or remove the entry"
// +kubebuilder:validation:XValidation:rule="self.replicaSpecs.exists(s, !s.?auxiliary.orValue(false))",fieldPath=".replicaSpecs",message="every type is auxiliary, so that nothing decides how the job ends: add a type that is not"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || size(self.replicaSpecs) == 1",fieldPath=".replicas",message="replicas is for jobs of one replica type: set spec.replicaSpecs[].replicas of the type that you mean"
// +kubebuilder:validation:XValidation:rule="(has(self.managedBy) ? self.managedBy : 'batch.tensorstack.dev/genericjob') == (has(oldSelf.managedBy) ? oldSelf.managedBy : 'batch.tensorstack.dev/genericjob')",fieldPath=".managedBy",message="managedBy is immutable: create the job again to change it"
// +kubebuilder:validation:XValidation:rule="!self.?stopTogether.orValue(false) || self.?restartScope.orValue('Replica') == 'Job'",fieldPath=".stopTogether",message="only replicas that begin again together stop together: set restartScope to Job, or remove stopTogether"
// +kubebuilder:validation:XValidation:rule="!has(self.failurePolicy) || !has(self.failurePolicy.rules) || [self.replicaSpecs.filter(s, !s.?auxiliary.orValue(false)).map(s, s.type)].all(types, self.failurePolicy.rules.all(r, !has(r.match.types) || r.match.types.all(t, t in types)))",fieldPath=".failurePolicy.rules",message="each of match.types must be the type of one of spec.replicaSpecs, and not of an auxiliary one: correct the type, or add it"
// +kubebuilder:validation:XValidation:rule="!has(self.failurePolicy) || !has(self.failurePolicy.noProgress) || (has(self.progress) ? (has(self.progress.stdout) ? self.progress.stdout.contains('<step>') : !(has(self.progress.preset) && self.progress.preset in ['keras', 'lightning'])) : has(self.heartbeat) && has(self.heartbeat.stdout) && self.heartbeat.stdout.contains('<step>'))",fieldPath=".failurePolicy.noProgress",message="noProgress compares the steps that code prints, and nobody reads any: set progress.stdout to an expression with a group named step, as in 'step (?P<step>[0-9]+)', or remove noProgress. Of keras and lightning the step is the epoch, within which a job may move"
type GenericJobSpec struct {
	// successRules say when the job has succeeded: as soon as any one of them holds. A rule holds when every replica
	// that it names has succeeded. Default: one rule that names all replicas of all types but auxiliary ones. Together they name at most
	// 50,000 ranks. Immutable while the job runs.
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:XValidation:rule="self.map(r, r.map(t, dyn(r[t]) == null ? 0 : size(r[t])).sum()).sum() <= 50000",message="the rules together may name at most 50000 ranks: an empty list stands for all ranks of a type, and \"any\" for one of them"
	// +listType=atomic
	// +optional
	SuccessRules []FinishRule `json:"successRules,omitempty"`
	// failureRules say when the job has failed: as soon as any one of them holds. A rule holds when every replica that
	// it names has failed for good, its restarts being spent or not allowed. Default: none; the job then fails once no
	// success rule can hold any more. Together they name at most 50,000 ranks. Immutable while the job runs.
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:XValidation:rule="self.map(r, r.map(t, dyn(r[t]) == null ? 0 : size(r[t])).sum()).sum() <= 50000",message="the rules together may name at most 50000 ranks: an empty list stands for all ranks of a type, and \"any\" for one of them"
	// +listType=atomic
	// +optional
	FailureRules []FinishRule `json:"failureRules,omitempty"`
	// service gives the replicas stable host names, by one headless Service with the job's name (but see
	// status.serviceName). Default: no Service.
	// Immutable while the job runs.
	// +optional
	Service *ServiceOption `json:"service,omitempty"`
	// runMode switches between running at once (the default), debugging and pausing. It may change at any time.
	// +optional
	RunMode *RunMode `json:"runMode,omitempty"`
	// cleanUpPolicy says which pods are deleted once the job has finished. None (default): no pod; Unfinished: those
	// that have not finished, after a success 30 seconds later; All: every pod. The lower-case spellings mean the same.
	// +optional
	CleanUpPolicy CleanUpPolicy `json:"cleanUpPolicy,omitempty"`
	// scheduler chooses a gang scheduler. Default: the cluster's default scheduler places each pod by itself.
	// Immutable while the job runs.
	// +optional
	Scheduler *SchedulePolicy `json:"scheduler,omitempty"`
	// replicaSpecs are the kinds of replicas of the job; at least one. Only replicas and startPolicy may change while the job runs;
	// everything may change while it is paused. Together they have at most 20,000 replicas.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.map(r, r.?replicas.orValue(1)).sum() <= 20000",message="the job has more than 20000 replicas over all types, and 20000 are allowed: run fewer in one job"
	// +listType=map
	// +listMapKey=type
	// +required
	ReplicaSpecs []ReplicaSpec `json:"replicaSpecs"`

	// replicas is the number of replicas of a job of one replica type, and wins over that type's own. It is what `kubectl
	// scale` sets. Default: replicaSpecs[0].replicas. It may change while the job runs. Extension.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// activeDeadlineSeconds is the time in seconds that the job may take, counted from status.startTime; the clock stops while the job is paused.
	// When it is over the job fails with reason DeadlineExceeded. Default: no limit. Extension (as in batch/v1 Job).
	// +kubebuilder:validation:Minimum=1
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// backoffLimit is the number of restarts that all replicas share: exactly so many are made; 2147483647 stands for
	// no limit at all. Default: no shared limit. Extension (as in batch/v1 Job).
	// +kubebuilder:validation:Minimum=0
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// failurePolicy says what becomes of failures, by their cause, exit code or words, in place of restartPolicy. It may change at any time.
	// Default: restartPolicy and the limits decide. Extension.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
	// restartScope says what a restart replaces. Replica (default): the replica that ended. Job: every replica of the
	// job, for collectives that cannot go on once they lost a member. Immutable while the job runs. Extension.
	// +optional
	RestartScope RestartScope `json:"restartScope,omitempty"`
	// restartStrategy says how code is run again. Recreate (default): in a new pod. InPlace: in the pod that is there, which takes seconds and keeps
	// node, image, volumes and address. With InPlace and restartScope Job all replicas wait until none runs any more, and begin together; replicas
	// that have succeeded stay so. InPlace needs a command in the template of the container that trains. Where that cannot be, and after disruptions,
	// the operator replaces the pod as Recreate does. Immutable while the job runs. Extension.
	// +optional
	RestartStrategy RestartStrategy `json:"restartStrategy,omitempty"`
	// inPlaceLimit is how many failures in a row restart a replica in place. The next one has its pod replaced. A life of ten minutes ends the row, and
	// disruptions do not count. With restartScope Job all members share one row. After it the pod that failed last is replaced. If that does not help,
	// all pods are. Default 3. Extension.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	InPlaceLimit *int32 `json:"inPlaceLimit,omitempty"`
	// heartbeat has code that hangs end with its stacks in the log, exit code 124 and a termination message: a failure as any other. It
	// works for all replicas but auxiliary ones whose template has a command. Default: nobody looks. Immutable while the job runs. Extension.
	// +optional
	Heartbeat *Heartbeat `json:"heartbeat,omitempty"`
	// progress says by which lines of output the code tells how far it has come; status.progress has the last. Unlike heartbeat it ends nothing.
	// It needs a command in the template. Default: the groups of heartbeat.stdout. Immutable while the job runs. Extension.
	// +optional
	Progress *ProgressFormat `json:"progress,omitempty"`
	// nodeLost says how long the job's pods wait for a node that does not answer, as one without power. Then Kubernetes deletes them, and the
	// operator replaces them once their grace period is over, unless its flag --force-replace-after is 0. No limit counts that. A node that is only
	// cut off may still run the old code. Then two write to one checkpoint, unless its path has $(jobAttempt) or $(attempt). Default: the operator's
	// flag --node-lost-after, which is off; then Kubernetes' own 300 seconds. Immutable while the job runs. Extension.
	// +optional
	NodeLost *NodeLost `json:"nodeLost,omitempty"`
	// avoidNodes has the job keep off nodes on which its code fails. Its new pods get a required node affinity that excludes those nodes, beside the
	// template's own. Pods that run there stay. It may change at any time. Default: the operator's --avoid-nodes; without that no node is avoided for
	// failures. A lost node is, while it is lost, in jobs with avoidNodes or nodeLost. Extension.
	// +optional
	AvoidNodes *AvoidNodes `json:"avoidNodes,omitempty"`
	// stopTogether has all replicas stop as soon as one is being deleted, as by a drain or a preemption. Each gets SIGTERM, and its grace period to
	// save what it has. That is one disruption. It is for restartScope Job. Default false. It may change at any time. Extension.
	// +optional
	StopTogether bool `json:"stopTogether,omitempty"`
	// podNames says what pods are called. Hashed (default): <job>-<hash>-<type>-<rank>. The hash is made of the job's name and UID, so no pod of an
	// earlier job of that name is in the way. Plain: <job>-<type>-<rank>, for those who know pods by name. A pod of that name that belongs to
	// somebody else blocks the job. Immutable while the job runs. Extension.
	// +optional
	PodNames PodNames `json:"podNames,omitempty"`
	// ttlSecondsAfterFinished is the time in seconds after which a finished job is deleted, with its pods. Default:
	// the job is kept. A job that another object controls, such as an Argo Workflow, is deleted with that object alone. Extension (as in
	// batch/v1 Job).
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// managedBy names the controller that runs the job. Default batch.tensorstack.dev/genericjob, which is this operator. A job of
	// kueue.x-k8s.io/multikueue is left alone: Kueue runs it on another cluster. Immutable. Extension (as in batch/v1 Job).
	// +optional
	ManagedBy *ManagedBy `json:"managedBy,omitempty"`
}

// FinishRule names replicas: it maps replica types to lists of ranks. An empty list, or null, means every rank of the
// type; "any" means that one of them is enough, whichever it is (extension).
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=16
type FinishRule map[string]RankList

// AnyRank stands for one rank of a type, whichever it is.
const AnyRank = "any"

// RankList lists ranks of one replica type, each as an integer or as a numeric string, or as "any".
//
// +kubebuilder:validation:MaxItems=10000
// +kubebuilder:validation:items:XIntOrString
// +kubebuilder:validation:items:Pattern=`^([0-9]+|any)$`
// +kubebuilder:validation:items:MaxLength=9
// +listType=atomic
type RankList []intstr.IntOrString

// ServiceOption describes the Service of a job's replicas.
type ServiceOption struct {
	// ports are the ports of the Service; $(service.port[<name>]) in a template stands for one of them.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Ports []corev1.ServicePort `json:"ports,omitempty"`
}

// CleanUpPolicy says which pods are deleted once a job has finished.
//
// +kubebuilder:validation:Enum=None;Unfinished;All;none;unfinished;all
type CleanUpPolicy string

// The values of CleanUpPolicy. The API also accepts them in lower case, which older manifests use.
const (
	CleanUpNone       CleanUpPolicy = "None"
	CleanUpUnfinished CleanUpPolicy = "Unfinished"
	CleanUpAll        CleanUpPolicy = "All"
)

// RestartScope says what a restart replaces.
//
// +kubebuilder:validation:Enum=Replica;Job
type RestartScope string

// The values of RestartScope.
const (
	RestartScopeReplica RestartScope = "Replica"
	RestartScopeJob     RestartScope = "Job"
)

// ReplicaSpec describes the replicas of one type.
//
// +kubebuilder:validation:XValidation:rule="size(self.template.?spec.?containers.orValue([])) > 0",fieldPath=".template",message="spec.containers must list at least one container: what shall the replicas run?"
// +kubebuilder:validation:XValidation:rule="!has(self.auxiliary) || !self.auxiliary || !has(self.restartPolicy)",fieldPath=".restartPolicy",message="an auxiliary replica is always replaced, and no limit counts that: remove restartPolicy, or set auxiliary to false"
type ReplicaSpec struct {
	// type is the name of this kind of replica, for example master, worker or ps: a DNS label, unique in the job.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=60
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +required
	Type string `json:"type"`
	// replicas is the number of replicas of this type. Default 1. It may change while the job runs: the highest ranks
	// come and go.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// restartPolicy says when a replica that ended is started again. Default: OnFailure with limit 0.
	// +optional
	RestartPolicy *RestartPolicy `json:"restartPolicy,omitempty"`
	// template describes the pods. Its restartPolicy has no effect: pods are always Never, and the operator replaces
	// them.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`
	// auxiliary says that the replicas of this type only serve the others, as a rendezvous store or a tracker does: how they end decides nothing.
	// They run as long as the job does. However they end, the operator replaces them, and no limit counts that. It stops them at the job's end or,
	// with cleanUpPolicy None, once no other replica runs. Rules cannot name them, nor do status.running and status.aggregate count them. Debug mode
	// leaves them as they are. Default false. Immutable while the job runs. Extension.
	// +optional
	Auxiliary bool `json:"auxiliary,omitempty"`
	// startPolicy says when pods of this type are created. AtOnce (default): as soon as they are missing. AfterOthers: once each replica of
	// the other types is Ready or has finished; auxiliary types, and types whose policy is not AtOnce, do not count. RestartAfterOthers: the
	// first at once, and those that replace one as by AfterOthers. With a gang scheduler all are created at once, for it places them
	// together. It may change at any time. Extension.
	// +optional
	StartPolicy StartPolicy `json:"startPolicy,omitempty"`
}

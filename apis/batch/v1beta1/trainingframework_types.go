package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TrainingFramework defines a framework: it says how the jobs of a kind become GenericJobs. Its expressions are CEL (Common
// Expression Language). They see job.name, job.namespace and job.spec, and variables.<name>. Extension.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=tfw
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind.kind`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.kind.group`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Serving",type=string,JSONPath=`.status.conditions[?(@.type=="Serving")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.spec.kind == oldSelf.spec.kind",fieldPath=".spec.kind",message="kind is immutable: make another TrainingFramework"
type TrainingFramework struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the definition. In its templates a string may hold ${expression}. One that is nothing else becomes the expression's value, of whatever
	// type. Where that is null or an optional without a value, the field or entry is left out. Other text around makes it a string. $${ stands for ${
	// itself. A GenericJob's own variables, $(...), stay as they are. All but kind may change: jobs that have begun go on by the revision that they
	// began with. Together the texts are 64 KiB at most.
	// +required
	Spec TrainingFrameworkSpec `json:"spec"`
	// status is what the operator makes of it.
	// +kubebuilder:default={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status TrainingFrameworkStatus `json:"status,omitempty"`
}

// TrainingFrameworkList is a list of TrainingFrameworks.
//
// +kubebuilder:object:root=true
type TrainingFrameworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrainingFramework `json:"items"`
}

// TrainingFrameworkSpec is a definition.
//
// +kubebuilder:validation:XValidation:rule="has(self.status) == has(self.phase)",fieldPath=".phase",message="status and phase belong together: status says how the job's own status looks, and phase how the phase is read from that"
// +kubebuilder:validation:XValidation:rule="!has(self.schema) || !has(self.status)",fieldPath=".schema",message="the operator makes only kinds whose status is a TrainingJobStatus: leave status and phase out, or install the CRD yourself and leave schema out"
// +kubebuilder:validation:XValidation:rule="!has(self.schema) || (self.kind.group.contains('.') && !self.kind.group.matches('(^|[.])((x-)?k8s[.]io|kubernetes[.]io|tensorstack[.]dev)$'))",fieldPath=".kind.group",message="the operator makes no kind in a group of Kubernetes or of its own: name a group of yours, as in frameworks.example.com"
type TrainingFrameworkSpec struct {
	// kind is the kind of the jobs. Immutable.
	// +required
	Kind FrameworkKind `json:"kind"`
	// schema is the OpenAPI v3 schema of a job's spec. The operator makes the CRD of the kind from it, with a status that is a TrainingJobStatus.
	// {$ref: PodTemplateSpec}, RunMode, RunPolicy and SchedulePolicy stand for the types of a training job. A field may be added later, and none has
	// a default. An edit that lets in less (as a field that goes, or a smaller maximum) is refused as long as some job would not fit. The operator
	// needs a right on CRDs, or you apply the CRD that the plugin prints. The CRD, and so the jobs, stay when the definition is deleted. Default: the
	// CRD, with the subresource status, is yours to install.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Schema *runtime.RawExtension `json:"schema,omitempty"`
	// variables are values that other expressions use, as variables.<name>. Each sees those before it.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Variables []FrameworkVariable `json:"variables,omitempty"`
	// validations are what must hold for a job. The first that does not hold fails a job which has not begun. They are looked
	// at before genericJob.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Validations []FrameworkValidation `json:"validations,omitempty"`
	// genericJob is the template of the GenericJob's spec.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +required
	GenericJob runtime.RawExtension `json:"genericJob"`
	// runPolicy is an expression of the job's run policy, with the fields of a RunPolicy. It goes into the GenericJob as for the built-in kinds:
	// backoffLimit is 3 by default. A restartScope of the template is the framework's own default. Default: the template alone counts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	RunPolicy string `json:"runPolicy,omitempty"`
	// data are templates of the texts of a ConfigMap, which is made before the GenericJob. Its name is data.name in the
	// expressions of genericJob. Default: there is none.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	Data map[string]FrameworkText `json:"data,omitempty"`
	// status is the template of the job's own status. Its expressions see only observed, the state of the job as a
	// TrainingJobStatus. Default: the status is a TrainingJobStatus.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Status *runtime.RawExtension `json:"status,omitempty"`
	// phase is an expression that reads the job's phase from its own status, which is shown there. It gives Pending, Running, Succeeded, Failed, or
	// another phase of a GenericJob, or "" for a job that has no status. Required with status.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Phase string `json:"phase,omitempty"`
}

// FrameworkText is a template of a text.
//
// +kubebuilder:validation:MaxLength=16384
type FrameworkText string

// FrameworkKind names a kind of jobs.
type FrameworkKind struct {
	// group is the API group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Group string `json:"group"`
	// version is the version of the group that the expressions are about.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Version string `json:"version"`
	// kind is the name of the kind, as in JAXJob. No other kind that the operator serves may have it, not even in another group.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind"`
}

// FrameworkVariable is a value with a name.
type FrameworkVariable struct {
	// name is what expressions call it, after "variables.".
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// expression is its value.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Expression string `json:"expression"`
}

// FrameworkValidation is something that must hold for a job.
type FrameworkValidation struct {
	// expression is true for jobs that can run.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +required
	Expression string `json:"expression"`
	// message tells the user which field of the job to change: a template of a text.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2000
	// +required
	Message string `json:"message"`
}

// TrainingFrameworkStatus is what the operator makes of a definition.
type TrainingFrameworkStatus struct {
	// observedGeneration is the metadata.generation that this status answers to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Accepted, Serving and Ready. Accepted: each expression is one, and fits where it stands. Serving: jobs of the kind are worked
	// on. Ready: both, of the newest definition. Beside Ready stands Reconciling or Stalled while it is False.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// revisions are the last definitions that were accepted, the newest first. It compiles new jobs; each job that has begun
	// stays with the one that its GenericJob names.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Revisions []FrameworkRevision `json:"revisions,omitempty"`
}

// FrameworkRevision is a definition that was accepted.
type FrameworkRevision struct {
	// name is made of the content: who writes an old definition again has the old revision.
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// spec is the definition.
	// +required
	Spec TrainingFrameworkSpec `json:"spec"`
}

// Conditions of a TrainingFramework.
const (
	// FrameworkAccepted: each expression is one, and fits where it stands.
	FrameworkAccepted = "Accepted"
	// FrameworkServing: jobs of the kind are worked on, by the last definition that was accepted. It says nothing of a newer one: wait for Ready.
	FrameworkServing = "Serving"
	// FrameworkReady: the newest definition is accepted, and serves.
	FrameworkReady = "Ready"
	// FrameworkReconciling: the definition waits for its kind, for rights, or for jobs to end. It is there only while it is True.
	FrameworkReconciling = "Reconciling"
	// FrameworkStalled: somebody has to edit the definition, or to delete another. It is there only while it is True.
	FrameworkStalled = "Stalled"
)

// Reasons of the conditions of a TrainingFramework.
const (
	// ReasonAccepted: nothing is wrong with the definition.
	ReasonAccepted = "Accepted"
	// ReasonInvalidDefinition: the message says which field to change. A job fails for it whose definition cannot be compiled, through no fault of its own.
	ReasonInvalidDefinition = "InvalidDefinition"
	// ReasonTooManyRevisions: unfinished jobs still need each of the revisions that are kept.
	ReasonTooManyRevisions = "TooManyRevisions"
	// ReasonServing: jobs of the kind are worked on.
	ReasonServing = "Serving"
	// ReasonNotAccepted: no revision has been accepted yet.
	ReasonNotAccepted = "NotAccepted"
	// ReasonKindMissing: the kind has no CRD, or one that does not fit.
	ReasonKindMissing = "KindMissing"
	// ReasonKindConflict: another definition, or the operator itself, serves the kind.
	ReasonKindConflict = "KindConflict"
	// ReasonRightsMissing: the operator may not do with jobs of the kind what it has to.
	ReasonRightsMissing = "RightsMissing"
	// ReasonNotServed: no definition serves the kind of a job, as an event of the job says.
	ReasonNotServed = "NotServed"
	// ReasonDefinitionDeleted: a definition is gone of whose kind there are unfinished jobs, as an event says.
	ReasonDefinitionDeleted = "DefinitionDeleted"
	// ReasonRevisionUnknown: a job was compiled by a revision that is not kept, so edits of the job have no effect. It goes on as it was.
	ReasonRevisionUnknown = "RevisionUnknown"
)

// Package jax adds the kind JAXJob to the operator: distributed training with JAX.
//
// +kubebuilder:object:generate=true
// +groupName=frameworks.example.com
// +versionName=v1alpha1
package jax

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

//go:generate go tool controller-gen object crd:generateEmbeddedObjectMeta=true paths=. output:crd:dir=../deploy
//go:generate go tool trim ../deploy/frameworks.example.com_jaxjobs.yaml

// JAXJob runs one program in several processes, as JAX's multi-controller mode wants it. The operator tells each process
// where the coordinator is and which one it is, and runs the job as a GenericJob of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=jax,categories=all
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Running",type=string,JSONPath=`.status.running`,description="processes that run, of those that have not finished; after the end those that were left, if any"
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=`.status.backoffCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Running")].message`,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label that begins with a letter: host names are made of it"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) + size('-process-') + size(string(has(self.spec.replicas) ? self.spec.replicas - 1 : 0)) <= 63",message="the host name <metadata.name>-process-<highest id> must fit in 63 characters: shorten metadata.name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase == 'Paused' || ((has(oldSelf.status.unstartedSpec) || self.spec.template == oldSelf.spec.template) && (has(self.spec.replicas) ? self.spec.replicas : 1) == (has(oldSelf.spec.replicas) ? oldSelf.spec.replicas : 1))",message="replicas and template are immutable unless the job is paused, for JAX counts its processes once: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
type JAXJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the job shall run.
	// +required
	Spec JAXJobSpec `json:"spec"`
	// status is what the operator has seen.
	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status v1beta1.TrainingJobStatus `json:"status,omitempty"`
}

// JAXJobSpec is the desired state of a JAXJob.
//
// +kubebuilder:validation:XValidation:rule="has(self.template.spec) && self.template.spec.containers.exists(c, c.name == 'jax')",fieldPath=".template",message="spec.containers must have a container named jax, the one that trains"
// +kubebuilder:validation:XValidation:rule="!has(self.runMode) || !has(self.runMode.debug) || !has(self.runMode.debug.replicaSpecs) || self.runMode.debug.replicaSpecs.all(d, d.type == 'process')",fieldPath=".runMode",message="debug.replicaSpecs: the only type is process"
// +kubebuilder:validation:XValidation:rule="!has(self.runMode) || !has(self.runMode.pause) || !has(self.runMode.pause.resumeSpecs) || self.runMode.pause.resumeSpecs.all(d, d.type == 'process')",fieldPath=".runMode",message="pause.resumeSpecs: the only type is process"
type JAXJobSpec struct {
	// replicas is the number of processes. Default 1. Immutable while the job runs.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// template describes the pods, one for each process; the container named jax is the one that trains. Immutable
	// while the job runs.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`
	// runMode switches between running at once (the default), debugging and pausing. It may change at any time.
	// +optional
	RunMode *v1beta1.RunMode `json:"runMode,omitempty"`
	// runPolicy says how long the job may run, how often it restarts, and what stays of it.
	// +optional
	RunPolicy *v1beta1.RunPolicy `json:"runPolicy,omitempty"`
	// scheduler chooses a gang scheduler. Default: the cluster's default scheduler places each pod by itself.
	// +optional
	Scheduler *v1beta1.SchedulePolicy `json:"scheduler,omitempty"`
}

// JAXJobList is a list of JAXJobs.
//
// +kubebuilder:object:root=true
type JAXJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JAXJob `json:"items"`
}

// AddToScheme registers the kind.
func AddToScheme(s *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "frameworks.example.com", Version: "v1alpha1"}
	s.AddKnownTypes(version, &JAXJob{}, &JAXJobList{})
	metav1.AddToGroupVersion(s, version)
	return nil
}

package definition

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Job is a job of whatever kind. Its spec and status stay JSON: that is how little memory they take in a cache.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wrote.
	Spec runtime.RawExtension `json:"spec,omitempty"`
	// Status is what the operator shows.
	Status runtime.RawExtension `json:"status,omitempty"`
}

// JobList is a list of Jobs.
type JobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Job `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (j *Job) DeepCopyObject() runtime.Object {
	out := &Job{TypeMeta: j.TypeMeta}
	j.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies the job into another.
func (j *Job) DeepCopyInto(out *Job) {
	out.TypeMeta = j.TypeMeta
	j.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Raw, out.Status.Raw = bytes.Clone(j.Spec.Raw), bytes.Clone(j.Status.Raw)
}

// DeepCopyObject implements runtime.Object.
func (l *JobList) DeepCopyObject() runtime.Object {
	out := &JobList{TypeMeta: l.TypeMeta, Items: make([]Job, len(l.Items))}
	l.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}

// AddToScheme registers a kind of jobs. A scheme holds one such kind: its type says nothing of which it is.
func AddToScheme(s *runtime.Scheme, kind schema.GroupVersionKind) {
	s.AddKnownTypeWithName(kind, &Job{})
	s.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &JobList{})
	metav1.AddToGroupVersion(s, kind.GroupVersion())
}

// KindOf returns the kind that a definition is about.
func KindOf(spec *v1beta1.TrainingFrameworkSpec) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: spec.Kind.Group, Version: spec.Kind.Version, Kind: spec.Kind.Kind}
}

// Package v1beta1 is the batch.tensorstack.dev/v1beta1 API: GenericJob and the types that the framework kinds share
// with it. There is one file for each kind or part of one, so there are more than a dozen.
//
// The wire format (field names, enums, defaults) is TensorStack's published reference. Fields that the reference does
// not have are marked "Extension" in their comments. No field of ours is defaulted in storage: an object keeps what its
// author wrote, and the operator fills in defaults when it reads. Kubernetes' own types bring a few defaults along (a
// port's protocol is TCP), so what is stored may be more than what was sent.
//
// The apiserver evaluates all rules at every write, those about spec at every write of the status too. Each field that
// a rule selects costs it a copy of the schemas of all fields beside it. So a rule that compares with oldSelf asks
// first what is cheap and settles nearly every write. That is whether its field is as it was. Where the answer would
// mean to compare pod templates, it is whether this is a write of the status (lastUpdateTime or a count has changed). A
// write of the status cannot change the spec, and no other write changes the status, as long as status is a
// subresource.
//
// A status is one value to server-side apply (structType=atomic), for the operator alone writes it. Each time it writes
// the whole, under the resourceVersion that it has read. The apiserver would otherwise keep account of the owner of
// each of its fields.
//
// +kubebuilder:object:generate=true
// +groupName=batch.tensorstack.dev
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "batch.tensorstack.dev", Version: "v1beta1"}

// Kinds as they stand in owner references.
const (
	KindGenericJob            = "GenericJob"
	KindTensorFlowTrainingJob = "TensorFlowTrainingJob"
	KindPyTorchTrainingJob    = "PyTorchTrainingJob"
	KindTrainingFramework     = "TrainingFramework"
)

// AddToScheme registers this package's kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&GenericJob{}, &GenericJobList{},
		&TensorFlowTrainingJob{}, &TensorFlowTrainingJobList{},
		&PyTorchTrainingJob{}, &PyTorchTrainingJobList{},
		&TrainingFramework{}, &TrainingFrameworkList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Package v1 is the kubeflow.org/v1 API as far as this operator serves it: TFJob, PyTorchJob, XGBoostJob,
// PaddleJob and JAXJob. Whoever has manifests for Kubeflow's training operator can keep them.
//
// The wire format is that of the published API. Fields that it does not have are marked "Extension" in their comments.
// The older inline form of the run policy, which stood beside tfReplicaSpecs, is accepted too. Nothing is defaulted in
// storage: an object keeps what its author wrote, and the operator fills in defaults when it reads.
//
// The API server also serves the older version v1beta2 of TFJob and PyTorchJob, made from the same schema: see deploy/kubeflow.
//
// +kubebuilder:object:generate=true
// +groupName=kubeflow.org
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "kubeflow.org", Version: "v1"}

// Kinds as they stand in owner references and in the reasons of conditions.
const (
	KindTFJob      = "TFJob"
	KindPyTorchJob = "PyTorchJob"
	KindXGBoostJob = "XGBoostJob"
	KindPaddleJob  = "PaddleJob"
	KindJAXJob     = "JAXJob"
)

// AddToScheme registers this package's kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &TFJob{}, &TFJobList{}, &PyTorchJob{}, &PyTorchJobList{}, &XGBoostJob{}, &XGBoostJobList{},
		&PaddleJob{}, &PaddleJobList{}, &JAXJob{}, &JAXJobList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

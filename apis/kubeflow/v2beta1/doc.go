// Package v2beta1 is the kubeflow.org/v2beta1 API as far as this operator serves it: MPIJob, as Kubeflow's mpi-operator has it.
//
// What it has in common with the other kinds is in package v1.
//
// +kubebuilder:object:generate=true
// +groupName=kubeflow.org
package v2beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kind.
var GroupVersion = schema.GroupVersion{Group: "kubeflow.org", Version: "v2beta1"}

// KindMPIJob is the kind as it stands in owner references and in the reasons of conditions.
const KindMPIJob = "MPIJob"

// Values of MPIJob's labels and fields.
const (
	// OperatorMPI is the value of the label of the operator's name.
	OperatorMPI = "mpi-operator"
	// ManagedByMPIOperator is what managedBy says of jobs that are ours.
	ManagedByMPIOperator = "kubeflow.org/mpi-operator"
)

// IsForeign reports whether another controller runs a job of this policy.
func (p *RunPolicy) IsForeign() bool {
	return p.ManagedBy != nil && *p.ManagedBy != ManagedByMPIOperator
}

// AddToScheme registers this package's kind.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &MPIJob{}, &MPIJobList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

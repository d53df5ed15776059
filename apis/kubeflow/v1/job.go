package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Job is a job of one of Kubeflow's kinds.
//
// +kubebuilder:object:generate=false
type Job interface {
	metav1.Object
	runtime.Object
	// Replicas are the replica specs by type, and the name of the field of the spec that has them.
	Replicas() (field string, specs map[string]*ReplicaSpec)
	// State is the job's status.
	State() *JobStatus
}

// Replicas implements Job.
func (j *TFJob) Replicas() (field string, specs map[string]*ReplicaSpec) {
	return "tfReplicaSpecs", j.Spec.TFReplicaSpecs
}

// State implements Job.
func (j *TFJob) State() *JobStatus { return &j.Status }

// Replicas implements Job.
func (j *PyTorchJob) Replicas() (field string, specs map[string]*ReplicaSpec) {
	return "pytorchReplicaSpecs", j.Spec.PyTorchReplicaSpecs
}

// State implements Job.
func (j *PyTorchJob) State() *JobStatus { return &j.Status }

// Replicas implements Job.
func (j *XGBoostJob) Replicas() (field string, specs map[string]*ReplicaSpec) {
	return "xgbReplicaSpecs", j.Spec.XGBReplicaSpecs
}

// State implements Job.
func (j *XGBoostJob) State() *JobStatus { return &j.Status }

// Replicas implements Job.
func (j *PaddleJob) Replicas() (field string, specs map[string]*ReplicaSpec) {
	return "paddleReplicaSpecs", j.Spec.PaddleReplicaSpecs
}

// State implements Job.
func (j *PaddleJob) State() *JobStatus { return &j.Status }

// Replicas implements Job.
func (j *JAXJob) Replicas() (field string, specs map[string]*ReplicaSpec) {
	return "jaxReplicaSpecs", j.Spec.JAXReplicaSpecs
}

// State implements Job.
func (j *JAXJob) State() *JobStatus { return &j.Status }

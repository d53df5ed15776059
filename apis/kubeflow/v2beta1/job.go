package v2beta1

import kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"

// Replicas implements kubeflow.Job.
func (j *MPIJob) Replicas() (field string, specs map[string]*kubeflow.ReplicaSpec) {
	return "mpiReplicaSpecs", j.Spec.MPIReplicaSpecs
}

// State implements kubeflow.Job.
func (j *MPIJob) State() *kubeflow.JobStatus { return &j.Status }

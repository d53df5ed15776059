package kubeflow

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// mirror writes the status of a job, in Kubeflow's words, from that of its GenericJob. Cleans is true if pods that still run are deleted when the job
// ends.
func (k *kind) mirror(job client.Object, specs map[string]*kubeflow.ReplicaSpec, cleans bool, to *kubeflow.JobStatus, s v1beta1.GenericJobStatus) {
	if k.batchJob {
		s = withLauncher(job.GetName(), s)
	}
	counts := k.counts(job.GetName(), specs, &s)
	if s.Phase == v1beta1.JobSucceeded && cleans {
		counts = countsAtSuccess(to, counts, &s)
	}
	if k.batchJob && cleans && s.CompletionTime != nil && counts[kubeflow.TFWorker] != nil {
		*counts[kubeflow.TFWorker] = kubeflow.ReplicaStatus{} // the MPI operator counts no worker then, however it has ended
	}
	to.ReplicaStatuses = counts
	to.StartTime = startTime(&s)
	to.CompletionTime = s.CompletionTime.DeepCopy()
	to.UnstartedSpec = s.UnstartedSpec
	if s.ObservedGeneration != 0 {
		to.ObservedGeneration = s.ObservedGeneration
	}
	l := &conditionList{kind: k, job: job, status: &s, shown: to.Conditions, isRunning: countsAsRunning(specs, counts), begun: begun(counts)}
	l.isRunning = l.isRunning && (!k.batchJob || l.allWorkersRan(specs, counts))
	to.Conditions = l.conditions()
}

// startTime returns when the job began, or was last resumed.
func startTime(s *v1beta1.GenericJobStatus) *metav1.Time {
	c := conditionOf(s, v1beta1.ConditionPaused)
	if s.StartTime == nil || c == nil || c.Status == metav1.ConditionTrue || !s.StartTime.Before(&c.LastTransitionTime) ||
		s.CompletionTime != nil && !c.LastTransitionTime.Before(s.CompletionTime) { // the end of the job ended the pause
		return s.StartTime.DeepCopy()
	}
	return c.LastTransitionTime.DeepCopy()
}

// phaseOf reads a phase from the conditions of a job.
func phaseOf(s *kubeflow.JobStatus) v1beta1.JobPhase {
	phase := v1beta1.JobPhase("")
	for _, c := range s.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case kubeflow.JobSucceeded:
			return v1beta1.JobSucceeded
		case kubeflow.JobFailed:
			return v1beta1.JobFailed
		case kubeflow.JobRunning:
			phase = v1beta1.JobRunning
		case kubeflow.JobSuspended:
			phase = v1beta1.JobPaused
		default:
			if phase == "" {
				phase = v1beta1.JobPending
			}
		}
	}
	return phase
}

package simulator

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/status"
)

// This file checks what deployment tools take jobs for: a job that has failed must not pass for one that is done.

// unseen gives a new job the status that its CRD says it has. It reports whether the object is one.
func unseen(o client.Object) bool {
	switch o := o.(type) {
	case *v1beta1.GenericJob:
		o.Status = v1beta1.GenericJobStatus{ObservedGeneration: v1beta1.Unobserved}
	case *v1beta1.TensorFlowTrainingJob:
		o.Status = v1beta1.TrainingJobStatus{ObservedGeneration: v1beta1.Unobserved}
	case *v1beta1.PyTorchTrainingJob:
		o.Status.TrainingJobStatus = v1beta1.TrainingJobStatus{ObservedGeneration: v1beta1.Unobserved}
	case *DefinedJob:
		o.Status = v1beta1.TrainingJobStatus{ObservedGeneration: v1beta1.Unobserved}
	default:
		return false
	}
	return true
}

// standOf is which of the conditions of deployment tools hold.
func standOf(list []v1beta1.JobCondition) (stand []v1beta1.JobConditionType) {
	for _, t := range []v1beta1.JobConditionType{v1beta1.ConditionReady, v1beta1.ConditionReconciling, v1beta1.ConditionStalled} {
		if c := status.Condition(list, t); c != nil && c.Status == metav1.ConditionTrue {
			stand = append(stand, t)
		}
	}
	return stand
}

// standWritten checks what a status makes of a job in the eyes of deployment tools, by what else it says.
func (t *truth) standWritten(of client.Object, list []v1beta1.JobCondition, phase v1beta1.JobPhase) {
	stand := standOf(list)
	if len(stand) != 1 || status.Condition(list, v1beta1.ConditionReady) == nil {
		t.violated("a job passes for done and for failed", "%s, which is %s: %v hold", keyOf(of), phase, stand)
		return
	}
	blocked := status.Condition(list, v1beta1.ConditionBlocked) != nil
	allowed := []v1beta1.JobConditionType{v1beta1.ConditionReconciling}
	switch {
	case phase == v1beta1.JobFailed:
		allowed[0] = v1beta1.ConditionStalled
	case phase == v1beta1.JobSucceeded:
		allowed[0] = v1beta1.ConditionReady
	case blocked:
		allowed = append(allowed, v1beta1.ConditionStalled)
	case phase == v1beta1.JobRunning:
		allowed = append(allowed, v1beta1.ConditionReady) // unless it is being stopped
	case phase == v1beta1.JobPaused:
		allowed[0] = v1beta1.ConditionReady
	}
	if !slices.Contains(allowed, stand[0]) {
		t.violated("a job passes for what it is not", "%s is %s, blocked: %v, and %s", keyOf(of), phase, blocked, stand[0])
	}
}

// shownStand checks what a training job shows that has the conditions of a GenericJob.
func (t *truth) shownStand(job client.Object) {
	s := &v1beta1.TrainingJobStatus{}
	switch job := job.(type) {
	case *v1beta1.TensorFlowTrainingJob:
		s = &job.Status
	case *v1beta1.PyTorchTrainingJob:
		s = &job.Status.TrainingJobStatus
	case *DefinedJob:
		s = &job.Status
	}
	if len(s.Conditions) > 0 {
		t.standWritten(job, s.Conditions, s.Phase)
	}
}

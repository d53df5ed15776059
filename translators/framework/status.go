package framework

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// MirrorStatus implements Mirror for kinds whose status is a TrainingJobStatus. It leaves the state of the TensorBoard as it is.
func MirrorStatus(to *v1beta1.TrainingJobStatus, from v1beta1.GenericJobStatus) {
	to.Phase = from.Phase
	to.Tasks = from.Tasks
	to.Aggregate = from.Aggregate
	to.Conditions = dated(from.Conditions, to.Conditions, from.LastUpdateTime)
	to.BackoffCount = from.BackoffCount
	to.Running = from.Running
	to.UnstartedSpec = from.UnstartedSpec
	to.StartTime = from.StartTime
	to.CompletionTime = from.CompletionTime
	to.FirstFailure, to.Failures, to.Progress = from.FirstFailure, from.Failures, from.Progress
	to.Time, to.History, to.Recovery = from.Time, from.History, from.Recovery
	to.DisruptionCount, to.ExceptedCount, to.AvoidedNodes = from.DisruptionCount, from.ExceptedCount, from.AvoidedNodes
	if from.ObservedGeneration != 0 {
		to.ObservedGeneration = from.ObservedGeneration
	}
}

// dated sets the time of conditions that have none. It is that of the shown condition with the same type and status, or else now.
func dated(conditions, shown []v1beta1.JobCondition, now *metav1.MicroTime) []v1beta1.JobCondition {
	out := slices.Clone(conditions)
	for i := range out {
		c := &out[i]
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		if now != nil {
			c.LastTransitionTime = metav1.NewTime(now.Time)
		}
		for _, s := range shown {
			if s.Type == c.Type && s.Status == c.Status {
				c.LastTransitionTime = s.LastTransitionTime
			}
		}
	}
	return out
}

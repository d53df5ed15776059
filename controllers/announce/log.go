package announce

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/status"
)

// The log is for admins. At level info there is a line for what has happened to a job. The line comes after the write that says so, or the call
// that did it. What goes on, or is tried again, has no other line. deploy/README.md has the keys. Values are of any length here; the
// operator's logger cuts them.

// Phase logs a new phase of a job.
func Phase(ctx context.Context, before, after v1beta1.JobPhase, s *v1beta1.GenericJobStatus) {
	var why v1beta1.JobCondition
	if c := status.Condition(s.Conditions, ConditionOf(after)); c != nil {
		why = *c
	}
	log.FromContext(ctx).Info("new phase", "phase", string(after), "before", string(before), "reason", why.Reason, "message", why.Message)
}

// Warnings logs what a training job warns of.
func Warnings(ctx context.Context, list []kernel.Event) {
	for _, e := range list {
		if e.Warning {
			log.FromContext(ctx).Info("warning", "reason", e.Reason, "message", e.Message)
		}
	}
}

// ConditionOf returns the condition that says most about a phase.
func ConditionOf(phase v1beta1.JobPhase) v1beta1.JobConditionType {
	switch phase {
	case v1beta1.JobFailed:
		return v1beta1.ConditionFailed
	case v1beta1.JobSucceeded:
		return v1beta1.ConditionCompleted
	case v1beta1.JobPaused:
		return v1beta1.ConditionPaused
	case v1beta1.JobUnknown:
		return v1beta1.ConditionBlocked
	default:
		return v1beta1.ConditionRunning
	}
}

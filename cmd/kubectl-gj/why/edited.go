package why

import (
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// untilCorrected says what an edit costs that cannot run. Its field is named before.
const untilCorrected = " No replica is restarted, and no pod is made, until that is corrected."

// isBlocked says what the condition does: what to do is part of its message.
func isBlocked(q question) *Answer {
	if !q.Is(v1beta1.ConditionBlocked) {
		return nil
	}
	c := q.Condition(v1beta1.ConditionBlocked)
	a := &Answer{Reason: c.Reason, Why: sentence(c.Message)}
	switch {
	case c.Reason != v1beta1.ReasonInvalidSpec || strings.Contains(c.Message, goesOn):
	case q.Phase() == v1beta1.JobPaused:
		a.Why += " It is paused, and cannot go on until that is corrected."
	default:
		a.Why += untilCorrected
	}
	return a
}

// goesOn is said of a training job by its controller, which has not taken the edit over.
const goesOn = "the job goes on as it was"

// edited says what is wrong with the spec of a job whose replicas all run. No condition says that yet. edited returns "" if nothing is wrong.
// Templates cannot be edited then.
func (q question) edited() string {
	job := q.GenericJob
	if job == nil || q.Phase() != v1beta1.JobRunning {
		return ""
	}
	problem := spec.Invalid(job, spec.ReplicaTypes(job, false), nil)
	if problem == "" {
		return ""
	}
	return " The spec cannot run as it is now: " + sentence(problem) + untilCorrected
}

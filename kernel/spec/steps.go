package spec

import (
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// NamesStep reports whether a heartbeat finds the steps that code prints.
func NamesStep(h *v1beta1.Heartbeat) bool { return h != nil && strings.Contains(h.Stdout, "<step>") }

// NoSteps says why noProgress of a job's failure policy has no effect, and what to do about it. It is "" if it has one, or is not set.
func NoSteps(job *v1beta1.GenericJob) string {
	p := job.Spec.FailurePolicy
	switch {
	case p == nil || p.NoProgress == nil:
		return ""
	case !NamesStep(job.Spec.Heartbeat):
		return "nobody reads the steps that code prints: set heartbeat.stdout to an expression with a group named step"
	case job.Spec.RestartScope != v1beta1.RestartScopeJob && members(job) > 1:
		return "replicas restart one by one, so that nobody knows how far the others have come: set restartScope to Job, or remove noProgress"
	default:
		return ""
	}
}

// members is the number of replicas that are not auxiliary.
func members(job *v1beta1.GenericJob) (n int) {
	for i := range job.Spec.ReplicaSpecs {
		if r := &job.Spec.ReplicaSpecs[i]; !r.Auxiliary {
			n += Replicas(job, r)
		}
	}
	return n
}

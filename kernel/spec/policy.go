package spec

import (
	"slices"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Unlimited is the limit of a replica that has none of its own.
const Unlimited = -1

// restartCodes are the exit codes that policy ExitCode retries unless the job says otherwise. 130, 137 and 143 come from signals, 138 is
// left to programs that want to be restarted.
var restartCodes = []int32{130, 137, 138, 143}

// Policy is a RestartPolicy with its defaults filled in.
type Policy struct {
	Kind  v1beta1.RestartPolicyType
	Limit int // Unlimited, or the number of restarts of each replica
	codes []int32
}

func policyOf(job *v1beta1.GenericJob, r *v1beta1.ReplicaSpec) Policy {
	if r.Auxiliary {
		return Policy{Kind: v1beta1.RestartAlways, Limit: Unlimited}
	}
	e := Policy{Kind: v1beta1.RestartOnFailure, codes: restartCodes}
	if job.Spec.BackoffLimit != nil {
		e.Limit = Unlimited
	}
	if p := r.RestartPolicy; p != nil {
		if p.Policy != "" {
			e.Kind = p.Policy
		}
		if p.Limit != nil {
			e.Limit = int(*p.Limit)
		}
		if len(p.ExitCodes) > 0 {
			e.codes = p.ExitCodes
		}
	}
	return e
}

// Allows reports whether the policy restarts a replica that ended with this exit code.
func (e Policy) Allows(exitCode int32) bool {
	switch e.Kind {
	case v1beta1.RestartAlways:
		return true
	case v1beta1.RestartOnFailure:
		return exitCode != 0
	case v1beta1.RestartExitCode:
		return slices.Contains(e.codes, exitCode)
	default:
		return false
	}
}

// RestartCodes are the exit codes that policy ExitCode retries unless the job says otherwise.
func RestartCodes() []int32 { return slices.Clone(restartCodes) }

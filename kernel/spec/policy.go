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

// policyOf returns the restart policy of a replica type with its defaults.
func policyOf(job *v1beta1.GenericJob, r *v1beta1.ReplicaSpec) Policy {
	if r.Auxiliary {
		return Policy{Kind: v1beta1.RestartAlways, Limit: Unlimited}
	}
	p := Policy{Kind: v1beta1.RestartOnFailure, codes: restartCodes}
	if job.Spec.BackoffLimit != nil {
		p.Limit = Unlimited
	}
	if written := r.RestartPolicy; written != nil {
		if written.Policy != "" {
			p.Kind = written.Policy
		}
		if written.Limit != nil {
			p.Limit = int(*written.Limit)
		}
		if len(written.ExitCodes) > 0 {
			p.codes = written.ExitCodes
		}
	}
	return p
}

// Allows reports whether the policy restarts a replica that ended with this exit code, as far as limits allow.
func (p Policy) Allows(exitCode int32) bool {
	switch p.Kind {
	case v1beta1.RestartAlways:
		return true
	case v1beta1.RestartOnFailure:
		return exitCode != 0
	case v1beta1.RestartExitCode:
		return slices.Contains(p.codes, exitCode)
	default:
		return false
	}
}

// RestartCodes returns the exit codes that policy ExitCode retries unless the job says otherwise.
func RestartCodes() []int32 { return slices.Clone(restartCodes) }

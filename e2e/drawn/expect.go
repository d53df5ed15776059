package drawn

import (
	"slices"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Expected is what must become of a job.
type Expected struct {
	Phase  v1beta1.JobPhase
	Reason string // of the condition Succeeded or Failed

	Restarts, Disruptions, Excepted int32 // as status has them
	JobAttempt                      int32

	// Failures is how often the victim's code fails, and Of how its container ends then. It is 0 where code does not fail.
	Failures int
	Code     int32
	Kind     v1beta1.CauseKind
	// Final says that the victim fails for good, so that its last life ends with the fault.
	Final bool
}

// Expect is what must become of a job, by its manifest and its fault alone. Its sources are kernel/README.md and kernel/failure-policy.md.
func (j *Job) Expect() Expected {
	e := Expected{Phase: v1beta1.JobSucceeded, Reason: v1beta1.ReasonSucceeded}
	switch j.Fault.Kind {
	case Exit, Kill, Hang:
		e.Code, e.Kind = j.code(), j.kind()
		if j.Torchrun == Elastic { // torchrun starts its process again, and no pod ends
			return e
		}
		j.fail(&e)
	case Delete:
		j.disrupt(&e)
	}
	if j.isAlways() && !e.Final { // each replica of the type uses up its restarts, however it ends
		t := j.typeOf(j.Fault.Type)
		e.Restarts = int32(t.Replicas) * *t.Policy.Limit
	}
	if j.WholeJob {
		e.JobAttempt = e.Restarts + e.Disruptions + e.Excepted
	}
	if e.Final {
		e.Phase, e.Reason = v1beta1.JobFailed, j.reason(e.Reason)
	}
	return e
}

// fail has the victim fail until its code succeeds, or may not run again.
func (j *Job) fail(e *Expected) {
	for e.Failures < j.Fault.Times {
		e.Failures++
		rule := j.rule()
		switch {
		case rule != nil && rule.Action == v1beta1.FailureActionFail:
			e.Final, e.Reason = true, v1beta1.ReasonFailurePolicy
		case rule != nil && rule.Counts != nil && !*rule.Counts:
			e.Excepted++
			continue
		case rule == nil && !j.restarts(e.Code) || !j.hasRoom(e.Restarts):
			e.Final = true
		case j.Rounds > 0 && e.Restarts+1 == j.Rounds:
			e.Final, e.Reason = true, v1beta1.ReasonFailurePolicy
		default:
			e.Restarts++
			continue
		}
		return
	}
}

// rule is the rule of the failure policy that matches the fault; nil without one.
func (j *Job) rule() *v1beta1.FailurePolicyRule {
	for i := range j.Rules {
		m := &j.Rules[i].Match
		if len(m.ExitCodes) > 0 && !slices.Contains(m.ExitCodes, j.code()) || len(m.Causes) > 0 && !slices.Contains(m.Causes, j.kind()) ||
			len(m.Types) > 0 && !slices.Contains(m.Types, j.Fault.Type) {
			continue
		}
		return &j.Rules[i]
	}
	return nil
}

// policy is the victim's.
func (j *Job) victimsPolicy() v1beta1.RestartPolicy {
	if p := j.typeOf(j.Fault.Type).Policy; p != nil {
		return *p
	}
	return v1beta1.RestartPolicy{}
}

// restarts reports whether the victim's policy has it run again after an exit code.
func (j *Job) restarts(code int32) bool {
	switch p := j.victimsPolicy(); p.Policy {
	case v1beta1.RestartNever:
		return false
	case v1beta1.RestartExitCode:
		if len(p.ExitCodes) == 0 {
			return slices.Contains([]int32{130, 137, 138, 143}, code)
		}
		return slices.Contains(p.ExitCodes, code)
	default:
		return true
	}
}

// hasRoom reports whether both limits leave a restart. The victim alone uses them.
func (j *Job) hasRoom(restarts int32) bool {
	limit := j.victimsPolicy().Limit
	switch {
	case j.Torchrun != "":
		return j.Backoff == nil || restarts < *j.Backoff
	case limit != nil && restarts >= *limit, limit == nil && j.Backoff == nil:
		return false
	default:
		return j.Backoff == nil || restarts < *j.Backoff
	}
}

// disrupt has somebody delete the victim's pod, whose code has started.
func (j *Job) disrupt(e *Expected) {
	if j.victimsPolicy().Policy == v1beta1.RestartNever {
		e.Final = true
		return
	}
	e.Disruptions = 1
}

// reason is why a job fails of which the victim has failed for good.
func (j *Job) reason(ruled string) string {
	switch {
	case ruled == v1beta1.ReasonFailurePolicy:
		return ruled
	case j.SuccessOf == "": // no success rule was written
		return v1beta1.ReasonFailed
	case j.FailureOf == j.Fault.Type && j.typeOf(j.Fault.Type).Replicas == 1:
		return v1beta1.ReasonFailed
	default:
		return v1beta1.ReasonSuccessUnreachable
	}
}

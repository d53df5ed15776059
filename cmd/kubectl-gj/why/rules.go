package why

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Judgement is what rules of a failure policy would do about a failure.
type Judgement struct {
	// Pod is the pod that failed, Failure how, and Cause the kind of cause that its status tells.
	Pod     string            `json:"pod"`
	Failure string            `json:"failure"`
	Cause   v1beta1.CauseKind `json:"cause,omitempty"`
	// Rule is the name, or the number, of the rule that matches; empty if none does.
	Rule string `json:"rule,omitempty"`
	// Does says what becomes of the failure.
	Does string `json:"does"`
}

// Text returns the judgement as a line.
func (j Judgement) Text() string {
	cause := ""
	if j.Cause != "" {
		cause = " [" + string(j.Cause) + "]"
	}
	return fmt.Sprintf("Pod[%s]: %s%s: %s", j.Pod, j.Failure, cause, j.Does)
}

// Judge says what rules would do about each failure that the job's status still knows, of which there are five.
func Judge(f *jobs.Family, policy v1beta1.FailurePolicy) (list []Judgement) {
	list = []Judgement{} // in JSON, an empty list is not null
	failures := slices.Clone(f.Status().Failures)
	if first := f.Status().FirstFailure; first != nil && !slices.ContainsFunc(failures, func(o v1beta1.ReplicaFailure) bool { return o.Pod == first.Pod && o.Time.Equal(first.Time) }) {
		failures = append(failures, first.ReplicaFailure)
	}
	for i := range failures {
		r := &failures[i]
		j := Judgement{Pod: r.Pod, Failure: tree.Describe(*r)}
		if r.Cause != nil {
			j.Cause = r.Cause.Kind
		}
		replicaType, rank, _ := jobs.ReplicaOf(f.GenericJob, r.Pod)
		rule, name := kernel.FailureRule(policy.Rules, replicaType, r)
		j.Does = does(rule, name, r, noneLeft(f.GenericJob, replicaType, rank))
		if rule != nil {
			j.Rule = strings.Trim(name, `"`)
		}
		list = append(list, j)
	}
	return list
}

// does says what becomes of a failure by a rule. NoneLeft says that no limit leaves a restart; "" if one is left.
func does(rule *v1beta1.FailurePolicyRule, name string, r *v1beta1.ReplicaFailure, noneLeft string) string {
	switch {
	case rule == nil && r.Follows != "":
		return "no rule matches, for it follows from another's end: causes and messages are of the first failure alone"
	case rule == nil:
		return "no rule matches: restartPolicy and the limits decide"
	case rule.Action == v1beta1.FailureActionFail:
		return fmt.Sprintf("rule %s fails the job", name)
	case rule.Action != v1beta1.FailureActionRestart:
		return fmt.Sprintf("rule %s has the action %q, which this kubectl gj does not know: upgrade it", name, rule.Action)
	case ptr.Deref(rule.Counts, true) && noneLeft != "":
		return fmt.Sprintf("rule %s would restart it%s, which counts, but %s: it fails for good", name, where(rule), noneLeft)
	case ptr.Deref(rule.Counts, true):
		return fmt.Sprintf("rule %s restarts it%s, which counts", name, where(rule))
	default:
		return fmt.Sprintf("rule %s restarts it%s, which does not count", name, where(rule))
	}
}

// where says that new pods avoid the node at once.
func where(rule *v1beta1.FailurePolicyRule) string {
	if rule.Elsewhere {
		return " elsewhere"
	}
	return ""
}

// noneLeft says that no restart is left of the limits of a replica; "" if one is, or if that cannot be told.
func noneLeft(job *v1beta1.GenericJob, replicaType string, rank int) string {
	if job == nil || replicaType == "" {
		return ""
	}
	l, err := ledger.Load(job)
	if err != nil {
		return ""
	}
	a := l.Account(replicaType)
	if a == nil || l.IsWithinLimit(a, rank) {
		return ""
	}
	name, limit := limitOf(l.Ledger, a, rank)
	return fmt.Sprintf("no restart is left now (0 of %d, unless you raise %s)", limit, name)
}

// limitOf returns the limit that leaves a replica no restart, and its name.
func limitOf(l *ledger.Ledger, a *ledger.Account, rank int) (name string, limit int) {
	if l.SharedRestartsLeft() == 0 {
		_, limit = l.Spent(a, rank)
		return "backoffLimit", limit
	}
	return "restartPolicy.limit of type " + a.Type, a.Policy.Limit
}

// Remarks say what of a failure policy is not tried on a job, or has no effect there, and why. The error is that of a policy which the job cannot
// have.
func Remarks(f *jobs.Family, policy v1beta1.FailurePolicy) (list []string, err error) {
	if f.GenericJob == nil {
		return nil, nil
	}
	with := &v1beta1.GenericJob{ObjectMeta: f.GenericJob.ObjectMeta, Spec: f.GenericJob.Spec}
	with.Spec.SuccessRules, with.Spec.FailureRules, with.Spec.FailurePolicy = nil, nil, &policy
	if problem := spec.Invalid(with, spec.ReplicaTypes(with, false), nil); strings.HasPrefix(problem, field) {
		return nil, errors.New(strings.ReplaceAll(problem, field, ""))
	}
	if why := spec.WhyNoElsewhere(&with.Spec); why != "" && !counts(&f.GenericJob.Status) {
		list = append(list, "Ignored: "+sentence(why))
	}
	if policy.NoProgress != nil {
		list = append(list, noProgress(with, policy.NoProgress.Rounds, f.GenericJob.Status.NoProgress))
	}
	return list, nil
}

// field begins what is said of a failure policy.
const field = "spec.failurePolicy."

// noProgress says what noProgress would do. A status keeps the step of the present series of failures alone, and only if the job has noProgress.
func noProgress(job *v1beta1.GenericJob, rounds int32, series *v1beta1.NoProgressStatus) string {
	switch why := spec.WhyNoSteps(job); {
	case why != "":
		return "Ignored: noProgress is set, but " + sentence(why)
	case series == nil:
		return "noProgress is not tried: the status does not keep at which steps these failures came."
	case series.Rounds >= rounds:
		return fmt.Sprintf("noProgress fails the job: %d failures in a row had one cause and no newer step, and rounds is %d.", series.Rounds, rounds)
	default:
		return fmt.Sprintf("noProgress does not fail the job yet: %s in a row had one cause and no newer step, and rounds is %d.", plural.Count(series.Rounds, "failure"), rounds)
	}
}

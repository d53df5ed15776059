package kernel

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// successRuleHolds: some success rule names only ranks that have succeeded; without success rules, all ranks have.
func successRuleHolds(f facts) verdict.Verdict {
	for _, rule := range spec.SuccessRules(f.job) {
		if f.all(rule, thatSucceeded) {
			return verdict.Verdict{Course: verdict.Succeed, Reason: v1beta1.ReasonSucceeded, Message: status.Succeeded}
		}
	}
	return verdict.Verdict{}
}

// failureRuleHolds: some failure rule names only ranks that failed for good.
func failureRuleHolds(f facts) verdict.Verdict {
	for _, rule := range f.job.Spec.FailureRules {
		if f.all(rule, thatFailed) {
			return f.fails(v1beta1.ReasonFailed, status.FailureRuleHolds(printRule(rule)))
		}
	}
	return verdict.Verdict{}
}

// successUnreachable: every success rule names a rank that failed for good. A user who wrote no rules is told only of the rank.
func successUnreachable(f facts) verdict.Verdict {
	for _, rule := range spec.SuccessRules(f.job) {
		if f.all(rule, thatMaySucceed) {
			return verdict.Verdict{}
		}
	}
	if len(f.job.Spec.SuccessRules) == 0 || f.isCompiled() {
		return f.fails(v1beta1.ReasonFailed, "")
	}
	return f.fails(v1beta1.ReasonSuccessUnreachable, status.NoSuccessRuleCanHold)
}

// failsBy reports whether a job fails if the replicas of some ends have failed for good, besides those of which the status knows.
func failsBy(job *v1beta1.GenericJob, final []*end) bool {
	if slices.ContainsFunc(final, (*end).failsJob) {
		return true
	}
	draft, err := ledger.Load(job)
	if err != nil { // cannot happen: observe has read it
		return true
	}
	draft.ForgetScaledDown()
	for _, e := range final {
		draft.Fail(draft.Account(e.account.Type), e.rank)
	}
	f := facts{job: job, ledger: draft.Ledger}
	return failureRuleHolds(f).Course != verdict.None || successUnreachable(f).Course != verdict.None
}

// isCompiled reports whether the job was compiled from a training job, whose author knows of no rules.
func (f facts) isCompiled() bool { return spec.TrainingJob(f.job) != nil }

// fails returns the verdict that the job fails because replicas failed. Rule is what to say of the rule; "" for nothing.
func (f facts) fails(reason, rule string) verdict.Verdict {
	if f.isCompiled() {
		rule = ""
	}
	return verdict.Verdict{Course: verdict.Fail, Reason: reason, Message: rule, ByFailure: true}
}

// selection selects ranks of a type. It can count them without looking at each one, because thousands of rules may ask for thousands of ranks.
type selection struct {
	has   func(*ledger.Account, int) bool
	count func(*ledger.Account) int
}

var (
	thatSucceeded  = selection{(*ledger.Account).HasSucceeded, (*ledger.Account).SucceededCount}
	thatFailed     = selection{(*ledger.Account).HasFailed, (*ledger.Account).FailedCount}
	thatMaySucceed = selection{
		func(a *ledger.Account, rank int) bool { return !a.HasFailed(rank) },
		func(a *ledger.Account) int { return a.N - a.FailedCount() },
	}
)

// all reports whether every rank that the rule names is selected. An empty rule never holds.
func (f facts) all(rule v1beta1.FinishRule, selected selection) bool {
	for replicaType, ranks := range rule {
		a := f.ledger.Account(replicaType)
		if a == nil || a.Index < 0 || len(ranks) == 0 && selected.count(a) < a.N {
			return false
		}
		for _, value := range ranks {
			if !selected.holdsFor(a, value) {
				return false
			}
		}
	}
	return len(rule) > 0
}

// holdsFor reports whether one value of a rank list is selected.
func (s selection) holdsFor(a *ledger.Account, value intstr.IntOrString) bool {
	if spec.IsAny(value) {
		return s.count(a) > 0
	}
	rank, err := spec.Rank(value)
	return err == nil && s.has(a, rank)
}

// printRule prints a rule as it was written.
func printRule(rule v1beta1.FinishRule) string {
	text, err := json.Marshal(rule)
	if err != nil {
		return fmt.Sprint(rule)
	}
	return string(text)
}

package kernel

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
	"github.com/genericjob/genericjob/kernel/words"
)

// Rules of spec.failurePolicy. They judge failures before the limits do. What they decide is written like any other outcome, so what has been
// decided stays.

// FailureRule returns the first of some rules that matches a failure of a replica type, and what messages call it; nil if none does.
func FailureRule(rules []v1beta1.FailurePolicyRule, replicaType string, f *v1beta1.ReplicaFailure) (rule *v1beta1.FailurePolicyRule, name string) {
	return failureRule(rules, expressionsOf(rules), replicaType, f)
}

func failureRule(rules []v1beta1.FailurePolicyRule, expressions []*regexp.Regexp, replicaType string, f *v1beta1.ReplicaFailure) (*v1beta1.FailurePolicyRule, string) {
	for i := range rules {
		if matches(&rules[i].Match, expressions[i], replicaType, f) {
			return &rules[i], ruleName(rules, i)
		}
	}
	return nil, ""
}

// expressionsOf are those about messages, nil where a rule has none. To read one takes longer than to match it, and thousands may fail at once. The
// CRD has seen to it that each can be read; a rule whose expression cannot matches nothing.
func expressionsOf(rules []v1beta1.FailurePolicyRule) []*regexp.Regexp {
	list := make([]*regexp.Regexp, len(rules))
	for i := range rules {
		if text := rules[i].Match.Messages; text != "" {
			list[i], _ = regexp.Compile(text)
		}
	}
	return list
}

// ruleName is what messages call a rule.
func ruleName(rules []v1beta1.FailurePolicyRule, i int) string {
	if rules[i].Name != "" {
		return fmt.Sprintf("%q", rules[i].Name)
	}
	return fmt.Sprint(i + 1)
}

func matches(on *v1beta1.FailureMatch, messages *regexp.Regexp, replicaType string, f *v1beta1.ReplicaFailure) bool {
	if len(on.Types) > 0 && !slices.Contains(on.Types, replicaType) {
		return false
	}
	if code := exitCode(f); len(on.ExitCodes) > 0 && (code == nil || !slices.Contains(on.ExitCodes, *code)) {
		return false
	}
	if len(on.Causes) == 0 && on.Messages == "" {
		return true
	}
	return f.Follows == "" && matchesWords(on, messages, f)
}

// exitCode is that of the worker, if its launcher tells it, or else of the container. A shell's code stands for a signal, as in a container.
func exitCode(f *v1beta1.ReplicaFailure) *int32 {
	switch {
	case f.WorkerSignal != "":
		return ptr.To(words.CodeOf(f.WorkerSignal))
	case f.WorkerExitCode != nil:
		return f.WorkerExitCode
	default:
		return f.ExitCode
	}
}

// matchesWords reports whether a rule matches what the words of code say.
func matchesWords(on *v1beta1.FailureMatch, messages *regexp.Regexp, f *v1beta1.ReplicaFailure) bool {
	if len(on.Causes) > 0 && (f.Cause == nil || !slices.Contains(on.Causes, f.Cause.Kind)) {
		return false
	}
	if on.Messages == "" {
		return true
	}
	text := f.Exception
	if text == "" {
		text = f.Message
	}
	return messages != nil && messages.MatchString(text)
}

// applyFailurePolicy has the rules judge the failures of this reconcile.
func (o *outcomes) applyFailurePolicy(job *v1beta1.GenericJob, l *ledger.Ledger) {
	if job.Spec.FailurePolicy == nil {
		return
	}
	rules := job.Spec.FailurePolicy.Rules
	expressions := expressionsOf(rules)
	judge := func(e *end) (*v1beta1.FailurePolicyRule, string) {
		record := e.pod.RecordWithCause()
		return failureRule(rules, expressions, e.account.Type, &record)
	}
	var failed []*end
	for i := range o.ended {
		if e := &o.ended[i]; isFailure(e) && !e.account.Auxiliary {
			failed = append(failed, e)
		}
	}
	if l.WholeJob() {
		judgeTogether(l, failed, judge)
		return
	}
	for _, e := range failed {
		if rule, name := judge(e); rule != nil {
			e.obey(l, rule, name)
		}
	}
}

// judgeTogether judges failures of which one restarts all: the first of them, for all. If no rule matches it and it is final, none restarts because
// of it. Then the next is the first of those that are left, as if it had been seen later.
func judgeTogether(l *ledger.Ledger, failed []*end, judge func(*end) (*v1beta1.FailurePolicyRule, string)) {
	failed = causesFirst(failed)
	for i, first := range failed {
		rule, name := judge(first)
		switch {
		case rule != nil:
			for _, e := range failed[i:] {
				e.obey(l, rule, name)
			}
			return
		case first.allowed:
			return
		}
	}
}

// causesFirst puts the first of some failures first, which are in the order of their ends, and what follows from another last.
func causesFirst(failed []*end) (list []*end) {
	var records []v1beta1.ReplicaFailure
	for _, e := range failed {
		records = append(records, e.pod.Record())
	}
	if len(failed) == 0 {
		return nil
	}
	first, _ := ending.First(records, 0)
	list = append(list, failed[first])
	for _, follows := range []bool{false, true} {
		for i, e := range failed {
			if i != first && follows == (records[i].Follows != "") {
				list = append(list, e)
			}
		}
	}
	return list
}

// obey has a failure be what a rule wants.
func (e *end) obey(l *ledger.Ledger, rule *v1beta1.FailurePolicyRule, name string) {
	e.rule = name
	switch {
	case rule.Action == v1beta1.FailureActionFail:
		e.allowed, e.fails = false, true
	case ptr.Deref(rule.Counts, true):
		e.allowed = l.WithinLimit(e.account, e.rank)
	default:
		e.allowed, e.countsAs = true, ledger.Excepted
	}
}

// putFailing puts those of the final ends first by which a rule fails the job. It returns the name of that rule; "" if none does.
func putFailing(final []end) (failedBy string) {
	slices.SortStableFunc(final, func(a, b end) int {
		switch {
		case a.fails == b.fails:
			return 0
		case a.fails:
			return -1
		default:
			return 1
		}
	})
	if len(final) == 0 || !final[0].fails {
		return ""
	}
	return final[0].rule
}

// failurePolicyFails: a rule of spec.failurePolicy fails the job, by a failure of this reconcile.
func failurePolicyFails(f facts) verdict.Verdict {
	if f.failedBy == "" {
		return verdict.Verdict{}
	}
	message := status.FailurePolicyFails
	if f.failedBy == status.NoProgress {
		message = status.CorrectTheCause
	}
	return verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonFailurePolicy, Message: message, ByFailure: true}
}

package kernel

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
	"github.com/genericjob/genericjob/kernel/words"
)

// Rules of spec.failurePolicy. They judge failures before the limits do. What they decide is written like any other outcome, so what has been
// decided stays.

// FailureRule returns the first of some rules that matches a failure of a replica type, and what messages call it; nil if none does.
func FailureRule(rules []v1beta1.FailurePolicyRule, replicaType string, f *v1beta1.ReplicaFailure) (rule *v1beta1.FailurePolicyRule, name string) {
	for i := range rules {
		if matches(&rules[i].Match, replicaType, f) {
			return &rules[i], ruleName(rules, i)
		}
	}
	return nil, ""
}

// ruleName is what messages call a rule.
func ruleName(rules []v1beta1.FailurePolicyRule, i int) string {
	if rules[i].Name != "" {
		return fmt.Sprintf("%q", rules[i].Name)
	}
	return fmt.Sprint(i + 1)
}

func matches(on *v1beta1.FailureMatch, replicaType string, f *v1beta1.ReplicaFailure) bool {
	if len(on.Types) > 0 && !slices.Contains(on.Types, replicaType) {
		return false
	}
	if code := exitCode(f); len(on.ExitCodes) > 0 && (code == nil || !slices.Contains(on.ExitCodes, *code)) {
		return false
	}
	if len(on.Causes) == 0 && on.Messages == "" {
		return true
	}
	return f.Follows == "" && matchesWords(on, f)
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

// matchesWords reports whether a rule matches what the words of code say. The CRD has seen to it that the expression can be read.
func matchesWords(on *v1beta1.FailureMatch, f *v1beta1.ReplicaFailure) bool {
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
	is, err := regexp.MatchString(on.Messages, text)
	return is && err == nil
}

// applyFailurePolicy has the rules judge the failures of this reconcile. With restartScope Job the first failure is judged, for all.
func (o *outcomes) applyFailurePolicy(job *v1beta1.GenericJob, l *ledger.Ledger) {
	if job.Spec.FailurePolicy == nil {
		return
	}
	first := firstOf(o.ended)
	for i := range o.ended {
		e := &o.ended[i]
		if !isFailure(e) || e.account.Auxiliary {
			continue
		}
		of := e
		if l.WholeJob() && first != nil {
			of = first
		}
		record := of.pod.RecordWithCause()
		if rule, name := FailureRule(job.Spec.FailurePolicy.Rules, of.account.Type, &record); rule != nil {
			o.obey(l, e, rule, name)
		}
	}
}

// obey has a failure be what a rule wants.
func (o *outcomes) obey(l *ledger.Ledger, e *end, rule *v1beta1.FailurePolicyRule, name string) {
	e.rule = name
	switch {
	case rule.Action == v1beta1.FailureActionFail:
		e.allowed, e.fails = false, true
		if o.failedBy == "" {
			o.failedBy = name
		}
	case ptr.Deref(rule.Counts, true):
		e.allowed = l.WithinLimit(e.account, e.rank)
	default:
		e.allowed, e.countsAs = true, ledger.Excepted
	}
}

// failurePolicyFails: a rule of spec.failurePolicy fails the job, by a failure of this reconcile.
func failurePolicyFails(f facts) verdict.Verdict {
	if f.failedBy == "" {
		return verdict.Verdict{}
	}
	return verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonFailurePolicy, Message: status.FailurePolicyFails, ByFailure: true}
}

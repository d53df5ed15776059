package kernel

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// Rules of spec.failurePolicy. They decide about failures before the limits do. What they decide is written like any other outcome. So a later edit of the
// rules does not change it.

// FailureRule returns the first rule that matches a failure of a replica type, and what messages call that rule. It returns nil if none matches.
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

// expressionsOf compiles the expressions for messages, one for each rule; nil for a rule without one. They are compiled once for all failures of a
// reconcile, because thousands of replicas may fail at once. The CRD refuses an expression that does not compile. If one is there all the same, its
// rule matches nothing.
func expressionsOf(rules []v1beta1.FailurePolicyRule) []*regexp.Regexp {
	list := make([]*regexp.Regexp, len(rules))
	for i := range rules {
		if text := rules[i].Match.Messages; text != "" {
			list[i], _ = regexp.Compile(text)
		}
	}
	return list
}

// ruleName returns what messages call a rule: its name in quotes, or its number, from 1.
func ruleName(rules []v1beta1.FailurePolicyRule, i int) string {
	if rules[i].Name != "" {
		return fmt.Sprintf("%q", rules[i].Name)
	}
	return fmt.Sprint(i + 1)
}

func matches(match *v1beta1.FailureMatch, messages *regexp.Regexp, replicaType string, f *v1beta1.ReplicaFailure) bool {
	if len(match.Types) > 0 && !slices.Contains(match.Types, replicaType) {
		return false
	}
	if code := exitCode(f); len(match.ExitCodes) > 0 && (code == nil || !slices.Contains(match.ExitCodes, *code)) {
		return false
	}
	if len(match.Causes) == 0 && match.Messages == "" {
		return true
	}
	return f.Follows == "" && matchesWords(match, messages, f)
}

// exitCode returns the exit code of the worker process, if its launcher tells it, or else that of the container. For a worker that a signal killed it
// is the code that a shell or a container has for that signal.
func exitCode(f *v1beta1.ReplicaFailure) *int32 {
	switch {
	case f.WorkerSignal != "":
		return ptr.To(output.CodeOf(f.WorkerSignal))
	case f.WorkerExitCode != nil:
		return f.WorkerExitCode
	default:
		return f.ExitCode
	}
}

// matchesWords reports whether a rule matches the kind of cause, and the exception or message of a failure.
func matchesWords(match *v1beta1.FailureMatch, messages *regexp.Regexp, f *v1beta1.ReplicaFailure) bool {
	if len(match.Causes) > 0 && (f.Cause == nil || !slices.Contains(match.Causes, f.Cause.Kind)) {
		return false
	}
	if match.Messages == "" {
		return true
	}
	text := f.Exception
	if text == "" {
		text = f.Message
	}
	return messages != nil && messages.MatchString(text)
}

// applyFailurePolicy has the rules decide about the failures of this reconcile.
func (o *outcomes) applyFailurePolicy(job *v1beta1.GenericJob, l *ledger.Ledger) {
	if job.Spec.FailurePolicy == nil {
		return
	}
	rules := job.Spec.FailurePolicy.Rules
	expressions := expressionsOf(rules)
	ruleFor := func(e *end) (*v1beta1.FailurePolicyRule, string) {
		record := e.pod.FailureWithCause()
		return failureRule(rules, expressions, e.account.Type, &record)
	}
	var failed []*end
	for _, e := range o.ended {
		if isFailure(e) && !e.account.Auxiliary {
			failed = append(failed, e)
		}
	}
	if l.RestartsTogether() {
		obeyRuleForFirst(l, failed, ruleFor)
		return
	}
	for _, e := range failed {
		if rule, name := ruleFor(e); rule != nil {
			e.obey(l, rule, name)
		}
	}
}

// obeyRuleForFirst has all failures become what the rule for the first failure asks for, in a job whose replicas restart together. If no rule matches
// the first failure, and it is final, then it restarts nothing. In that case the rules decide about the next failure, as if it had been seen later.
func obeyRuleForFirst(l *ledger.Ledger, failed []*end, ruleFor func(*end) (*v1beta1.FailurePolicyRule, string)) {
	failed = withFirstInFront(failed)
	for i, first := range failed {
		rule, name := ruleFor(first)
		switch {
		case rule != nil:
			for _, e := range failed[i:] {
				e.obey(l, rule, name)
			}
			return
		case first.mayRunAgain: // it restarts all, whatever the others are
			return
		}
	}
}

// withFirstInFront sorts failures, which it gets in the order of their ends. The first failure comes first, then other causes, then what follows from
// another replica's end.
func withFirstInFront(failed []*end) []*end {
	if len(failed) == 0 {
		return nil
	}
	var causes, following []*end
	first := firstRecorded(failed)
	for _, e := range failed {
		switch {
		case e == first:
		case e.pod.Failure().Follows == "":
			causes = append(causes, e)
		default:
			following = append(following, e)
		}
	}
	return slices.Concat([]*end{first}, causes, following)
}

// moveFailingToFront moves the ends by which a rule fails the job to the front of the final ends. It returns the name of the first such rule; "" if
// there is none.
func moveFailingToFront(final []end) (failedBy string) {
	slices.SortStableFunc(final, func(a, b end) int {
		switch {
		case a.failsJob() == b.failsJob():
			return 0
		case a.failsJob():
			return -1
		default:
			return 1
		}
	})
	if len(final) == 0 || !final[0].failsJob() {
		return ""
	}
	return final[0].rule
}

// failurePolicyFails: a rule of spec.failurePolicy fails the job, by a failure of this reconcile.
func failurePolicyFails(f facts) verdict.Verdict {
	if f.failingRule == "" {
		return verdict.Verdict{}
	}
	message := status.FailurePolicyFails
	if f.failingRule == status.NoProgress {
		message = status.CorrectTheCause
	}
	return verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonFailurePolicy, Message: message, ByFailure: true}
}

package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// The defaults as rules. They decide nothing: a test compares them with what Plan does.

// DefaultRule says what becomes of a replica that has ended in some way. As in a failure policy, the first rule that matches decides.
type DefaultRule struct {
	// End says which ends the rule is about.
	End DefaultEnd `json:"end"`
	// RestartPolicy is the one that the replica must have; empty for any.
	RestartPolicy v1beta1.RestartPolicyType `json:"restartPolicy,omitempty"`
	// Does says what becomes of the replica.
	Does DefaultAction `json:"does"`
}

// DefaultEnd is a way in which a replica ends.
type DefaultEnd string

// DefaultAction is what becomes of it then.
type DefaultAction string

// The ends and actions of the defaults.
const (
	endsAuxiliary   DefaultEnd = "an auxiliary replica ends"
	endsUnstarted   DefaultEnd = "something outside ends a pod before its code has started"
	endsByOutside   DefaultEnd = "something outside ends a pod"
	endsWithSuccess DefaultEnd = "code exits with 0"
	endsByRule      DefaultEnd = "code fails, and a rule of failurePolicy matches"
	endsListed      DefaultEnd = "code fails with one of exitCodes"
	endsFailed      DefaultEnd = "code fails"

	thenReplaced  DefaultAction = "it is replaced, and no limit counts that"
	thenRestarted DefaultAction = "it is restarted, which counts; if no restart is left, it has failed for good"
	thenRunsAgain DefaultAction = "it is restarted, which counts; if no restart is left, it has succeeded"
	thenSucceeded DefaultAction = "it has succeeded"
	thenFailed    DefaultAction = "it has failed for good"
	thenByRule    DefaultAction = "the first rule that matches decides"
)

// Defaults returns the rules that decide what becomes of a replica that has ended, in their order.
func Defaults() []DefaultRule {
	return []DefaultRule{
		{endsAuxiliary, "", thenReplaced},
		{endsUnstarted, "", thenReplaced},
		{endsByOutside, v1beta1.RestartNever, thenFailed},
		{endsByOutside, "", thenReplaced},
		{endsWithSuccess, v1beta1.RestartAlways, thenRunsAgain},
		{endsWithSuccess, "", thenSucceeded},
		{endsByRule, "", thenByRule},
		{endsFailed, v1beta1.RestartNever, thenFailed},
		{endsListed, v1beta1.RestartExitCode, thenRestarted},
		{endsFailed, v1beta1.RestartExitCode, thenFailed},
		{endsFailed, "", thenRestarted},
	}
}

// DefaultsText returns the default rules as text, with the default restartPolicy and exitCodes.
func DefaultsText() string {
	var b strings.Builder
	for i, r := range Defaults() {
		fmt.Fprintf(&b, "%2d. %s", i+1, r.End)
		if r.RestartPolicy != "" {
			fmt.Fprintf(&b, ", restartPolicy %s", r.RestartPolicy)
		}
		fmt.Fprintf(&b, ": %s\n", r.Does)
	}
	codes := slices.Sorted(slices.Values(spec.RestartCodes()))
	fmt.Fprintf(&b, "\nrestartPolicy is %s by default, and exitCodes are %s.\n", v1beta1.RestartOnFailure, strings.Trim(strings.ReplaceAll(fmt.Sprint(codes), " ", ", "), "[]"))
	return b.String()
}

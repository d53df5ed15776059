package v1beta1_test

import (
	"testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestFailurePolicy(t *testing.T) {
	rules := func(list ...v1beta1.FailurePolicyRule) edit {
		return spec(func(s *v1beta1.GenericJobSpec) { s.FailurePolicy = &v1beta1.FailurePolicy{Rules: list} })
	}
	rule := func(edit func(*v1beta1.FailurePolicyRule)) edit {
		r := v1beta1.FailurePolicyRule{Match: v1beta1.FailureMatch{ExitCodes: []int32{3}}, Action: v1beta1.FailureActionRestart}
		edit(&r)
		return rules(r)
	}
	on := func(m v1beta1.FailureMatch) edit { return rule(func(r *v1beta1.FailurePolicyRule) { r.Match = m }) }
	codes := func(list ...int32) edit { return on(v1beta1.FailureMatch{ExitCodes: list}) }
	causes := func(list ...v1beta1.CauseKind) edit { return on(v1beta1.FailureMatch{Causes: list}) }
	counts := func(action v1beta1.FailureAction) edit {
		return rule(func(r *v1beta1.FailurePolicyRule) { r.Action, r.Counts = action, new(false) })
	}
	away := func(action v1beta1.FailureAction) edit {
		return rule(func(r *v1beta1.FailurePolicyRule) { r.Action, r.Elsewhere = action, true })
	}
	many := make([]v1beta1.FailurePolicyRule, 21)
	for i := range many {
		many[i] = v1beta1.FailurePolicyRule{Match: v1beta1.FailureMatch{ExitCodes: []int32{3}}, Action: v1beta1.FailureActionFail}
	}
	const steps = "step (?P<step>[0-9]+)"
	noProgress := func(rounds int32, stdout string) edit {
		return spec(func(s *v1beta1.GenericJobSpec) {
			s.FailurePolicy, s.Heartbeat = &v1beta1.FailurePolicy{NoProgress: &v1beta1.NoProgress{Rounds: rounds}}, &v1beta1.Heartbeat{Stdout: stdout}
		})
	}
	preset := func(p v1beta1.ProgressPreset) edit {
		return spec(func(s *v1beta1.GenericJobSpec) {
			s.FailurePolicy, s.Progress = &v1beta1.FailurePolicy{NoProgress: &v1beta1.NoProgress{Rounds: 3}}, &v1beta1.ProgressFormat{Preset: p}
		})
	}
	stdout := func(text string) edit {
		return spec(func(s *v1beta1.GenericJobSpec) {
			s.FailurePolicy, s.Progress = &v1beta1.FailurePolicy{NoProgress: &v1beta1.NoProgress{Rounds: 3}}, &v1beta1.ProgressFormat{Stdout: text}
		})
	}
	types := func(list ...string) edit { return on(v1beta1.FailureMatch{Types: list}) }
	const field = "spec.failurePolicy.rules"
	tryRules(t, job, map[string]ruleCase{
		"something is said":               {rules(many[:20]...), rules(), []string{"spec.failurePolicy", "at least 1 properties"}},
		"it takes two to make a row":      {noProgress(2, steps), noProgress(1, steps), []string{"spec.failurePolicy.noProgress.rounds", "2"}},
		"a row has an end":                {noProgress(100, steps), noProgress(101, steps), []string{"spec.failurePolicy.noProgress.rounds", "100"}},
		"steps are compared":              {noProgress(3, steps), noProgress(3, "step [0-9]+"), []string{"spec.failurePolicy.noProgress", "set progress.stdout to an expression with a group named step"}},
		"a loss is no step":               {stdout(steps), stdout("loss (?P<loss>[0-9.]+)"), []string{"spec.failurePolicy.noProgress", "set progress.stdout to an expression with a group named step"}},
		"an epoch is no step":             {preset(v1beta1.PresetMegatron), preset(v1beta1.PresetKeras), []string{"spec.failurePolicy.noProgress", "the step is the epoch"}},
		"a type is one of the job":        {types("worker"), types("worker", "wrker"), []string{field, "correct the type, or add it"}},
		"there are not too many":          {rules(many[:20]...), rules(many...), []string{field, "20"}},
		"a rule matches something":        {codes(3), on(v1beta1.FailureMatch{}), []string{field + "[0].match", "at least 1 properties"}},
		"a cause is one":                  {causes(v1beta1.CauseHang), causes("Gremlins"), []string{field + "[0].match.causes[0]", "Gremlins", "NotANumber"}},
		"a cause is named once":           {causes(v1beta1.CauseHang), causes(v1beta1.CauseHang, v1beta1.CauseHang), []string{field + "[0].match.causes[1]", "Duplicate"}},
		"success is no failure":           {codes(1), codes(0), []string{field + "[0].match.exitCodes[0]", "1"}},
		"a code has a byte":               {codes(255), codes(256), []string{field + "[0].match.exitCodes[0]", "255"}},
		"words are an expression":         {on(v1beta1.FailureMatch{Messages: "(?i)nan|inf"}), on(v1beta1.FailureMatch{Messages: "nan("}), []string{field + "[0].match.messages", "RE2"}},
		"only a restart can be uncounted": {counts(v1beta1.FailureActionRestart), counts(v1beta1.FailureActionFail), []string{field + "[0].counts", "remove counts, or set action to Restart"}},
		"only a restart goes elsewhere":   {away(v1beta1.FailureActionRestart), away(v1beta1.FailureActionFail), []string{field + "[0].elsewhere", "remove elsewhere, or set action to Restart"}},
		"an action is one":                {counts(v1beta1.FailureActionRestart), counts("Ignore"), []string{field + "[0].action", "Ignore", "Restart"}},
	})
	tryFree(t, job, map[string]edit{"the failure policy": codes(3)})
}

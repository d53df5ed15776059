package v1beta1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestFinishRules(t *testing.T) {
	success := func(rules ...v1beta1.FinishRule) edit {
		return spec(func(s *v1beta1.GenericJobSpec) { s.SuccessRules = rules })
	}
	failure := func(rules ...v1beta1.FinishRule) edit {
		return spec(func(s *v1beta1.GenericJobSpec) { s.FailureRules = rules })
	}
	rule := func(ranks ...intstr.IntOrString) v1beta1.FinishRule { return v1beta1.FinishRule{"worker": ranks} }
	tryRules(t, job, map[string]ruleCase{
		"a success rule names a type": {
			accept: success(v1beta1.FinishRule{"worker": {}}), reject: success(v1beta1.FinishRule{}),
			want: []string{"spec.successRules[0]", "should have at least 1 properties"},
		},
		"a success rule names a type that exists": {
			accept: success(rule(), v1beta1.FinishRule{"ps": nil, "worker": nil}),
			reject: success(rule(), v1beta1.FinishRule{"worker": nil, "chief": nil}),
			want:   []string{"spec.successRules", "each key must be the type of one of spec.replicaSpecs, and not of an auxiliary one: correct the key, or add"},
		},
		"a failure rule names a type that exists": {
			accept: failure(rule()), reject: failure(rule(), v1beta1.FinishRule{"chief": nil}),
			want: []string{"spec.failureRules", "each key must be the type of one of spec.replicaSpecs, and not of an auxiliary one: correct the key, or add"},
		},
		"a rank is a number": {
			accept: success(rule(intstr.FromInt32(0), intstr.FromString("1"))),
			reject: success(rule(intstr.FromInt32(0), intstr.FromString("one"))),
			want:   []string{"spec.successRules[0].worker[1]", `"one"`, "should match '^([0-9]+|any)$'"},
		},
		"a rank is not negative": {
			accept: failure(rule(intstr.FromInt32(0))), reject: failure(rule(intstr.FromInt32(-1))),
			want: []string{"spec.failureRules[0].worker[0]", "-1", "should be greater than or equal to 0"},
		},
		"a rank in quotes is not negative": {
			accept: failure(rule(intstr.FromString("0"))), reject: failure(rule(intstr.FromString("-1"))),
			want: []string{"spec.failureRules[0].worker[0]", `"-1"`, "should match '^([0-9]+|any)$'"},
		},
		"there are at most 1024 rules, each for 16 types": {
			accept: all(types(16), success(manyRules(1024)...), failure(manyRules(1024)...)),
			reject: all(types(16), failure(manyRules(1025)...)),
			want:   []string{"spec.failureRules", "must have at most 1024 items"},
		},
		"a rule names at most 10000 ranks of a type": {
			accept: success(rule(make([]intstr.IntOrString, 10000)...)),
			reject: success(rule(make([]intstr.IntOrString, 10001)...)),
			want:   []string{"spec.successRules[0].worker", "must have at most 10000 items"},
		},
		"success rules name at most 50000 ranks together": {
			accept: success(ranks(5, 10000, 0)...), reject: success(ranks(5, 10000, 1)...),
			want: []string{"spec.successRules", "at most 50000 ranks: an empty list stands for all ranks"},
		},
		"failure rules name at most 50000 ranks together": {
			accept: all(success(ranks(5, 10000, 0)...), failure(ranks(500, 100, 0)...)), reject: failure(ranks(500, 100, 1)...),
			want: []string{"spec.failureRules", "at most 50000 ranks: an empty list stands for all ranks"},
		},
	})
}

// ranks are n rules that name so many ranks each, and one more rule that names the rest, and all ranks of another type.
func ranks(n, each, rest int) []v1beta1.FinishRule {
	var rules []v1beta1.FinishRule
	for range n {
		rules = append(rules, v1beta1.FinishRule{"worker": make([]intstr.IntOrString, each)})
	}
	return append(rules, v1beta1.FinishRule{"worker": make([]intstr.IntOrString, rest), "ps": nil})
}

// manyRules are n rules of the greatest size that the schema allows for a job of types(16).
func manyRules(n int) []v1beta1.FinishRule {
	rules := make([]v1beta1.FinishRule, n)
	for i := range rules {
		rules[i] = v1beta1.FinishRule{}
		for _, s := range job(types(16)).Spec.ReplicaSpecs {
			rules[i][s.Type] = v1beta1.RankList{}
		}
	}
	return rules
}

package why

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/words"
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

// Text is it in a line.
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
		rule, name := kernel.FailureRule(policy.Rules, typeOf(f.GenericJob, r.Pod), r)
		j.Does = does(rule, name, r)
		if rule != nil {
			j.Rule = strings.Trim(name, `"`)
		}
		list = append(list, j)
	}
	return list
}

func does(rule *v1beta1.FailurePolicyRule, name string, r *v1beta1.ReplicaFailure) string {
	switch {
	case rule == nil && r.Follows != "":
		return "no rule matches, for it follows from another's end: causes and messages are of the first failure alone"
	case rule == nil:
		return "no rule matches: restartPolicy and the limits decide"
	case rule.Action == v1beta1.FailureActionFail:
		return fmt.Sprintf("rule %s fails the job", name)
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

// typeOf is the replica type of a pod; "" if it cannot be told.
func typeOf(job *v1beta1.GenericJob, pod string) string {
	if job == nil {
		return ""
	}
	rank, err := strconv.Atoi(pod[strings.LastIndex(pod, "-")+1:]) // the job may have had more replicas then
	if err != nil {
		return ""
	}
	names := spec.NamesOf(job)
	for i := range job.Spec.ReplicaSpecs {
		r := &job.Spec.ReplicaSpecs[i]
		if names.Is(pod, r.Type, rank) || names.Was(pod, r.Type, rank) {
			return r.Type
		}
	}
	return ""
}

// ReadRules reads a failure policy: what stands below failurePolicy in a manifest, or that field with its name. What the CRD checks
// of what rules mean is checked here.
func ReadRules(text []byte) (v1beta1.FailurePolicy, error) {
	var named struct {
		FailurePolicy *v1beta1.FailurePolicy `json:"failurePolicy"`
	}
	policy := v1beta1.FailurePolicy{}
	if err := yaml.UnmarshalStrict(text, &named); named.FailurePolicy != nil {
		if err != nil {
			return policy, err
		}
		policy = *named.FailurePolicy
	} else if err := yaml.UnmarshalStrict(text, &policy); err != nil {
		return policy, fmt.Errorf("want `rules:` with a list, as below failurePolicy in a manifest: %w", err)
	}
	if len(policy.Rules) == 0 {
		return policy, fmt.Errorf("rules is empty: give at least one")
	}
	for i := range policy.Rules {
		if problem := invalid(&policy.Rules[i]); problem != "" {
			return policy, fmt.Errorf("rules[%d]%s", i, problem)
		}
	}
	return policy, nil
}

func invalid(r *v1beta1.FailurePolicyRule) string {
	if r.Action != v1beta1.FailureActionFail && r.Action != v1beta1.FailureActionRestart {
		return fmt.Sprintf(".action is %q: want Fail or Restart", r.Action)
	}
	if r.Action == v1beta1.FailureActionFail && r.Counts != nil {
		return ".counts is about a restart, and action Fail makes none: remove counts, or set action to Restart"
	}
	if r.Action == v1beta1.FailureActionFail && r.Elsewhere {
		return ".elsewhere is about a restart, and action Fail makes none: remove elsewhere, or set action to Restart"
	}
	return invalidMatch(r)
}

func invalidMatch(r *v1beta1.FailurePolicyRule) string {
	if len(r.Match.Causes)+len(r.Match.ExitCodes)+len(r.Match.Types) == 0 && r.Match.Messages == "" {
		return ".match names nothing: set causes, exitCodes, messages or types"
	}
	for _, kind := range r.Match.Causes {
		if !slices.Contains(words.Kinds, string(kind)) {
			return fmt.Sprintf(".match.causes has %q: want some of %s", kind, strings.Join(words.Kinds, ", "))
		}
	}
	for _, code := range r.Match.ExitCodes {
		if code < 1 || code > 255 {
			return fmt.Sprintf(".match.exitCodes has %d: want codes from 1 to 255; 137 stands for SIGKILL", code)
		}
	}
	if _, err := regexp.Compile(r.Match.Messages); err != nil {
		return fmt.Sprintf(".match.messages: %v", err)
	}
	return ""
}

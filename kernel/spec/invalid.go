package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// mostProblems is how many mistakes are told at once.
const mostProblems = 5

// Invalid says what is wrong with the spec that the CRD's validation cannot find, and how to correct it; "" if nothing is. It names all mistakes, up
// to mostProblems. Expander e is for the variables in templates. It may be nil if templates, which may be large, need not be looked at.
func Invalid(job *v1beta1.GenericJob, types []ReplicaType, e *Expander) string {
	if problem := invalidTypes(job, types); problem != "" {
		return problem // the rest is about types
	}
	problems := append(invalidRules(types, "successRules", job.Spec.SuccessRules), invalidRules(types, "failureRules", job.Spec.FailureRules)...)
	problems = append(problems, invalidFailurePolicy(types, job.Spec.FailurePolicy)...)
	if e != nil {
		problems = append(problems, e.invalidVariables(types)...)
	}
	more := ""
	if n := len(problems) - mostProblems; n > 0 {
		problems, more = problems[:mostProblems], fmt.Sprintf("; and %d more", n)
	}
	return strings.Join(problems, "; ") + more
}

// invalidTypes checks numbers and names of types. It repeats checks of the CRD, for clusters whose CRD lacks them: pods with wrong names could not be
// created.
func invalidTypes(job *v1beta1.GenericJob, types []ReplicaType) string {
	if len(types) == 0 {
		return "spec.replicaSpecs is empty: give at least one replica spec"
	}
	seen, decides, all := map[string]bool{}, false, 0
	for _, t := range types {
		if seen[t.Type] {
			return fmt.Sprintf("spec.replicaSpecs: type %q is listed twice: types must be unique", t.Type)
		}
		seen[t.Type] = true
		all += Replicas(job, t.ReplicaSpec)
		decides = decides || !t.Auxiliary
		if n := Replicas(job, t.ReplicaSpec); n < 1 || n > MaxReplicas {
			return fmt.Sprintf("spec.replicaSpecs[%s].replicas is %d: want a number from 1 to %d, or remove the replica spec", t.Type, n, MaxReplicas)
		}
		host := v1beta1.HostName(job.Name, t.Type, t.N-1)
		if errs := validation.IsDNS1123Label(host); len(errs) > 0 {
			return fmt.Sprintf("spec.replicaSpecs[%s]: the host name %q, made of metadata.name, type and rank, is not allowed (%s): change metadata.name or the type",
				t.Type, host, errs[0])
		}
	}
	if all > MaxAllReplicas {
		return fmt.Sprintf("spec.replicaSpecs: the job has %d replicas, and %d are allowed over all types: run fewer in one job", all, MaxAllReplicas)
	}
	if !decides {
		return "spec.replicaSpecs: every type is auxiliary, so that nothing decides how the job ends: add a type that is not"
	}
	return ""
}

func invalidRules(types []ReplicaType, field string, list []v1beta1.FinishRule) (problems []string) {
	for i, rule := range list {
		if len(rule) == 0 {
			problems = append(problems, fmt.Sprintf("spec.%s[%d] is empty: name a replica type and its ranks, as in {\"%s\": [0]}", field, i, types[0].Type))
		}
		for _, replicaType := range slices.Sorted(maps.Keys(rule)) {
			if problem := invalidRanks(types, replicaType, rule[replicaType]); problem != "" {
				problems = append(problems, fmt.Sprintf("spec.%s[%d].%s: %s", field, i, replicaType, problem))
			}
		}
	}
	return problems
}

// invalidFailurePolicy finds types in rules that the job does not have, about whose failures no rule decides. Such a rule would never match, and nobody
// would notice.
func invalidFailurePolicy(types []ReplicaType, p *v1beta1.FailurePolicy) (problems []string) {
	if p == nil {
		return nil
	}
	for i := range p.Rules {
		for _, replicaType := range p.Rules[i].Match.Types {
			if problem := invalidRanks(types, replicaType, nil); problem != "" {
				problems = append(problems, fmt.Sprintf("spec.failurePolicy.rules[%d].match.types: %q: %s", i, replicaType, problem))
			}
		}
	}
	return problems
}

func invalidRanks(types []ReplicaType, replicaType string, ranks v1beta1.RankList) string {
	at := slices.IndexFunc(types, func(t ReplicaType) bool { return t.Type == replicaType })
	if at < 0 || types[at].Auxiliary {
		var names []string
		for _, t := range types {
			if !t.Auxiliary {
				names = append(names, t.Type)
			}
		}
		if at >= 0 {
			return fmt.Sprintf("this type is auxiliary, so that how it ends decides nothing: want one of %v", names)
		}
		return fmt.Sprintf("no replica spec has this type: want one of %v", names)
	}
	for _, v := range ranks {
		if IsAny(v) {
			continue
		}
		rank, err := Rank(v)
		if err != nil {
			return err.Error()
		}
		if n := types[at].N; rank >= n {
			return fmt.Sprintf("rank %d does not exist: ranks of %s go from 0 to %d", rank, replicaType, n-1)
		}
	}
	return ""
}

func (e *Expander) invalidVariables(types []ReplicaType) (problems []string) {
	for _, t := range types {
		added := 0
		EachText(&t.Template.Spec, func(c *corev1.Container, text *string) {
			if added > MaxAdded {
				return // tooLong has been told
			}
			expanded, bad := e.expand(*text, Replica{Type: t.Type}, func(name string) string { return misspelledWord(c, name) })
			if added += max(0, len(expanded)-len(*text)); added > MaxAdded {
				bad = append(bad, tooLong)
			}
			for _, b := range bad {
				problem := fmt.Sprintf("spec.replicaSpecs[%s].template: container %s: %s", t.Type, c.Name, b)
				if len(problems) <= mostProblems && !slices.Contains(problems, problem) { // there may be millions
					problems = append(problems, problem)
				}
			}
		})
	}
	return problems
}

package kernel

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// invalid says what is wrong with the spec that the CRD's own validation cannot tell, and how to mend it; "" if nothing
// is. A generation that was found in order is not looked at again while its pods run or are paused: its templates may be
// large.
func (p *pass) invalid() string {
	if p.settled() && p.status.ObservedGeneration == p.Job.Generation {
		return ""
	}
	checks := []func() string{p.invalidTypes, p.invalidRules, p.invalidVariables}
	if p.settled() {
		checks = checks[:2] // the CRD keeps templates as they are while pods run
	}
	for _, check := range checks {
		if problem := check(); problem != "" {
			return problem
		}
	}
	return ""
}

// settled says whether the job has started, by a spec that the status knows, and its pods are made for the mode that the spec
// wants, or none is wanted.
func (p *pass) settled() bool {
	return p.status.StartTime != nil && !p.edited() && (p.status.Mode == p.wantedMode() || paused(p.Job))
}

// invalidTypes repeats what the CRD's validation says of names, for clusters whose CRD lacks it: pods with these names
// could not be made.
func (p *pass) invalidTypes() string {
	if len(p.tasks) == 0 {
		return "spec.replicaSpecs is empty: give at least one replica spec"
	}
	seen := map[string]bool{}
	for _, t := range p.tasks {
		if seen[t.name] {
			return fmt.Sprintf("spec.replicaSpecs: type %q stands there twice: types must be unique", t.name)
		}
		seen[t.name] = true
		if n := effectiveReplicas(t.spec); n < 1 || n > maxReplicas {
			return fmt.Sprintf("spec.replicaSpecs[%s].replicas is %d: want a number from 1 to %d, or remove the replica spec", t.name, n, maxReplicas)
		}
		host := v1beta1.HostName(p.Job.Name, t.name, t.n-1)
		if errs := validation.IsDNS1123Label(host); len(errs) > 0 {
			return fmt.Sprintf("spec.replicaSpecs[%s]: the host name %q, made of metadata.name, type and rank, is not allowed (%s): change metadata.name or the type",
				t.name, host, errs[0])
		}
	}
	return ""
}

func (p *pass) invalidRules() string {
	if problem := p.invalidRuleList("successRules", p.Job.Spec.SuccessRules); problem != "" {
		return problem
	}
	return p.invalidRuleList("failureRules", p.Job.Spec.FailureRules)
}

func (p *pass) invalidRuleList(field string, list []v1beta1.FinishRule) string {
	for i, rule := range list {
		if len(rule) == 0 {
			return fmt.Sprintf("spec.%s[%d] is empty: name a replica type and its ranks, as in {\"%s\": [0]}", field, i, p.tasks[0].name)
		}
		for _, replicaType := range sortedKeys(rule) {
			if problem := p.invalidRanks(replicaType, rule[replicaType]); problem != "" {
				return fmt.Sprintf("spec.%s[%d].%s: %s", field, i, replicaType, problem)
			}
		}
	}
	return ""
}

func (p *pass) invalidRanks(replicaType string, ranks v1beta1.RankList) string {
	t := p.ledgerOf(replicaType)
	if t.spec == nil {
		return fmt.Sprintf("no replica spec has this type: want one of %s", p.typeNames())
	}
	for _, v := range ranks {
		if isAny(v) {
			continue
		}
		rank, err := rankOf(v)
		if err != nil {
			return err.Error()
		}
		if rank >= t.n {
			return fmt.Sprintf("rank %d does not exist: ranks of %s go from 0 to %d", rank, t.name, t.n-1)
		}
	}
	return ""
}

func (p *pass) invalidVariables() string {
	e := newExpander(p.Job)
	for _, t := range p.tasks {
		pod := &t.spec.Template.Spec
		for _, list := range containerLists(pod) {
			for i := range *list {
				c := &(*list)[i]
				var problem string
				eachText(c, func(text *string) {
					if _, bad := e.expand(*text, t.name, 0); bad != "" && problem == "" {
						problem = bad
					}
				})
				if problem != "" {
					return fmt.Sprintf("spec.replicaSpecs[%s].template: container %s: %s", t.name, c.Name, problem)
				}
			}
		}
	}
	return ""
}

func (p *pass) typeNames() string {
	var names []string
	for _, t := range p.tasks {
		names = append(names, t.name)
	}
	return fmt.Sprint(names)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package kernel

import (
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// successRuleHolds: some success rule names only ranks that have succeeded; without success rules, all ranks have.
func successRuleHolds(p *pass) *verdict {
	for _, rule := range p.successRules() {
		if p.all(rule, selection{of: succeededRanks}) {
			return &verdict{succeed, v1beta1.ReasonSucceeded, succeededMessage}
		}
	}
	return nil
}

// failureRuleHolds: some failure rule names only ranks that failed for good.
func failureRuleHolds(p *pass) *verdict {
	for _, rule := range p.Job.Spec.FailureRules {
		if p.all(rule, selection{of: failedRanks}) {
			return &verdict{fail, v1beta1.ReasonFailed, failedMessage(p.printRule(rule), p.lastFailure())}
		}
	}
	return nil
}

// successUnreachable: every success rule names a rank that failed for good.
func successUnreachable(p *pass) *verdict {
	for _, rule := range p.successRules() {
		if p.all(rule, selection{of: failedRanks, others: true}) {
			return nil
		}
	}
	return &verdict{fail, v1beta1.ReasonSuccessUnreachable, unreachableMessage(p.lastFailure())}
}

// successRules are the job's success rules, or the default: one that names every rank of every type.
func (p *pass) successRules() []v1beta1.FinishRule {
	if len(p.Job.Spec.SuccessRules) > 0 {
		return p.Job.Spec.SuccessRules
	}
	all := v1beta1.FinishRule{}
	for _, t := range p.tasks {
		all[t.name] = nil
	}
	return []v1beta1.FinishRule{all}
}

// selection selects ranks of a type: those of a set, or all others. It counts them without looking at each: there may be
// thousands of rules that ask, for thousands of ranks.
type selection struct {
	of     func(*task) *Ranks
	others bool
}

func succeededRanks(t *task) *Ranks { return &t.succeeded }

func failedRanks(t *task) *Ranks { return &t.failed }

func (s selection) has(t *task, rank int) bool { return s.of(t).Contains(rank) != s.others }

// count relies on the ledger holding no rank that the type does not have; see trim.
func (s selection) count(t *task) int {
	n := s.of(t).Len()
	if s.others {
		n = t.n - n
	}
	return n
}

// all says whether every rank that the rule names is selected. A rule that names nobody holds for nobody.
func (p *pass) all(rule v1beta1.FinishRule, selected selection) bool {
	for replicaType, ranks := range rule {
		t := p.ledgerOf(replicaType)
		if t.spec == nil {
			return false
		}
		if len(ranks) == 0 && selected.count(t) < t.n {
			return false
		}
		for _, value := range ranks {
			if !holdsFor(t, value, selected) {
				return false
			}
		}
	}
	return len(rule) > 0
}

// holdsFor says whether one value of a rank list is selected.
func holdsFor(t *task, value intstr.IntOrString, selected selection) bool {
	if isAny(value) {
		return selected.count(t) > 0
	}
	rank, err := rankOf(value)
	return err == nil && selected.has(t, rank)
}

// isAny says whether a rule leaves it open which rank is meant.
func isAny(v intstr.IntOrString) bool { return v.Type == intstr.String && v.StrVal == v1beta1.AnyRank }

// rankOf reads a rank that a rule names: an integer or a numeric string.
func rankOf(v intstr.IntOrString) (int, error) {
	rank := int(v.IntVal)
	if v.Type == intstr.String {
		n, err := strconv.Atoi(v.StrVal)
		if err != nil {
			return 0, fmt.Errorf("%q is not a rank: want a number", v.StrVal)
		}
		rank = n
	}
	if rank < 0 {
		return 0, fmt.Errorf("%d is not a rank: ranks begin at 0", rank)
	}
	return rank, nil
}

// printRule prints a rule as TensorStack's platform does: as JSON, with the ranks as strings, all of them where the rule
// has an empty list.
func (p *pass) printRule(rule v1beta1.FinishRule) string {
	out := map[string][]string{}
	for replicaType, ranks := range rule {
		out[replicaType] = []string{}
		for _, v := range ranks {
			out[replicaType] = append(out[replicaType], v.String())
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Sprint(out)
	}
	return string(text)
}

package badnodes

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/text"
)

// Condition is a condition of a node that speaks against it.
type Condition struct {
	Type   corev1.NodeConditionType
	Status corev1.ConditionStatus
}

// mostConditions is how many an installation may name. Each has a text in memory for each node that has it.
const mostConditions = 32

// conditionType is what Kubernetes takes as the type of a condition.
var conditionType = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

// ParseConditions reads conditions as in "GpuUnhealthy=True,Ready=Unknown".
func ParseConditions(named string) (list []Condition, err error) {
	for one := range strings.SplitSeq(named, ",") {
		name, status, _ := strings.Cut(one, "=")
		c := Condition{corev1.NodeConditionType(name), corev1.ConditionStatus(status)}
		switch c.Status {
		case corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown:
		default:
			return nil, fmt.Errorf("%q is no condition with its bad status: want a type and True, False or Unknown, as in GpuUnhealthy=True,NetworkReady=False", one)
		}
		if !conditionType.MatchString(name) {
			return nil, fmt.Errorf("%q is no type of a condition: `kubectl describe node` lists those that nodes have; write as in GpuUnhealthy=True", name)
		}
		list = append(list, c)
	}
	if len(list) > mostConditions {
		return nil, fmt.Errorf("%d conditions are named: at most %d are taken", len(list), mostConditions)
	}
	return list, nil
}

// conditionProblem returns the first of the bad conditions that a node has, in the order of the list.
func conditionProblem(node *corev1.Node, bad []Condition) (problem ledger.NodeProblem, ok bool) {
	for _, b := range bad {
		for _, c := range node.Status.Conditions {
			if c.Type == b.Type && c.Status == b.Status {
				return ledger.NodeProblem{Node: node.Name, Reason: v1beta1.AvoidCondition, Message: describe(c)}, true
			}
		}
	}
	return problem, false
}

func describe(c corev1.NodeCondition) string {
	told := fmt.Sprintf("node condition %s=%s", c.Type, c.Status)
	if !c.LastTransitionTime.IsZero() {
		told += " since " + text.Time(c.LastTransitionTime.Time)
	}
	return text.Cut(told, maxMessage)
}

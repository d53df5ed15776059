package kubeflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// member is one replica type of a job.
type member struct {
	name     string // in lower case
	title    string // as Kubeflow's documents spell it
	field    string // the field of the spec that has it
	replicas int32
	spec     *kubeflow.ReplicaSpec
}

// members returns the replica types of a job, in the order of the kind's types. What the CRD refuses is an error here, too.
func (k *kind) members(specs map[string]*kubeflow.ReplicaSpec) ([]member, error) {
	var list []member
	for _, key := range slices.Sorted(maps.Keys(specs)) {
		field := fmt.Sprintf("spec.%s[%s]", k.field, key)
		i := slices.IndexFunc(k.types, func(t string) bool { return strings.EqualFold(t, key) })
		if i < 0 {
			return nil, fmt.Errorf("%s: there is no such type: want one of %s", field, strings.Join(k.types, ", "))
		}
		m := member{name: strings.ToLower(key), title: k.types[i], field: field, spec: specs[key]}
		if slices.ContainsFunc(list, func(o member) bool { return o.name == m.name }) {
			return nil, fmt.Errorf("%s is listed twice, in upper and lower case: keep one of them", field)
		}
		if err := k.check(&m); err != nil {
			return nil, err
		}
		if m.replicas > 0 {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("spec.%s: the job has no replica: set replicas of one type to 1 or more; to stop a job set spec.runPolicy.suspend", k.field)
	}
	slices.SortFunc(list, func(a, b member) int {
		return slices.Index(k.types, a.title) - slices.Index(k.types, b.title)
	})
	return list, nil
}

// check sets the number of replicas, and returns what is wrong with a replica spec.
func (k *kind) check(m *member) error {
	if m.spec == nil {
		return fmt.Errorf("%s is null: give it a template, or remove it", m.field)
	}
	m.replicas = ptr.Deref(m.spec.Replicas, 1)
	if m.replicas < k.minReplicas || m.replicas > maxReplicas {
		return fmt.Errorf("%s.replicas is %d: want a number from %d to %d", m.field, m.replicas, k.minReplicas, maxReplicas)
	}
	if k.container == "" && len(m.spec.Template.Spec.Containers) == 0 {
		return fmt.Errorf("%s.template.spec.containers is empty: what shall the replicas run?", m.field)
	}
	return framework.RequireContainer(m.field, &m.spec.Template, k.trainerName(&m.spec.Template))
}

// trainerName returns the name of the container that trains.
func (k *kind) trainerName(t *corev1.PodTemplateSpec) string {
	if k.container == "" && len(t.Spec.Containers) > 0 {
		return t.Spec.Containers[0].Name
	}
	return k.container
}

func find(list []member, name string) *member {
	i := slices.IndexFunc(list, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// leader returns the type that decides the job, by its replicas or its replica 0: chief, master, launcher or worker; "" without any of them.
func leader(list []member) string {
	for _, name := range []string{chief, master, launcher, worker} {
		if find(list, name) != nil {
			return name
		}
	}
	return ""
}

// failureRules returns failure rules: the job fails when any replica has failed for good, except those of the type except.
func failureRules(list []member, except string) []v1beta1.FinishRule {
	var rules []v1beta1.FinishRule
	for _, m := range list {
		if m.name != except {
			rules = append(rules, v1beta1.FinishRule{m.name: {anyRank}})
		}
	}
	return rules
}

package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestInvalidSaysWhichFieldAndWhatToDo(t *testing.T) {
	n := intstr.FromInt32
	types := func(edit func([]v1beta1.ReplicaSpec) []v1beta1.ReplicaSpec) func(*v1beta1.GenericJobSpec) {
		return func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs = edit(s.ReplicaSpecs) }
	}
	container := func(c corev1.Container, inits ...corev1.Container) func(*v1beta1.GenericJobSpec) {
		return func(s *v1beta1.GenericJobSpec) {
			s.ReplicaSpecs[1].Template.Spec = corev1.PodSpec{Containers: []corev1.Container{c}, InitContainers: inits}
		}
	}
	long := strings.Repeat("x", 60)
	tests := map[string]struct {
		job  *v1beta1.GenericJob
		want string
	}{
		"nothing is wrong": {jobOf(3, successRule(workerRanks(n(2), intstr.FromString("0"), intstr.FromString("any"))),
			failureRule(v1beta1.FinishRule{"ps": nil}), container(corev1.Container{Args: []string{"$(replicas[worker]) $(HOME)"}})), ""},
		"no types": {jobOf(3, types(func([]v1beta1.ReplicaSpec) []v1beta1.ReplicaSpec { return nil })),
			"spec.replicaSpecs is empty: give at least one replica spec"},
		"a type twice": {jobOf(3, types(func(r []v1beta1.ReplicaSpec) []v1beta1.ReplicaSpec { return append(r, r[0]) })),
			`spec.replicaSpecs: type "worker" is listed twice: types must be unique`},
		"no replicas":       {jobOf(0), "spec.replicaSpecs[worker].replicas is 0: want a number from 1 to 10000, or remove the replica spec"},
		"too many replicas": {jobOf(10001), "spec.replicaSpecs[worker].replicas is 10001: want a number from 1 to 10000, or remove the replica spec"},
		"a type that makes no host name": {jobOf(3, func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[1].Type = "Ps" }),
			`spec.replicaSpecs[Ps]: the host name "job-Ps-0", made of metadata.name, type and rank, is not allowed (`},
		"a host name that is too long at its last rank alone": {jobOf(11, func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Type = long[:57] }),
			`spec.replicaSpecs[` + long[:57] + `]: the host name "job-` + long[:57] + `-10", made of metadata.name, type and rank, is not allowed (must be no more than 63 `},
		"a rule that says nothing": {jobOf(3, successRule(workerRanks(n(0))), successRule(v1beta1.FinishRule{})),
			`spec.successRules[1] is empty: name a replica type and its ranks, as in {"worker": [0]}`},
		"a rule of a type that is not there": {jobOf(3, failureRule(v1beta1.FinishRule{"master": nil})),
			"spec.failureRules[0].master: no replica spec has this type: want one of [worker ps]"},
		"a rule about failures of no type": {jobOf(1, func(s *v1beta1.GenericJobSpec) {
			s.FailurePolicy = &v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{{Match: v1beta1.FailureMatch{Types: []string{"worker", "chef"}}, Action: v1beta1.FailureActionFail}}}
		}), `spec.failurePolicy.rules[0].match.types: "chef": no replica spec has this type: want one of [worker ps]`},
		"types are told by name, and always the same": {jobOf(3, failureRule(v1beta1.FinishRule{"c": nil, "b": nil, "ps": nil})),
			"spec.failureRules[0].b: no replica spec has this type: want one of [worker ps]; spec.failureRules[0].c: no replica spec has this type: want one of [worker ps]"},
		"a rank beyond the last": {jobOf(3, successRule(workerRanks(n(3)))), "spec.successRules[0].worker: rank 3 does not exist: ranks of worker go from 0 to 2"},
		"a rank that is none":    {jobOf(3, successRule(workerRanks(intstr.FromString("first")))), `spec.successRules[0].worker: "first" is not a rank: want a number`},
		"success rules come first": {jobOf(3, failureRule(workerRanks(n(8))), successRule(workerRanks(n(9)))),
			"spec.successRules[0].worker: rank 9 does not exist: ranks of worker go from 0 to 2; spec.failureRules[0].worker: rank 8 does not exist: ranks of worker go from 0 to 2"},
		"a variable in a command": {jobOf(3, container(corev1.Container{Name: "main", Command: []string{"sh", "$(replicas[master])"}})),
			`spec.replicaSpecs[ps].template: container main: $(replicas[master]) names type "master": want one of [ps worker]`},
		"a variable in an arg": {jobOf(3, container(corev1.Container{Name: "main", Args: []string{"$(service.port[x])"}})),
			`spec.replicaSpecs[ps].template: container main: $(service.port[x]) needs a port: set spec.service.ports, as in {ports: [{name: x, port: 2222}]}`},
		"a variable in an environment": {jobOf(3, container(corev1.Container{Name: "main", Env: []corev1.EnvVar{{Name: "A", Value: "$(service.ps[0].host)"}}})),
			"spec.replicaSpecs[ps].template: container main: $(service.ps[0].host) needs host names: set spec.service ({} will do)"},
		"a variable in an init container": {jobOf(3, container(corev1.Container{Name: "main"}, corev1.Container{Name: "fetch", Args: []string{"$(replicas[x])"}})),
			`spec.replicaSpecs[ps].template: container fetch: $(replicas[x]) names type "x": want one of [ps worker]`},
		"the first five are told, each once": {jobOf(3, container(corev1.Container{Name: "main", Args: []string{
			"$(replicas[a])", "$(replicas[a])", "$(replica[a])", "$(service.port)", "$(services.a.hosts)", "$(ranks)", "$(rang)"}})),
			strings.Join([]string{`spec.replicaSpecs[ps].template: container main: $(replicas[a]) names type "a": want one of [ps worker]`,
				"spec.replicaSpecs[ps].template: container main: $(replica[a])" + noVariable, "spec.replicaSpecs[ps].template: container main: $(service.port)" + noVariable,
				"spec.replicaSpecs[ps].template: container main: $(services.a.hosts)" + noVariable,
				"spec.replicaSpecs[ps].template: container main: $(ranks) is no variable: do you mean $(rank)? If it is your own, write $(var[ranks])", "and 1 more"}, "; ")},
		"what is a container's own is no mistake": {jobOf(3, container(corev1.Container{Name: "main", Env: []corev1.EnvVar{{Name: "ranks", Value: "3"}},
			Args: []string{"$(ranks) $(RANK) $(date) $(cat x) $(var[rang])"}})), ""},
		"nor is what may come from a ConfigMap": {jobOf(3, container(corev1.Container{Name: "main", EnvFrom: []corev1.EnvFromSource{{}}, Args: []string{"$(ranks)"}})), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Invalid(tc.job, ReplicaTypes(tc.job, false), NewExpander(tc.job, false))
			if open := strings.HasSuffix(tc.want, "(") || strings.HasSuffix(tc.want, " "); open { // then Kubernetes says why
				require.True(t, strings.HasPrefix(got, tc.want), got)
				require.Contains(t, got, "): change metadata.name or the type")
				return
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// A job that runs had no mistakes when it began. If its types are scaled down later, a host name in its template may name a rank that has
// gone. So nobody need look at templates.
func TestWhatIsNoMistakeOfAJobThatRuns(t *testing.T) {
	job := jobOf(1, func(s *v1beta1.GenericJobSpec) {
		s.Service = &v1beta1.ServiceOption{}
		s.ReplicaSpecs[1].Template.Spec.Containers = []corev1.Container{{Name: "main", Args: []string{"$(service.worker[3].host)"}}}
	})
	tests := map[string]struct {
		expander *Expander
		want     string
	}{
		"a job that has not begun cannot reach that rank": {NewExpander(job, false),
			"spec.replicaSpecs[ps].template: container main: $(service.worker[3].host) names rank 3: ranks of worker go from 0 to 0"},
		"one that has begun may have had it":        {NewExpander(job, true), ""},
		"templates are not looked at without a way": {nil, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, Invalid(job, ReplicaTypes(job, false), tc.expander))
		})
	}
	kept := jobOf(1, successRule(workerRanks(intstr.FromInt32(3))))
	require.NotEmpty(t, Invalid(kept, ReplicaTypes(kept, false), nil))
	require.Empty(t, Invalid(kept, ReplicaTypes(kept, true), nil), "a rank that a rule keeps is there")
}

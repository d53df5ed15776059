package kueue

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/kernel/kueue/kueuetest"
)

// assigned is an assignment of the domains b1/r1, b1/r2, and b2/r1.
const assigned = `{levels: [block, rack], slices: [
		{domainCount: 2, valuesPerLevel: [{universal: b1}, {individual: {prefix: r, roots: ["1", "2"]}}], podCounts: {universal: 2}},
		{domainCount: 1, valuesPerLevel: [{individual: {roots: [b2]}}, {individual: {roots: [r], suffix: "1"}}], podCounts: {individual: [1]}}]}`

// workersIn is a Workload of five workers with an assignment.
func workersIn(t *testing.T, assignment string) *unstructured.Unstructured {
	t.Helper()
	w := workload(t, "status: {admission: {clusterQueue: all, podSetAssignments: [{name: ps, count: 1}, {name: worker, count: 5, topologyAssignment: "+assignment+"}]}}")
	w.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	return w
}

// at are pods in the domains; nil for an empty one. A domain without a rack is none: the pod waits at its gate.
func at(domains ...string) (pods []*corev1.Pod) {
	for i, d := range domains {
		var pod *corev1.Pod
		if d != "" {
			pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i)}}
		}
		if block, rack, ok := strings.Cut(d, "/"); ok {
			pod.Spec.NodeSelector = map[string]string{"block": block, "rack": rack, "pool": "spot"}
		}
		pods = append(pods, pod)
	}
	return pods
}

func TestKueueTakesTheAssignmentsOfTheseTests(t *testing.T) {
	require.Empty(t, kueuetest.Problems(t, workersIn(t, assigned), "status", "admission"))
	for want, text := range map[string]string{
		"unknown field podSetAssignments[1].topologyAssignment.slices[0].valuesPerLevel[0].universalValue": `{levels: [rack], slices: [{domainCount: 1, valuesPerLevel: [{universalValue: r}], podCounts: {universal: 1}}]}`,
		"must have length equal to domainCount": `{levels: [rack], slices: [{domainCount: 2, valuesPerLevel: [{universal: r}], podCounts: {individual: [1]}}]}`,
		"podCounts: Required value":             `{levels: [rack], slices: [{domainCount: 1, valuesPerLevel: [{universal: r}]}]}`,
	} {
		require.Contains(t, strings.Join(kueuetest.Problems(t, workersIn(t, text), "status", "admission"), "\n"), want)
	}
}

// Kueue writes what domains have in common once. A pod that waits at its gate, and a node that Kueue has replaced, are no disorder.
func TestPodsThatAreNotInTheOrderOfTheirRanksAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		pods          []*corev1.Pod
		first, second string
	}{
		"in order":                 {pods: at("b1/r1", "b1/r1", "b1/r2", "b1/r2", "b2/r1")},
		"one has finished":         {pods: at("b1/r1", "", "b1/r2", "b1/r2", "b2/r1")},
		"one waits":                {pods: at("b1/r1", "gated", "b1/r2", "b1/r2", "b2/r1")},
		"a node was replaced":      {pods: at("b1/r1", "b1/r9", "b1/r2", "b1/r2", "b2/r1")},
		"none is there":            {},
		"the last is among others": {at("b2/r1", "b1/r1", "b1/r1", "b1/r2", "b1/r2"), "pod-0", "pod-1"},
		"two are exchanged":        {at("b1/r1", "b1/r2", "gated", "b1/r1", "b2/r1"), "pod-1", "pod-3"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := Misplaced(workersIn(t, assigned), "worker", tc.pods)
			if tc.second == "" {
				require.Nil(t, second)
				return
			}
			require.Equal(t, tc.first, first.Name)
			require.Equal(t, tc.second, second.Name)
		})
	}
	_, second := Misplaced(workersIn(t, assigned), "ps", at("b2/r1", "b1/r1"))
	require.Nil(t, second, "it has no topology")
	_, second = Misplaced(nil, "worker", at("b2/r1", "b1/r1"))
	require.Nil(t, second)
}

// Whoever may write Workloads in a namespace writes anything into one.
func TestAnAssignmentThatMakesNoSenseIsNoOrder(t *testing.T) {
	const ranks = `valuesPerLevel: [{universal: b1}, {individual: {roots: [r1, r2]}}]`
	for name, text := range map[string]string{
		"null": `null`, "a text": `x`, "empty": `{}`, "a list": `[]`, "levels alone": `{levels: [block, rack]}`,
		"no levels":           `{slices: [{domainCount: 2, ` + ranks + `}]}`,
		"levels of numbers":   `{levels: [1, 2], slices: [{domainCount: 2, ` + ranks + `}]}`,
		"too many levels":     `{levels: [block, rack` + strings.Repeat(", rack", maxLevels) + `], slices: [{domainCount: 2, ` + ranks + `}]}`,
		"slices are a number": `{levels: [block, rack], slices: 7}`,
		"a slice is a number": `{levels: [block, rack], slices: [7, {domainCount: 2, ` + ranks + `}]}`,
		"a slice is null":     `{levels: [block, rack], slices: [null]}`,
		"no values":           `{levels: [block, rack], slices: [{domainCount: 2}]}`,
		"values are null":     `{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [null, null]}]}`,
		"too few values":      `{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [{universal: b1}]}]}`,
		"too many values":     `{levels: [rack], slices: [{domainCount: 2, ` + ranks + `}]}`,
		"neither":             `{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [{universal: b1}, {}]}]}`,
		"both are null":       `{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [{universal: b1}, {universal: null, individual: null}]}]}`,
		"no roots":            `{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [{universal: b1}, {individual: {prefix: r}}]}]}`,
		"null roots":          `{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [{universal: b1}, {individual: {roots: null}}]}]}`,
		"roots are numbers":   `{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [{universal: b1}, {individual: {prefix: r, roots: [1, 2]}}]}]}`,
		"roots run short":     `{levels: [block, rack], slices: [{domainCount: 2, valuesPerLevel: [{individual: {roots: [b1]}}, {individual: {roots: [r1, r2]}}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, second := Misplaced(workersIn(t, text), "worker", at("b1/r2", "b1/r1"))
			require.Nil(t, second)
		})
	}
	for _, status := range []string{`null`, `x`, `{admission: null}`, `{admission: 7}`, `{admission: {podSetAssignments: {name: worker}}}`, `{admission: {podSetAssignments: [null, 7]}}`} {
		_, second := Misplaced(workload(t, "status: "+status), "worker", at("b1/r2", "b1/r1"))
		require.Nil(t, second, status)
	}
}

// A few bytes of a Workload may stand for very many domains, and for very long ones. No more is read than what is written, and only the
// domains of pods are kept.
func TestReadingAnAssignmentTakesNoMoreThanItsOwnSize(t *testing.T) {
	const many = "{domainCount: 2147483647, valuesPerLevel: [{universal: b1}, {universal: r2}], podCounts: {universal: 1}}, "
	const less = "{domainCount: -1, valuesPerLevel: [{universal: b1}, {universal: r1}], podCounts: {universal: 1}}"
	long, levels, values := strings.Repeat("x", 63), "block, rack", "{universal: b1}, {individual: {roots: [r2, "+strings.Repeat("'', ", 50_000)+"r1]}}"
	for i := 2; i < maxLevels; i++ {
		levels, values = levels+fmt.Sprint(", level", i), values+", {universal: "+long+"}"
	}
	for name, text := range map[string]string{
		"numbers of domains": "{levels: [block, rack], slices: [" + strings.Repeat(many, 999) + less + "]}",
		"universal values":   "{levels: [" + levels + "], slices: [{domainCount: 50002, valuesPerLevel: [" + values + "], podCounts: {universal: 1}}]}",
	} {
		t.Run(name, func(t *testing.T) {
			w, pods := workersIn(t, text), at("b1/r1", "b1/r2")
			for _, pod := range pods {
				for i := 2; i < maxLevels; i++ {
					pod.Spec.NodeSelector[fmt.Sprint("level", i)] = long
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, second := Misplaced(w, "worker", pods)
			runtime.ReadMemStats(&after)
			require.NotNil(t, second)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(10<<20))
		})
	}
	a := topologyAssignment{Levels: []string{"rack"}, Slices: make([]slice, 2)}
	for i, roots := range [][]string{make([]string, maxDomains), {"r1"}} {
		a.Slices[i].ValuesPerLevel = []levelValues{{Individual: &individual{Roots: roots}}}
	}
	require.Empty(t, a.positionsOf(at("b1/r1")), "more domains than a job has replicas")
	a.Slices[0].ValuesPerLevel[0].Individual.Roots = make([]string, maxDomains-1)
	require.Equal(t, map[string]int{"r1\n": maxDomains - 1}, a.positionsOf(at("b1/r1")))
}

func TestWhichNodesKueueHasChosen(t *testing.T) {
	w := workersIn(t, `{levels: [rack, kubernetes.io/hostname], slices: [
		{domainCount: 2, valuesPerLevel: [{universal: r}, {individual: {roots: [a, b]}}], podCounts: {universal: 1}}]}`)
	require.True(t, AssignsTo(w, "b", []string{"ps", "worker"}))
	require.False(t, AssignsTo(w, "b", []string{"ps"}), "nothing is chosen for it")
	require.False(t, AssignsTo(w, "r", []string{"worker"}), "that is a rack")
	require.False(t, AssignsTo(w, "c", []string{"worker"}))
	require.Empty(t, Avoided(nil))
}

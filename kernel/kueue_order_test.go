package kernel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/kueue/kueuetest"
)

// inTwoRacks is the story of a job of three workers that Kueue has admitted to two racks.
func inTwoRacks(t *testing.T) *kt.Story {
	t.Helper()
	story := kt.NewStory(workers(3, inQueue("team", ""), kt.BackoffLimit(9)))
	return story.Then(s, "Kueue admits the job to two racks", func() {
		story.Cluster.Admit()
		assignments, _, _ := unstructured.NestedSlice(story.Cluster.Workload.Object, "status", "admission", "podSetAssignments")
		assignments[0].(map[string]any)["topologyAssignment"] = map[string]any{"levels": []any{"rack"}, "slices": []any{map[string]any{
			"domainCount":    int64(2),
			"valuesPerLevel": []any{map[string]any{"individual": map[string]any{"roots": []any{"a", "b"}}}},
			"podCounts":      map[string]any{"individual": []any{int64(2), int64(1)}},
		}}}
		require.NoError(t, unstructured.SetNestedSlice(story.Cluster.Workload.Object, assignments, "status", "admission", "podSetAssignments"))
	})
}

// What Kueue writes into a Workload elsewhere is here written by hand.
func TestKueueTakesTheWorkloadOfStories(t *testing.T) {
	w := inTwoRacks(t).Cluster.Workload
	require.Empty(t, kueuetest.Problems(t, w, "spec"))
	require.Empty(t, kueuetest.Problems(t, w, "status", "admission"))
}

// Kueue fills domains in any order where it cannot read the ranks, and says nothing of that.
func TestPodsThatDoNotLandInTheOrderOfTheirRanksAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		racks [3]string
		told  bool
	}{
		"in order":     {[3]string{"a", "a", "b"}, false},
		"out of order": {[3]string{"b", "a", "a"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			story := inTwoRacks(t)
			for rank, rack := range tc.racks {
				pod := podOf(story, fmt.Sprint("worker-", rank))
				pod.Spec.NodeSelector["rack"], pod.Spec.SchedulingGates = rack, nil
			}
			story.Kubelet(2*s).Exit(m, "worker", 1, 1).Then(m, "nothing happens", func() {})
			const words = "Kueue has not placed the pods of type worker in the order of their ranks: Pod[worker-0] is in a domain after that of Pod[worker-1]"
			require.Equal(t, tc.told, strings.Contains(story.String(), "warning RanksUnordered: "+words), story.String())
			require.LessOrEqual(t, strings.Count(story.String(), "RanksUnordered"), 1, "once, as long as it runs")

			again := func(rank, rack int) {
				story.Exit(m, "worker", rank, 1).Kubelet(s)
				pod := podOf(story, fmt.Sprint("worker-", rank))
				pod.Spec.NodeSelector["rack"], pod.Spec.SchedulingGates = tc.racks[rack], nil
				story.Kubelet(2*s).Then(m, "nothing happens", func() {})
				require.Equal(t, "True", string(condition(story.Cluster.Job.Status, v1beta1.ConditionRunning).Status), story.String())
			}
			again(1, 1)
			before := strings.Count(story.String(), "RanksUnordered")
			again(2, 2)
			require.Equal(t, before, strings.Count(story.String(), "RanksUnordered"), "it has been told, and these are the same pods: "+story.String())
			again(1, 1)
			require.Equal(t, tc.told, strings.Count(story.String(), "RanksUnordered") > before, story.String())
		})
	}
}

package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/kueue/kueuetest"
)

// admitTo is Kueue's admission of a job of one type to one domain of a topology.
func admitTo(t *testing.T, c *kt.Cluster, level, domain string, count int) func() {
	return func() {
		t.Helper()
		c.Admit()
		assignments, _, _ := unstructured.NestedSlice(c.Workload.Object, "status", "admission", "podSetAssignments")
		assignments[0].(map[string]any)["topologyAssignment"] = map[string]any{"levels": []any{level}, "slices": []any{map[string]any{
			"domainCount":    int64(1),
			"valuesPerLevel": []any{map[string]any{"universal": domain}},
			"podCounts":      map[string]any{"universal": int64(count)},
		}}}
		require.NoError(t, unstructured.SetNestedSlice(c.Workload.Object, assignments, "status", "admission", "podSetAssignments"))
	}
}

// placed has Kueue let the pods go to a node.
func placed(c *kt.Cluster, node string) func() {
	return func() {
		c.NodeNames = []string{node}
		for _, pod := range c.Pods {
			pod.Spec.NodeSelector[corev1.LabelHostname], pod.Spec.SchedulingGates = node, nil
		}
	}
}

// excludes are the nodes that the Workload excludes for all pods.
func excludes(t *testing.T, c *kt.Cluster) (nodes []string) {
	t.Helper()
	require.Empty(t, kueuetest.Problems(t, c.Workload, "spec"))
	sets, _, _ := unstructured.NestedSlice(c.Workload.Object, "spec", "podSets")
	terms, _, _ := unstructured.NestedSlice(sets[0].(map[string]any), "template", "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	for _, term := range terms {
		fields, _, _ := unstructured.NestedSlice(term.(map[string]any), "matchFields")
		for _, f := range fields {
			nodes = append(nodes, f.(map[string]any)["values"].([]any)[0].(string))
		}
	}
	return nodes
}

// A pod is bound to the node that Kueue has chosen for its rank. Only another Workload, which excludes that node, leads to another.
func TestWhereKueueChoosesNodesAJobThatAvoidsOneQueuesAgain(t *testing.T) {
	for _, scope := range []v1beta1.RestartScope{v1beta1.RestartScopeJob, v1beta1.RestartScopeReplica} {
		story := kt.NewStory(workers(2, inQueue("team", ""), kt.BackoffLimit(9), avoiding(v1beta1.AvoidNodes{}), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.RestartScope = scope })))
		c := story.Cluster
		story.Then(s, "Kueue admits the job to n1", admitTo(t, c, corev1.LabelHostname, "n1", 2)).Then(0, "Kueue lets the pods go", placed(c, "n1")).Kubelet(2 * s)
		story.Exit(m, "worker", 0, 17).Kubelet(2*s).Then(0, "Kueue lets the pods go", placed(c, "n1")).Kubelet(2 * s)
		require.Empty(t, excludes(t, c))
		before := c.Workload.GetAnnotations()
		c.NodeNames = append(c.NodeNames, "n2") // else it would be the last node
		story.Exit(m, "worker", 0, 17)
		require.Equal(t, []string{"n1"}, avoids(c.Job), story.String())
		running := condition(c.Job.Status, v1beta1.ConditionRunning)
		require.Equal(t, "Queued", running.Reason, story.String())
		story.Kubelet(5 * s).Kubelet(s)
		require.Equal(t, []string{"n1"}, excludes(t, c), story.String())
		require.NotEqual(t, before, c.Workload.GetAnnotations())
		require.Contains(t, story.String(), "event Queued: Kueue has chosen node n1 for pods of the job, which avoids that node because it has failed there: it queues again in team, for other nodes.")

		// Whatever Kueue makes of it, the job does not queue for ever.
		story.Then(m, "Kueue admits the job to n1 all the same", admitTo(t, c, corev1.LabelHostname, "n1", 2))
		require.Len(t, c.Pods, 2)
		for _, pod := range c.Pods {
			require.Nil(t, pod.Spec.Affinity, "it is bound to the node that Kueue chooses")
		}
		story.Then(0, "Kueue lets the pods go", placed(c, "n1")).Kubelet(2 * s)
		require.Equal(t, v1beta1.JobRunning, c.Job.Status.Phase, story.String())
		require.EqualValues(t, 2, c.Job.Status.BackoffCount, "queueing counts as nothing")
	}
}

// Within a rack the scheduler chooses.
func TestWhereKueueChoosesRacksPodsAvoidNodesThemselves(t *testing.T) {
	story := kt.NewStory(workers(1, inQueue("team", ""), kt.BackoffLimit(9), avoiding(v1beta1.AvoidNodes{After: new(int32(1))})), onNodes("n1", "n2"))
	c := story.Cluster
	ungate := func() { podOf(story, "worker-0").Spec.SchedulingGates = nil }
	story.Then(s, "Kueue admits the job to a rack", admitTo(t, c, "rack", "r1", 1)).Then(0, "Kueue lets the pod go", ungate).Kubelet(2 * s)
	story.Exit(m, "worker", 0, 17)
	require.Equal(t, []string{"n1"}, avoids(c.Job))
	require.False(t, kt.Allows(podOf(story, "worker-0"), "n1"), story.String())
	story.Then(0, "Kueue lets the pod go", ungate).Kubelet(2 * s)
	require.Equal(t, "n2", podOf(story, "worker-0").Spec.NodeName)
	require.Empty(t, excludes(t, c))
}

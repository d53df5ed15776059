package kernel_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

const xid = "node condition GpuXid79=True since 2026-01-01T00:00:00Z"

// sick is a node with a condition.
func sick(node string) kernel.NodeProblem {
	return kernel.NodeProblem{Node: node, Reason: v1beta1.AvoidCondition, Message: xid}
}

// others is what other jobs tell of a node.
func others(node string, reason v1beta1.AvoidReason, at ...time.Duration) kernel.NodeProblem {
	f := kernel.NodeProblem{Node: node, Reason: reason, Message: "in job x: it failed"}
	for _, t := range at {
		f.Times = append(f.Times, metav1.NewTime(kt.At(t)))
	}
	return f
}

// given is a plan for a job, of which no pod has failed lately, with what else speaks against nodes.
func given(t *testing.T, job *v1beta1.GenericJob, now time.Duration, faults ...kernel.NodeProblem) kernel.Decision {
	t.Helper()
	return planWorld(t, kernel.World{
		Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running, onNode("good"))}, Now: kt.At(now), NodeCount: 9, NodeProblems: faults, Settings: kt.Settings,
	})
}

func TestFaultsThatAJobHasNotSeenItself(t *testing.T) {
	const h = time.Hour
	failed, rejected, lost := v1beta1.AvoidFailed, v1beta1.AvoidRejected, v1beta1.AvoidLost
	after1, most2 := v1beta1.AvoidNodes{After: new(int32(1))}, v1beta1.AvoidNodes{AtMost: new(int32(2))}
	for name, tc := range map[string]struct {
		policy v1beta1.AvoidNodes
		own    []string // on which the job has failed, at 0, 20 and 40 minutes
		faults []kernel.NodeProblem
		want   []string
	}{
		"a node with a condition is avoided":              {v1beta1.AvoidNodes{}, nil, []kernel.NodeProblem{sick("a")}, []string{"a"}},
		"... as many as the breaker lets":                 {v1beta1.AvoidNodes{}, nil, []kernel.NodeProblem{sick("a"), sick("b")}, []string{"a"}},
		"... or the policy":                               {most2, nil, []kernel.NodeProblem{sick("a"), sick("b"), sick("c")}, []string{"a", "b"}},
		"what is avoided already stays":                   {v1beta1.AvoidNodes{}, []string{"z", "z"}, []kernel.NodeProblem{sick("a")}, []string{"z"}},
		"a condition comes before failures":               {after1, nil, []kernel.NodeProblem{sick("b"), others("a", failed, h)}, []string{"b"}},
		"nothing is avoided by who avoids nothing":        {v1beta1.AvoidNodes{AtMost: new(int32(0))}, []string{"a", "a"}, []kernel.NodeProblem{sick("a"), others("a", failed, h, h)}, []string{}},
		"one failure of another job is too few":           {v1beta1.AvoidNodes{}, nil, []kernel.NodeProblem{others("a", failed, h)}, []string{}},
		"one of its own and one of another are enough":    {v1beta1.AvoidNodes{}, []string{"a"}, []kernel.NodeProblem{others("a", failed, h)}, []string{"a"}},
		"... but not of another node":                     {v1beta1.AvoidNodes{}, []string{"b"}, []kernel.NodeProblem{others("a", failed, h)}, []string{}},
		"two of others are enough":                        {v1beta1.AvoidNodes{}, nil, []kernel.NodeProblem{others("a", rejected, h, 90*time.Minute)}, []string{"a"}},
		"a failure and a loss are two":                    {v1beta1.AvoidNodes{}, nil, []kernel.NodeProblem{others("a", failed, 0), others("a", lost, 90*time.Minute)}, []string{"a"}},
		"a loss that three jobs tell of is one":           {v1beta1.AvoidNodes{}, nil, []kernel.NodeProblem{others("a", lost, h, h+time.Minute, h+59*time.Minute)}, []string{}},
		"two losses are two":                              {v1beta1.AvoidNodes{}, nil, []kernel.NodeProblem{others("a", lost, 0, h)}, []string{"a"}},
		"a loss that the job has recorded, too, is one":   {v1beta1.AvoidNodes{}, []string{"a"}, []kernel.NodeProblem{others("a", lost, 59*time.Minute)}, []string{}},
		"the job's own loss is another if it is long ago": {v1beta1.AvoidNodes{}, []string{"a"}, []kernel.NodeProblem{others("a", lost, h)}, []string{"a"}},
		"lost nodes that are forged keep it from one":     {after1, nil, []kernel.NodeProblem{others("a", lost, h), others("b", lost, h), others("c", lost, h)}, []string{"a"}},
		"what is too long ago does not count":             {v1beta1.AvoidNodes{Within: "1h"}, nil, []kernel.NodeProblem{others("a", failed, h, 90*time.Minute)}, []string{}},
		"nor does what a clock of next year has recorded": {v1beta1.AvoidNodes{}, nil, []kernel.NodeProblem{others("a", failed, 9999*h, 9999*h)}, []string{}},
	} {
		job := failing(t, endless(tc.policy), 9, tc.own...)
		require.Equal(t, tc.want, avoids(after(job, given(t, job, 2*h, tc.faults...))), name)
	}
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	require.Empty(t, avoids(after(job, given(t, job, h, sick("a"), others("a", failed, 0, 1)))), "a job without avoidNodes avoids nothing")
	job = endless(v1beta1.AvoidNodes{AtMost: new(int32(9))})
	w := kernel.World{Job: job, Now: kt.At(h), NodeCount: 2, NodeProblems: []kernel.NodeProblem{sick("a"), sick("b")}, Settings: kt.Settings}
	require.Equal(t, []string{"a"}, avoids(after(job, planWorld(t, w))), "the last node stays")
}

func TestAnAvoidedNodeSaysWhichCondition(t *testing.T) {
	job := endless(v1beta1.AvoidNodes{})
	d := given(t, job, time.Hour, sick("a"))
	n := d.Status.AvoidedNodes[0]
	require.Equal(t, v1beta1.AvoidedNode{Node: "a", Reason: v1beta1.AvoidCondition, Message: xid, Since: metav1.NewTime(kt.At(time.Hour))}, n)
	require.Equal(t, []string{"New pods avoid node a as long as this lasts: " + xid + "."}, messages(d, v1beta1.ReasonNodeAvoided))
	require.Equal(t, []string{"a"}, eventNodes(d, v1beta1.ReasonNodeAvoided), "events about other nodes are not counted as this one")
	require.Empty(t, d.Actions, "a pod that runs there stays")
	job = after(job, d)
	require.False(t, kt.Allows(kt.Pod(job, "worker", 0), "a"))

	d = given(t, job, 2*time.Hour, sick("a"))
	require.Equal(t, job.Status, d.Status, "nothing is written where nothing changes")
	w := kernel.World{Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, unschedulable)}, Now: kt.At(3 * time.Hour), NodeCount: 9, NodeProblems: []kernel.NodeProblem{sick("a")}, Settings: kt.Settings}
	require.Equal(t, kernel.LostInterval, planWorld(t, w).RequeueAfter, "a pod that waits is looked at again")
	w.NodeProblems = nil
	d = planWorld(t, w)
	require.Equal(t, []string{"StopPod worker-0"}, did(d), "it need not avoid the node any more")
	require.Empty(t, d.Status.AvoidedNodes)
}

// A node that is lost, too, is no longer looked at for that: the condition keeps pods off.
func TestANodeWithAConditionMayBeBackFromALoss(t *testing.T) {
	job := endless(v1beta1.AvoidNodes{})
	job = after(job, given(t, job, time.Hour, sick("a")))
	d := planWorld(t, kernel.World{Job: job, Now: kt.At(2 * time.Hour), NodeCount: 9, NodeProblems: []kernel.NodeProblem{sick("a")}, Nodes: map[string]podstate.Node{"a": {Answers: true}}, Settings: kt.Settings})
	require.Equal(t, []string{"a"}, avoids(after(job, d)))
}

func TestAnAvoidedNodeSaysWhatOtherJobsSaw(t *testing.T) {
	job := failing(t, endless(v1beta1.AvoidNodes{Within: "4h"}), 9, "a")
	d := given(t, job, 2*time.Hour, others("a", v1beta1.AvoidFailed, time.Hour))
	n := d.Status.AvoidedNodes[0]
	require.Equal(t, v1beta1.AvoidFailed, n.Reason)
	require.EqualValues(t, 2, n.Failures)
	require.True(t, n.Until.Equal(&metav1.Time{Time: kt.At(4 * time.Hour)}), "then its own failure does not count any more")
	require.Contains(t, messages(d, v1beta1.ReasonNodeAvoided)[0], "It had 2 failures within 4h; the last: in job x: it failed.")
	require.Equal(t, job.Status.NodeFailures, d.Status.NodeFailures, "what others tell is not the job's to tell again")
	job = after(job, d)
	require.Empty(t, avoids(after(job, given(t, job, 3*time.Hour))), "they take it back")
}

// What is told of a node stops no pod that runs there, not even where Kueue has chosen the node.
func TestWhereKueueHasChosenNodesOnlyTheJobsOwnFailuresGiveQuotaBack(t *testing.T) {
	story := kt.NewStory(workers(2, inQueue("team", ""), kt.BackoffLimit(9), avoiding(v1beta1.AvoidNodes{})))
	c := story.Cluster
	story.Then(s, "Kueue admits the job to n1", admitTo(t, c, corev1.LabelHostname, "n1", 2)).Then(0, "Kueue lets the pods go", placed(c, "n1")).Kubelet(2 * s)
	job := c.Job
	w := kernel.World{Job: job, Pods: slices.Collect(maps.Values(c.Pods)), Kueue: c.Kueue(), Now: c.Now, NodeCount: 9, NodeProblems: []kernel.NodeProblem{sick("n1")}, Settings: kt.Settings}
	d := planWorld(t, w)
	require.Equal(t, []string{"n1"}, avoids(after(job, d)))
	require.Empty(t, d.Actions)
	require.Equal(t, job.Status.Phase, d.Status.Phase)
}

func TestTheOperatorsDefaultHoldsForJobsThatSayNothing(t *testing.T) {
	settings := kt.Settings
	settings.AvoidNodes = &v1beta1.AvoidNodes{After: new(int32(1))}
	for name, tc := range map[string]struct {
		job  *v1beta1.GenericJob
		want []string
	}{
		"it holds":             {kt.Job(kt.Type("worker", 1), kt.BackoffLimit(99), kt.Begun), []string{"a"}},
		"the job's own counts": {endless(v1beta1.AvoidNodes{}), []string{}},
		"a job says no":        {endless(v1beta1.AvoidNodes{AtMost: new(int32(0))}), []string{}},
	} {
		before := tc.job.DeepCopy()
		d := planWorld(t, kernel.World{
			Job: tc.job, Pods: []*corev1.Pod{kt.Pod(tc.job, "worker", 0, kt.ExitedAt(17, kt.At(time.Minute)), onNode("a"))}, Now: kt.At(time.Minute), NodeCount: 9, Settings: settings,
		})
		require.Equal(t, tc.want, avoids(after(tc.job, d)), name)
		require.Equal(t, before, tc.job, "the job is not changed")
	}
}

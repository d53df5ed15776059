package kernel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/build"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// avoiding has a job avoid nodes.
func avoiding(a v1beta1.AvoidNodes) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.AvoidNodes = &a })
}

// onNodes has a story's cluster have nodes.
func onNodes(names ...string) func(*kt.Story) {
	return func(s *kt.Story) { s.Cluster.NodeNames = names }
}

// on puts a pod on a node.
func onNode(name string) kt.PodOption { return func(p *corev1.Pod) { p.Spec.NodeName = name } }

// failing is the life of a job whose first replica fails again and again, each time on the next of some nodes.
func failing(t *testing.T, job *v1beta1.GenericJob, there int, nodes ...string) *v1beta1.GenericJob {
	t.Helper()
	for i, node := range nodes {
		now := kt.At(time.Duration(i) * 20 * time.Minute)
		job = after(job, planWorld(t, kernel.World{
			Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(17, now), onNode(node))}, Now: now, NodeCount: there, Settings: kt.Settings,
		}))
	}
	return job
}

// avoids are the nodes that a job avoids.
func avoids(job *v1beta1.GenericJob) []string {
	out := []string{}
	for _, n := range job.Status.AvoidedNodes {
		out = append(out, n.Node)
	}
	return out
}

func endless(a v1beta1.AvoidNodes) *v1beta1.GenericJob {
	return kt.Job(kt.Type("worker", 1), kt.BackoffLimit(99), kt.Begun, avoiding(a))
}

func TestANodeIsAvoidedAfterAsManyFailuresAsThePolicySays(t *testing.T) {
	for name, tc := range map[string]struct {
		policy v1beta1.AvoidNodes
		there  int
		nodes  []string
		want   []string
	}{
		"one failure is none too many":             {v1beta1.AvoidNodes{}, 9, []string{"a"}, []string{}},
		"two are":                                  {v1beta1.AvoidNodes{}, 9, []string{"a", "a"}, []string{"a"}},
		"on two nodes they are not":                {v1beta1.AvoidNodes{}, 9, []string{"a", "b"}, []string{}},
		"the policy says how many":                 {v1beta1.AvoidNodes{After: new(int32(1))}, 9, []string{"a"}, []string{"a"}},
		"... or more":                              {v1beta1.AvoidNodes{After: new(int32(3))}, 9, []string{"a", "a"}, []string{}},
		"code that fails everywhere avoids one":    {v1beta1.AvoidNodes{}, 9, []string{"a", "a", "b", "b", "c", "c"}, []string{"a"}},
		"... or as many as the policy says":        {v1beta1.AvoidNodes{AtMost: new(int32(2))}, 9, []string{"a", "a", "b", "b", "c", "c"}, []string{"a", "b"}},
		"the last node stays":                      {v1beta1.AvoidNodes{AtMost: new(int32(9))}, 2, []string{"a", "a", "b", "b"}, []string{"a"}},
		"the only node is never avoided":           {v1beta1.AvoidNodes{}, 1, []string{"a", "a", "a"}, []string{}},
		"how many nodes there are may be unknown":  {v1beta1.AvoidNodes{}, 0, []string{"a", "a"}, []string{"a"}},
		"what is too long ago does not count":      {v1beta1.AvoidNodes{Within: "20m"}, 9, []string{"a", "a"}, []string{}},
		"what is not too long ago does":            {v1beta1.AvoidNodes{Within: "20m1s"}, 9, []string{"a", "a"}, []string{"a"}},
		"a policy that cannot be read has default": {v1beta1.AvoidNodes{Within: "never"}, 9, []string{"a", "a"}, []string{"a"}},
	} {
		require.Equal(t, tc.want, avoids(failing(t, endless(tc.policy), tc.there, tc.nodes...)), name)
	}
	job := kt.Job(kt.Type("worker", 1), kt.BackoffLimit(99), kt.Begun)
	job = failing(t, job, 9, "a", "a", "a")
	require.Empty(t, avoids(job), "no job avoids nodes that does not say so")
	require.Empty(t, job.Status.NodeFailures)
}

func TestAvoidedNodesSayWhyAndUntilWhen(t *testing.T) {
	job := endless(v1beta1.AvoidNodes{Within: "1h"})
	job = failing(t, job, 9, "a")
	now := kt.At(20 * time.Minute)
	w := kernel.World{Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(17, now), saying("Xid 79"), onNode("a"))}, Now: now, NodeCount: 9, Settings: kt.Settings}
	d := planWorld(t, w)
	require.Len(t, d.Status.AvoidedNodes, 1)
	n := d.Status.AvoidedNodes[0]
	require.Equal(t, v1beta1.AvoidFailed, n.Reason)
	require.EqualValues(t, 2, n.Failures)
	require.True(t, n.Since.Equal(&metav1.Time{Time: now}))
	require.True(t, n.Until.Equal(&metav1.Time{Time: kt.At(time.Hour)}), "then the first failure does not count any more")
	require.Contains(t, n.Message, `exited with error code 17, last output: "Xid 79"`)
	require.Contains(t, messages(d, v1beta1.ReasonNodeAvoided)[0], "New pods avoid node a until 2026-01-01T01:00:00Z. It had 2 failures within 1h; the last: Pod[")

	job = after(job, d)
	pod := kt.Pod(job, "worker", 0)
	require.False(t, kt.Allows(pod, "a"))
	require.True(t, kt.Allows(pod, "b"))
	d = plan(t, job, kt.At(59*time.Minute), kt.Pod(job, "worker", 0, kt.Running, onNode("b")))
	require.Equal(t, []string{"a"}, avoids(after(job, d)))
	require.Empty(t, messages(d, v1beta1.ReasonNodeAvoided), "it is told once")
	d = plan(t, job, kt.At(time.Hour), kt.Pod(job, "worker", 0, kt.Running, onNode("b")))
	require.Empty(t, d.Status.AvoidedNodes, "what fades is forgotten")
	require.True(t, kt.Allows(kt.Pod(after(job, d), "worker", 0), "a"))
}

// messages are those of events with a reason.
func messages(d kernel.Decision, reason string) (list []string) {
	for _, e := range d.Events {
		if e.Reason == reason {
			list = append(list, e.Message)
		}
	}
	return list
}

// eventNodes are the nodes of which events with a reason tell.
func eventNodes(d kernel.Decision, reason string) (nodes []string) {
	for _, e := range d.Events {
		if e.Reason == reason {
			nodes = append(nodes, e.Node)
		}
	}
	return nodes
}

func TestTheBreakerIsTold(t *testing.T) {
	job := failing(t, endless(v1beta1.AvoidNodes{}), 9, "a", "a", "b")
	now := kt.At(time.Hour)
	d := planWorld(t, kernel.World{Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(1, now), onNode("b"))}, Now: now, NodeCount: 9, Settings: kt.Settings})
	require.Contains(t, messages(d, v1beta1.ReasonNodeNotAvoided)[0], "New pods do not avoid node b, which had 2 failures: the job avoids node a already, and spec.avoidNodes.atMost is 1.")
	require.Equal(t, []string{"b"}, eventNodes(d, v1beta1.ReasonNodeNotAvoided))
	first := slices.IndexFunc(d.Events, func(e kernel.Event) bool { return e.Reason == v1beta1.ReasonNodeNotAvoided })
	require.Equal(t, 2, d.Events[first].Attempt, "a third failure is another event: a recorder keeps the note of the first of those that are alike")
	job = failing(t, endless(v1beta1.AvoidNodes{}), 1, "a")
	d = planWorld(t, kernel.World{Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(1, now), onNode("a"))}, Now: now, NodeCount: 1, Settings: kt.Settings})
	require.Contains(t, messages(d, v1beta1.ReasonNodeNotAvoided)[0], "no other node would be left")
}

func TestALostNodeIsAvoidedFromTheFirstCreateUntilItAnswers(t *testing.T) {
	lost := map[string]podstate.Node{"a": {SilentSince: kt.Start}}
	for name, options := range map[string][]kt.JobOption{
		"avoidNodes": {avoiding(v1beta1.AvoidNodes{})},
		"nodeLost":   {kt.Spec(func(s *v1beta1.GenericJobSpec) { s.NodeLost = &v1beta1.NodeLost{AfterSeconds: 30} })},
		"neither":    nil,
	} {
		job := kt.Job(append([]kt.JobOption{kt.Type("worker", 2), kt.BackoffLimit(0), kt.Begun}, options...)...)
		pods := []*corev1.Pod{
			kt.Pod(job, "worker", 0, kt.Running, onNode("a"), kt.Deleted(kt.Start, time.Second), kt.Marked),
			kt.Pod(job, "worker", 1, kt.Running, onNode("a"), kt.Deleted(kt.Start, time.Second), kt.Marked),
		}
		w := kernel.World{Job: job, Pods: pods, Nodes: lost, Now: kt.At(10 * time.Minute), NodeCount: 9, Settings: kt.Settings}
		job = after(job, planWorld(t, w))
		if name == "neither" {
			require.Empty(t, avoids(job))
			continue
		}
		require.Equal(t, []string{"a"}, avoids(job), name)
		require.Equal(t, v1beta1.AvoidLost, job.Status.AvoidedNodes[0].Reason)
		require.Nil(t, job.Status.AvoidedNodes[0].Until)
		require.False(t, kt.Allows(kt.Pod(job, "worker", 0), "a"), name)
		w.Job, w.Now = job, kt.At(time.Hour)
		again := after(job, planWorld(t, w))
		require.Equal(t, []string{"a"}, avoids(again), "it is still lost")
		require.LessOrEqual(t, len(again.Status.NodeFailures), 1)
		for _, n := range again.Status.NodeFailures {
			require.Len(t, n.Times, 1, "one loss counts once")
		}
		w.Job, w.Pods, w.Nodes = again, nil, map[string]podstate.Node{"a": {Answers: true}}
		require.Empty(t, avoids(after(again, planWorld(t, w))), name)
	}
}

// unschedulable is what the scheduler says of a pod that no node takes.
func unschedulable(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available"}}
}

func TestAPodThatOnlyAnAvoidedNodeTakesSaysSoAndIsMadeAgainWhenThatFades(t *testing.T) {
	job := failing(t, endless(v1beta1.AvoidNodes{Within: "1h"}), 9, "a", "a")
	pod := kt.Pod(job, "worker", 0, unschedulable)
	d := plan(t, job, kt.At(30*time.Minute), pod)
	require.Contains(t, condition(d.Status, v1beta1.ConditionReplicaFailure).Message, "(the job avoids node a: status.avoidedNodes says why, and until when. To use all nodes again, set spec.avoidNodes.atMost to 0)")
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, "avoids node a")
	job = after(job, d)
	d = plan(t, job, kt.At(31*time.Minute), pod)
	require.Equal(t, 29*time.Minute, d.RequeueAfter, "it is looked at when the node need not be avoided any more")
	require.Empty(t, d.Actions)

	require.Equal(t, []string{"StopPod worker-0"}, did(plan(t, job, kt.At(time.Hour), pod)))
	edited := kt.Edited(job, kt.Spec(func(s *v1beta1.GenericJobSpec) { s.AvoidNodes = nil }))
	d = plan(t, edited, kt.At(32*time.Minute), pod)
	require.Equal(t, []string{"StopPod worker-0"}, did(d), "a user need not wait")
	require.Empty(t, d.Status.AvoidedNodes)
	require.Empty(t, d.Status.NodeFailures)
}

func TestTheUsersOwnAffinityStays(t *testing.T) {
	zone := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"1"}}
	not := func(node string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}}
	}
	required := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	for name, tc := range map[string]struct{ has, want *corev1.Affinity }{
		"none": {nil, required(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{not("a"), not("b")}})},
		"each of two terms": {
			required(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{zone}}, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{not("c")}}),
			required(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{zone}, MatchFields: []corev1.NodeSelectorRequirement{not("a"), not("b")}},
				corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{not("c"), not("a"), not("b")}}),
		},
		"a term that matches nothing does so still": {required(corev1.NodeSelectorTerm{}), required(corev1.NodeSelectorTerm{})},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: tc.has.DeepCopy()}}
		build.Avoid(pod, []string{"a", "b"})
		require.Equal(t, tc.want, pod.Spec.Affinity, name)
		require.Equal(t, []string{"a", "b"}, build.Avoided(pod))
	}
	for _, pinned := range []corev1.PodSpec{{NodeName: "a"}, {NodeSelector: map[string]string{corev1.LabelHostname: "a"}}} {
		pod := &corev1.Pod{Spec: *pinned.DeepCopy()}
		build.Avoid(pod, []string{"a"})
		require.Equal(t, pinned, pod.Spec, "who names a node can go nowhere else")
		require.Empty(t, build.Avoided(pod))
	}
	pods := &corev1.PodAffinity{}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAffinity: pods}}}
	build.Avoid(pod, []string{"a"})
	require.Equal(t, pods, pod.Spec.Affinity.PodAffinity)
}

func TestWhatIsKnownOfNodesIsBounded(t *testing.T) {
	long := strings.Repeat("n", 253)
	nodes := []string{long, long}
	for i := range 40 {
		nodes = append(nodes, fmt.Sprintf("n%d", i))
	}
	for range 40 {
		nodes = append(nodes, "again")
	}
	job := failing(t, endless(v1beta1.AvoidNodes{Within: "8760h"}), 1000, nodes...)
	require.Len(t, job.Status.NodeFailures, 16)
	require.Equal(t, []string{long}, avoids(job), "what is avoided is not forgotten for what is not")
	for _, n := range job.Status.NodeFailures {
		require.LessOrEqual(t, len(n.Times), 10)
	}
}

// Whether a job runs, is paused, scaled or resumed: what it knows of nodes stays, and nothing is written where nothing changes.
func TestAQuietJobThatAvoidsANodeWritesNothing(t *testing.T) {
	job := failing(t, endless(v1beta1.AvoidNodes{}), 9, "a", "a")
	pod := kt.Pod(job, "worker", 0, kt.Running, onNode("b"))
	job = after(job, plan(t, job, kt.At(time.Hour), pod))
	for _, now := range []time.Duration{2 * time.Hour, 5 * time.Hour, 23 * time.Hour} {
		require.Equal(t, job.Status, plan(t, job, kt.At(now), pod).Status)
	}
	paused := kt.Edited(job, kt.PauseNow(true))
	d := plan(t, paused, kt.At(3*time.Hour), pod)
	require.Equal(t, []string{"a"}, avoids(after(paused, d)))
	resumed := kt.Edited(after(paused, plan(t, after(paused, d), kt.At(4*time.Hour))), kt.PauseNow(false), kt.Replicas("worker", 3))
	d = plan(t, resumed, kt.At(5*time.Hour))
	require.Equal(t, []string{"a"}, avoids(after(resumed, d)))
	require.False(t, kt.Allows(kt.Pod(after(resumed, d), "worker", 2), "a"))
}

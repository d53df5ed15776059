package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// elsewhere has a rule about some exit codes send replicas elsewhere.
func elsewhere(codes ...int32) kt.JobOption {
	return failureRules(v1beta1.FailurePolicyRule{Match: v1beta1.FailureMatch{ExitCodes: codes}, Action: v1beta1.FailureActionRestart, Elsewhere: true})
}

func TestARuleSendsReplicasElsewhereAtOnce(t *testing.T) {
	var three, nine int32 = 3, 9
	for name, tc := range map[string]struct {
		policy *v1beta1.AvoidNodes
		codes  []int32
		there  int
		nodes  []string
		want   []string
	}{
		"whatever the policy says":         {&v1beta1.AvoidNodes{After: &three}, []int32{17}, 9, []string{"a"}, []string{"a"}},
		"... for as long as it says":       {&v1beta1.AvoidNodes{Within: "30m"}, []int32{17}, 9, []string{"a", "b"}, []string{"a"}},
		"... and no longer":                {&v1beta1.AvoidNodes{Within: "20m"}, []int32{17}, 9, []string{"a", "b"}, []string{"b"}},
		"for many nodes":                   {&v1beta1.AvoidNodes{AtMost: &nine}, []int32{17}, 9, []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		"but not for more than the policy": {&v1beta1.AvoidNodes{}, []int32{17}, 9, []string{"a", "b"}, []string{"a"}},
		"the last node stays":              {&v1beta1.AvoidNodes{AtMost: &nine}, []int32{17}, 2, []string{"a", "b"}, []string{"a"}},
		"the only node is never avoided":   {&v1beta1.AvoidNodes{}, []int32{17}, 1, []string{"a"}, []string{}},
		"another failure is one of two":    {&v1beta1.AvoidNodes{}, []int32{18}, 9, []string{"a"}, []string{}},
		"who avoids nothing stays":         {nil, []int32{17}, 9, []string{"a"}, []string{}},
		"... and who says so":              {&v1beta1.AvoidNodes{AtMost: new(int32(0))}, []int32{17}, 9, []string{"a"}, []string{}},
	} {
		job := kt.Job(kt.Type("worker", 1), kt.BackoffLimit(99), kt.Begun, elsewhere(tc.codes...), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.AvoidNodes = tc.policy }))
		job = failing(t, job, tc.there, tc.nodes...)
		require.Equal(t, tc.want, avoids(job), name)
	}
}

func TestARuleThatSendsElsewhereIsToldOfAndFades(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.BackoffLimit(99), kt.Begun, elsewhere(17), avoiding(v1beta1.AvoidNodes{After: new(int32(3)), Within: "1h"}))
	w := kernel.World{Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(17, kt.Start), onNode("a"))}, Now: kt.Start, NodeCount: 9, Settings: kt.Settings}
	d := planWorld(t, w)
	require.Contains(t, messages(d, v1beta1.ReasonNodeAvoided)[0],
		"New pods avoid node a until 2026-01-01T01:00:00Z. It had 1 failure within 1h, and a rule of spec.failurePolicy sends replicas elsewhere after one; the last: ")
	job = after(job, d)
	require.False(t, kt.Allows(kt.Pod(job, "worker", 0), "a"))
	require.True(t, job.Status.NodeFailures[0].Enough.Equal(&metav1.Time{Time: kt.Start}))

	// A failure that is not enough by itself changes nothing of that.
	now := kt.At(30 * time.Minute)
	job = after(job, planWorld(t, kernel.World{Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(1, now), onNode("a"))}, Now: now, NodeCount: 9, Settings: kt.Settings}))
	require.Equal(t, []string{"a"}, avoids(job))
	require.True(t, job.Status.AvoidedNodes[0].Until.Equal(&metav1.Time{Time: kt.At(time.Hour)}))
	d = plan(t, job, kt.At(59*time.Minute), kt.Pod(job, "worker", 0, kt.Running, onNode("b")))
	require.Equal(t, []string{"a"}, avoids(after(job, d)))
	job = after(job, plan(t, job, kt.At(time.Hour), kt.Pod(job, "worker", 0, kt.Running, onNode("b"))))
	require.Empty(t, avoids(job), "the failure that is left is one of three")
	require.Len(t, job.Status.NodeFailures, 1)
	require.Nil(t, job.Status.NodeFailures[0].Enough)
}

// Another failure turns out to have come first. Who was sent away is taken back. Who came first is sent away if the rule is about that
// failure.
func TestTheFailureThatCameFirstIsSentElsewhere(t *testing.T) {
	for name, tc := range map[string]struct {
		codes []int32
		want  []string
	}{
		"the one that was seen first": {[]int32{3}, []string{}}, "the one that came first": {[]int32{17}, []string{"b"}}, "both": {[]int32{3, 17}, []string{"b"}},
	} {
		job := kt.Job(kt.Type("worker", 2), kt.JobScope, kt.BackoffLimit(99), kt.Begun, elsewhere(tc.codes...), avoiding(v1beta1.AvoidNodes{AtMost: new(int32(9))}))
		fail := func(now time.Duration, pods ...*corev1.Pod) {
			job = after(job, planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(now), NodeCount: 9, Settings: kt.Settings}))
		}
		seen := kt.Pod(job, "worker", 0, kt.ExitedAt(3, kt.At(70*time.Second)), onNode("a"))
		first := kt.Pod(job, "worker", 1, kt.Running, onNode("b"))
		fail(72*time.Second, seen, first)
		kt.ExitedAt(17, kt.At(60*time.Second))(first)
		first.Spec.NodeName = "b"
		fail(73*time.Second, seen, first)
		require.Equal(t, tc.want, avoids(job), name)
		require.Len(t, job.Status.NodeFailures, 1, name)
		require.Equal(t, "b", job.Status.NodeFailures[0].Node, name)
	}
}

// What is taken back leaves an earlier failure that is enough as it was.
func TestAnEarlierFailureThatIsEnoughStaysSo(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.JobScope, kt.BackoffLimit(99), kt.Begun, elsewhere(17), avoiding(v1beta1.AvoidNodes{After: new(int32(5)), AtMost: new(int32(9))}))
	fail := func(now time.Duration, pods ...*corev1.Pod) {
		t.Helper()
		job = after(job, planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(now), NodeCount: 9, Settings: kt.Settings}))
	}
	fail(time.Minute, kt.Pod(job, "worker", 0, kt.ExitedAt(17, kt.At(time.Minute)), onNode("a")), kt.Pod(job, "worker", 1, kt.Running, onNode("b")))
	was := job.Status.NodeFailures[0]
	require.NotNil(t, was.Enough)
	seen := kt.Pod(job, "worker", 0, kt.ExitedAt(17, kt.At(20*time.Minute+10*time.Second)), onNode("a"))
	first := kt.Pod(job, "worker", 1, kt.Running, onNode("b"))
	fail(20*time.Minute+12*time.Second, seen, first)
	require.False(t, job.Status.NodeFailures[0].Enough.Equal(was.Enough))
	kt.ExitedAt(1, kt.At(20*time.Minute))(first)
	first.Spec.NodeName = "b"
	fail(20*time.Minute+13*time.Second, seen, first)
	require.Equal(t, []string{"a"}, avoids(job))
	for _, n := range job.Status.NodeFailures {
		if n.Node == "a" {
			require.True(t, n.Enough.Equal(was.Enough), "%v", n)
		}
	}
}

func TestARuleThatCanSendNobodyElsewhereIsToldOf(t *testing.T) {
	for says, policy := range map[string]*v1beta1.AvoidNodes{
		"spec.failurePolicy.rules[0].elsewhere is true, but the job avoids no nodes: set avoidNodes, as in {}, or remove elsewhere": nil,
		"spec.failurePolicy.rules[0].elsewhere is true, but avoidNodes.atMost is 0: raise it, or remove elsewhere":                  {AtMost: new(int32(0))},
		"": {},
	} {
		job := kt.Job(kt.Type("worker", 1), elsewhere(17), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.AvoidNodes = policy }))
		d := kernel.Plan(kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings})
		if says == "" {
			require.NotContains(t, texts(d.Postponed.Events), "elsewhere")
			continue
		}
		require.Contains(t, texts(d.Postponed.Events), says)
		settings := kt.Settings
		settings.AvoidNodes = &v1beta1.AvoidNodes{}
		d = kernel.Plan(kernel.World{Job: job, Now: kt.Start, Settings: settings})
		require.Equal(t, policy != nil, len(messages(*d.Postponed, v1beta1.ReasonFieldIgnored)) > 0, "the operator's default is a policy, too")
	}
}

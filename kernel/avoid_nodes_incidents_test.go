package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// The operator was down while two replicas failed, each by itself. Only the node of the last one had a failure. What one reconcile sees together has
// the same result as what several see one by one.
func TestEachIncidentCountsForItsNodeHoweverManyAreSeenAtOnce(t *testing.T) {
	const minute = 60
	type end struct {
		node string
		kt.PodOption
	}
	for name, tc := range map[string]struct {
		ends []end // in the order in which they came
		want []string
	}{
		"one incident":                   {[]end{{"a", crashed(0, 17, nan)}, {"b", crashed(minute, 17, nan)}}, []string{"a"}},
		"two":                            {[]end{{"a", crashed(0, 17, nan)}, {"b", crashed(10*minute, 17, nan)}}, []string{"a", "b"}},
		"three":                          {[]end{{"a", crashed(0, 17, nan)}, {"b", crashed(5*minute, 17, nan)}, {"c", crashed(10*minute, 17, nan)}}, []string{"a", "b", "c"}},
		"what follows counts nowhere":    {[]end{{"a", crashed(0, 17, nan)}, {"b", crashed(1, 1, parted)}, {"c", crashed(10*minute, 17, nan)}}, []string{"a", "c"}},
		"... even if it came first":      {[]end{{"a", crashed(0, 1, parted)}, {"b", crashed(1, 17, nan)}, {"c", crashed(10*minute, 17, nan)}}, []string{"b", "c"}},
		"... nor if no cause is known":   {[]end{{"a", crashed(0, 1, parted)}, {"b", crashed(10*minute, 17, nan)}}, []string{"b"}},
		"a minute counts from the cause": {[]end{{"a", crashed(0, 1, parted)}, {"b", crashed(50, 17, nan)}, {"c", crashed(61, 17, nan)}}, []string{"b"}},
		"... and not from what follows":  {[]end{{"a", crashed(0, 17, nan)}, {"b", crashed(50, 17, nan)}, {"c", crashed(61, 17, nan)}}, []string{"a", "c"}},
		"the earlier is told later":      {[]end{{"a", crashed(10, 17, nan)}, {"b", crashed(5, 17, nan)}, {"c", crashed(10*minute, 17, nan)}}, []string{"b", "c"}},
		"... a minute counts from it":    {[]end{{"a", crashed(10, 17, nan)}, {"b", crashed(5, 17, nan)}, {"c", crashed(66, 17, nan)}}, []string{"b", "c"}},
	} {
		for how, alone := range map[string]int{"one by one": len(tc.ends), "at once": 0, "the first, and then the others at once": 1} {
			t.Run(name+", "+how, func(t *testing.T) {
				job := kt.Job(kt.Type("worker", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(9), kt.Begun, avoiding(v1beta1.AvoidNodes{After: new(int32(1)), AtMost: new(int32(9))}))
				pods := kt.Pods(job, "worker", 4, kt.Running)
				for i := range tc.ends {
					e := &tc.ends[i]
					if i >= alone {
						e = &tc.ends[alone+len(tc.ends)-1-i] // ranks are not in the order of times
					}
					pods[i] = kt.Pod(job, "worker", i, e.PodOption, onNode(e.node))
					if i < alone || i == len(tc.ends)-1 {
						job.Status = planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(20 * time.Minute), NodeCount: 9, Settings: kt.Settings}).Status
					}
				}
				require.Equal(t, tc.want, failedNodes(job))
				require.Equal(t, tc.want[len(tc.want)-1], job.Status.FirstFailure.Node, "users hear of the last incident")
			})
		}
	}
}

// One crash of a collective is seen as many failures. It speaks against the node of the first alone.
func TestOneCrashCountsForOneNode(t *testing.T) {
	const peer = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4321"
	for _, scope := range []v1beta1.RestartScope{v1beta1.RestartScopeJob, v1beta1.RestartScopeReplica} {
		job := kt.Job(kt.Type("worker", 3), kt.BackoffLimit(99), kt.Begun, avoiding(v1beta1.AvoidNodes{After: new(int32(1)), AtMost: new(int32(9))}), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.RestartScope = scope }))
		now := kt.At(time.Minute)
		pods := []*corev1.Pod{
			kt.Pod(job, "worker", 0, kt.ExitedAt(1, now), saying(peer), onNode("a")), kt.Pod(job, "worker", 1, kt.ExitedAt(17, now.Add(time.Second)), onNode("b")),
			kt.Pod(job, "worker", 2, kt.ExitedAt(1, now.Add(2*time.Second)), saying("RuntimeError: out of luck"), onNode("c")),
		}
		d := planWorld(t, kernel.World{Job: job, Pods: pods, Now: now.Add(2 * time.Second), NodeCount: 9, Settings: kt.Settings})
		require.Equal(t, []string{"b"}, avoids(after(job, d)), scope)
	}
}

// Under the restart policy Never a disruption is final. No code has failed by it.
func TestADisruptionSpeaksAgainstNoNode(t *testing.T) {
	for _, policy := range []v1beta1.RestartPolicyType{never, onFailure} {
		job := kt.Job(kt.Type("worker", 2, kt.Policy(policy, 5)), failure(v1beta1.FinishRule{"worker": ranks(1)}), kt.Begun, avoiding(v1beta1.AvoidNodes{After: new(int32(1))}))
		pods := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Exited(137), kt.Disrupted, onNode("a")), kt.Pod(job, "worker", 1, kt.Running, onNode("b"))}
		d := planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(time.Minute), NodeCount: 9, Settings: kt.Settings})
		require.Empty(t, d.Status.NodeFailures, policy)
	}
}

// The kubelet of the node on which a failure came first may report last.
func TestAFailureThatIsKnownLateCountsForItsOwnNode(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.JobScope, kt.BackoffLimit(99), kt.Begun, avoiding(v1beta1.AvoidNodes{After: new(int32(1))}))
	seen := kt.Pod(job, "worker", 0, kt.ExitedAt(1, kt.At(70*time.Second)), onNode("a"))
	first := kt.Pod(job, "worker", 1, kt.Running, onNode("b"))
	now := kt.At(72 * time.Second)
	job = after(job, planWorld(t, kernel.World{Job: job, Pods: []*corev1.Pod{seen, first}, Now: now, NodeCount: 9, Settings: kt.Settings}))
	require.Equal(t, []string{"a"}, avoids(job))
	kt.ExitedAt(17, kt.At(60*time.Second))(first)
	first.Spec.NodeName = "b"
	d := planWorld(t, kernel.World{Job: job, Pods: []*corev1.Pod{seen, first}, Now: now.Add(time.Second), NodeCount: 9, Settings: kt.Settings})
	require.Equal(t, []string{"b"}, avoids(after(job, d)))
	require.Len(t, d.Status.NodeFailures, 1)
}

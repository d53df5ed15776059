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
	"github.com/genericjob/genericjob/kernel/podstate"
)

// failuresOn are how many failures count for a node.
func failuresOn(job *v1beta1.GenericJob, node string) int {
	for _, n := range job.Status.NodeFailures {
		if n.Node == node {
			return len(n.Times)
		}
	}
	return 0
}

// A finalizer of somebody's keeps the pod of a lost node. Each time that the loss has faded it would be seen anew.
func TestALossCountsOnceHoweverLongItsPodStays(t *testing.T) {
	for _, after1 := range []int32{1, 2} {
		job := endless(v1beta1.AvoidNodes{After: new(after1), Within: "1h"})
		pod := kt.Pod(job, "worker", 0, kt.Running, onNode("a"), kt.Deleted(kt.Start, time.Second), kt.Marked)
		at := func(now time.Duration, since time.Time) {
			t.Helper()
			job = after(job, planWorld(t, kernel.World{
				Job: job, Pods: []*corev1.Pod{pod}, Nodes: map[string]podstate.Node{"a": {SilentSince: since}}, Now: kt.At(now), NodeCount: 9, Settings: kt.Settings,
			}))
			require.Equal(t, []string{"a"}, avoids(job), "it is lost all the time")
		}
		at(10*time.Minute, kt.Start)
		require.Equal(t, 1, failuresOn(job, "a"))
		at(50*time.Minute, kt.Start)
		require.Equal(t, 1, failuresOn(job, "a"))
		for _, now := range []time.Duration{time.Hour, 61 * time.Minute, 5 * time.Hour} {
			at(now, kt.Start)
			require.Zero(t, failuresOn(job, "a"), "after %s, where %d have it avoided", now, after1)
			require.Nil(t, job.Status.AvoidedNodes[0].Until)
		}
		at(6*time.Hour, kt.At(5*time.Hour+50*time.Minute))
		require.Equal(t, 1, failuresOn(job, "a"), "this is another loss")
	}
}

// Where thousands of pods hang, some nodes are not looked at in a reconcile, and their pods wait. That says nothing of such a node.
func TestALostNodeIsNotBackBecauseNobodyHasLooked(t *testing.T) {
	job := endless(v1beta1.AvoidNodes{})
	w := kernel.World{
		Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running, onNode("a"), kt.Deleted(kt.Start, time.Second), kt.Marked)},
		Nodes: map[string]podstate.Node{"a": {SilentSince: kt.Start}}, Now: kt.At(10 * time.Minute), NodeCount: 9, Settings: kt.Settings,
	}
	w.Job = after(job, planWorld(t, w))
	require.Equal(t, []string{"a"}, avoids(w.Job))
	w.Nodes = map[string]podstate.Node{"a": {Answers: true, Assumed: true}}
	w.Job = after(job, planWorld(t, w))
	require.Equal(t, []string{"a"}, avoids(w.Job))
	w.Nodes = map[string]podstate.Node{"a": {Answers: true}}
	require.Empty(t, planWorld(t, w).Status.AvoidedNodes)
}

func TestTheLossOfANodeCountsThatIsAvoidedAlready(t *testing.T) {
	job := failing(t, endless(v1beta1.AvoidNodes{}), 9, "a", "a")
	pod := kt.Pod(job, "worker", 0, kt.Running, onNode("a"), kt.Deleted(kt.At(time.Hour), time.Second), kt.Marked)
	w := kernel.World{Job: job, Pods: []*corev1.Pod{pod}, Nodes: map[string]podstate.Node{"a": {SilentSince: kt.At(time.Hour)}}, Now: kt.At(2 * time.Hour), NodeCount: 9, Settings: kt.Settings}
	job = after(job, planWorld(t, w))
	require.Equal(t, 3, failuresOn(job, "a"))
	require.Equal(t, v1beta1.AvoidLost, job.Status.NodeFailures[0].Reason)
	require.Len(t, job.Status.AvoidedNodes, 1)
	require.True(t, job.Status.AvoidedNodes[0].Until.Time.Equal(kt.At(24*time.Hour+20*time.Minute)))
}

// More nodes may be lost than are avoided. Which ones are, must not change from one look to the next.
func TestWhichLostNodesAreAvoidedDoesNotChangeByItself(t *testing.T) {
	job := kt.Job(kt.Type("worker", 20), kt.BackoffLimit(0), kt.Begun, avoiding(v1beta1.AvoidNodes{}))
	w := kernel.World{Job: job, Nodes: map[string]podstate.Node{}, Now: kt.At(10 * time.Minute), NodeCount: 99, Settings: kt.Settings}
	for rank := range 20 {
		node := string(rune('a' + rank))
		w.Pods = append(w.Pods, kt.Pod(job, "worker", rank, kt.Running, onNode(node), kt.Deleted(kt.Start, time.Second), kt.Marked))
		w.Nodes[node] = podstate.Node{SilentSince: kt.Start}
	}
	w.Job = after(job, planWorld(t, w))
	require.Len(t, w.Job.Status.AvoidedNodes, 16)
	w.Now = kt.At(11 * time.Minute)
	again := planWorld(t, w).Status
	require.Equal(t, w.Job.Status.AvoidedNodes, again.AvoidedNodes)
	require.Equal(t, w.Job.Status.NodeFailures, again.NodeFailures)
}

// Another failure turns out to have come first, after an earlier one on the same node. What is told of the node is the earlier one again.
func TestAFailureThatIsTakenBackIsNotToldAnyMore(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.JobScope, kt.BackoffLimit(99), kt.Begun, avoiding(v1beta1.AvoidNodes{AtMost: new(int32(9))}))
	fail := func(now time.Duration, pods ...*corev1.Pod) {
		t.Helper()
		job = after(job, planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(now), NodeCount: 9, Settings: kt.Settings}))
	}
	rejected := kt.Pod(job, "worker", 0, kt.FailedWithout("UnexpectedAdmissionError"), onNode("a"))
	fail(time.Minute, rejected, kt.Pod(job, "worker", 1, kt.Running, onNode("b")))
	require.Equal(t, 1, failuresOn(job, "a"))
	was := job.Status.NodeFailures[0]

	seen := kt.Pod(job, "worker", 0, kt.ExitedAt(1, kt.At(20*time.Minute+10*time.Second)), onNode("a"))
	first := kt.Pod(job, "worker", 1, kt.Running, onNode("b"))
	fail(20*time.Minute+12*time.Second, seen, first)
	require.Equal(t, 2, failuresOn(job, "a"))
	kt.ExitedAt(17, kt.At(20*time.Minute))(first)
	first.Spec.NodeName = "b"
	fail(20*time.Minute+13*time.Second, seen, first)
	require.Equal(t, 1, failuresOn(job, "b"))
	require.Equal(t, 1, failuresOn(job, "a"))
	for _, n := range job.Status.NodeFailures {
		if n.Node == "a" {
			require.Equal(t, was.Reason, n.Reason)
			require.Equal(t, was.Message, n.Message)
		}
	}
}

// A disruption is told as the first failure where the restart policy is Never, and counts for no node. Then code turns out to have failed before that.
func TestNothingIsTakenBackForADisruptionThatHasCountedForNoNode(t *testing.T) {
	once := kt.Type("once", 1, kt.Policy(never, -1))
	for _, node := range []string{"a", "b"} {
		job := kt.Job(kt.Type("worker", 1), once, success(v1beta1.FinishRule{"worker": ranks(0)}), kt.BackoffLimit(99), kt.Begun, avoiding(v1beta1.AvoidNodes{}))
		at := func(now time.Duration, pods ...*corev1.Pod) {
			t.Helper()
			job = after(job, planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(now), NodeCount: 9, Settings: kt.Settings}))
		}
		at(time.Minute, kt.Pod(job, "worker", 0, kt.ExitedAt(17, kt.At(time.Minute)), onNode("a")), kt.Pod(job, "once", 0, kt.Running, onNode("a")))
		require.Equal(t, 1, failuresOn(job, "a"))

		ended := 20 * time.Minute
		disrupted := kt.Pod(job, "once", 0, kt.ExitedAt(137, kt.At(ended)), kt.Disrupted, onNode("a"))
		at(ended+time.Second, kt.Pod(job, "worker", 0, kt.Running, onNode(node)), disrupted)
		require.Equal(t, disrupted.Name, job.Status.FirstFailure.Pod)
		require.Equal(t, 1, failuresOn(job, "a"))
		cause := kt.Pod(job, "worker", 0, kt.ExitedAt(17, kt.At(ended-9*time.Second)), onNode(node))
		at(ended+2*time.Second, cause, disrupted)
		require.Equal(t, cause.Name, job.Status.FirstFailure.Pod)
		want := map[string]int{"a": 1}
		want[node]++
		require.Equal(t, want["a"], failuresOn(job, "a"), "the failure of a minute after the start still counts")
		require.Equal(t, want["b"], failuresOn(job, "b"))
	}
}

// One incident counts once, for the node of its first failure, though that is known late and other things speak against the node meanwhile.
func TestAnIncidentCountsOnceThoughPodsRestartOneByOne(t *testing.T) {
	const minute = time.Minute
	hang := func(began, ended time.Duration) kt.PodOption {
		return func(p *corev1.Pod) {
			crashed(0, 124, inData)(p)
			e := p.Status.ContainerStatuses[0].State.Terminated
			e.StartedAt, e.FinishedAt = metav1.NewTime(kt.At(began)), metav1.NewTime(kt.At(ended))
		}
	}
	fails := func(began, ended time.Duration) kt.PodOption {
		return func(p *corev1.Pod) {
			kt.ExitedAt(17, kt.At(ended))(p)
			p.Status.ContainerStatuses[0].State.Terminated.StartedAt = metav1.NewTime(kt.At(began))
		}
	}
	turnedAway := kt.FailedWithout("UnexpectedAdmissionError")
	type step struct {
		at   time.Duration
		ends map[int]kt.PodOption // by rank
	}
	for name, tc := range map[string]struct {
		on    map[int]string // by rank
		steps []step
		want  map[string]int
	}{
		"the node rejects a pod in between": {map[int]string{0: "a", 1: "b"}, []step{
			{10 * minute, map[int]kt.PodOption{0: fails(0, 10*minute)}},
			{11 * minute, map[int]kt.PodOption{0: turnedAway}},
			{12 * minute, map[int]kt.PodOption{1: fails(0, 10*minute-5*time.Second)}},
		}, map[string]int{"a": 1, "b": 1}},
		"... two": {map[int]string{0: "a", 1: "b"}, []step{
			{10 * minute, map[int]kt.PodOption{0: fails(0, 10*minute)}},
			{11 * minute, map[int]kt.PodOption{0: turnedAway}},
			{12 * minute, map[int]kt.PodOption{0: turnedAway}},
			{13 * minute, map[int]kt.PodOption{1: fails(0, 10*minute-5*time.Second)}},
		}, map[string]int{"a": 2, "b": 1}},
		"... and both failures are of that node": {map[int]string{0: "a", 1: "a"}, []step{
			{10 * minute, map[int]kt.PodOption{0: fails(0, 10*minute)}},
			{11 * minute, map[int]kt.PodOption{0: turnedAway}},
			{12 * minute, map[int]kt.PodOption{1: fails(0, 10*minute-5*time.Second)}},
		}, map[string]int{"a": 2}},
		"one is told with the first of the next": {map[int]string{0: "c", 1: "a", 2: "a"}, []step{
			{10 * minute, map[int]kt.PodOption{2: fails(0, 10*minute)}},
			{15 * minute, map[int]kt.PodOption{1: fails(0, 10*minute+10*time.Second), 0: fails(0, 15*minute)}},
		}, map[string]int{"a": 1, "c": 1}},
		"... and comes again itself": {map[int]string{0: "a", 1: "a"}, []step{
			{10 * minute, map[int]kt.PodOption{0: fails(0, 10*minute)}},
			{15 * minute, map[int]kt.PodOption{0: fails(10*minute+5*time.Second, 15*minute), 1: fails(0, 10*minute+10*time.Second)}},
		}, map[string]int{"a": 2}},
		"replicas that hang together are found minutes apart": {map[int]string{0: "a", 1: "a"}, []step{
			{11 * minute, map[int]kt.PodOption{0: hang(0, 10*minute)}},
			{13 * minute, map[int]kt.PodOption{1: hang(0, 12*minute)}},
		}, map[string]int{"a": 1}},
		"... and one hangs anew": {map[int]string{0: "a", 1: "a"}, []step{
			{11 * minute, map[int]kt.PodOption{0: hang(0, 10*minute)}},
			{21 * minute, map[int]kt.PodOption{1: hang(11*minute, 20*minute)}},
		}, map[string]int{"a": 2}},
	} {
		for how, options := range map[string][]kt.JobOption{"new pods": nil, "in place": {kt.InPlace}} {
			t.Run(name+", "+how, func(t *testing.T) {
				beat := kt.Spec(func(s *v1beta1.GenericJobSpec) {
					s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step", StartupSeconds: new(int32(300)), SteadySeconds: new(int32(300))}
				})
				job := kt.Job(append(options, kt.Type("worker", 3, kt.Policy(onFailure, -1)), kt.BackoffLimit(99), beat, kt.Begun, avoiding(v1beta1.AvoidNodes{AtMost: new(int32(9)), After: new(int32(9))}))...)
				for _, s := range tc.steps {
					var pods []*corev1.Pod
					for rank := range 3 {
						how := s.ends[rank]
						if how == nil {
							how = kt.Running
						}
						pods = append(pods, kt.Pod(job, "worker", rank, how, onNode(tc.on[rank])))
					}
					d := planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(s.at), NodeCount: 9, Settings: kt.Settings})
					d.Status = stored(t, d.Status)
					job = after(job, d)
				}
				got := map[string]int{}
				for _, n := range job.Status.NodeFailures {
					got[n.Node] = len(n.Times)
				}
				require.Equal(t, tc.want, got)
			})
		}
	}
}

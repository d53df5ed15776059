package jobs

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/remember"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// silentNodes is an apiserver whose nodes are all silent since a time; zero: they are Ready.
type silentNodes struct {
	client.Reader
	since time.Time
	asked int
}

// Get implements client.Reader.
func (s *silentNodes) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	s.asked++
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	if !s.since.IsZero() {
		ready.Status, ready.LastTransitionTime.Time = corev1.ConditionUnknown, s.since
	}
	o.(*corev1.Node).Status.Conditions = []corev1.NodeCondition{ready}
	return nil
}

// looking is a reconciler over such nodes, at noon.
func looking() (*Reconciler, *silentNodes, *clocktesting.FakePassiveClock) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	nodes, told := &silentNodes{since: noon.Add(-2 * time.Minute)}, clocktesting.NewFakePassiveClock(noon)
	return &Reconciler{Live: nodes, Clock: told, memory: &remember.Jobs[remembered]{}, nodeAnswers: &nodeAnswers{}}, nodes, told
}

// hanging is the world of a job with a pod on each of so many nodes. Its pods should have ended some time before now.
func hanging(job string, pods int, ago time.Duration, now time.Time) kernel.World {
	w := kernel.World{Now: now, Settings: kernel.Settings{ForceReplaceAfter: 5 * time.Minute}}
	w.Job = &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: job, UID: types.UID(job)}}
	for i := range pods {
		pod := podOf(w.Job.UID, fmt.Sprint(i))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: now.Add(-ago)}, new(int64(30))
		pod.Spec.NodeName = fmt.Sprintf("n%03d", i)
		w.Pods = append(w.Pods, pod)
	}
	return w
}

// needForce counts the pods that a plan would delete by force.
func needForce(w kernel.World, nodes map[string]podstate.Node) (n int) {
	judge := podstate.Judge{Now: w.Now, ForceReplaceAfter: w.Settings.ForceReplaceAfter, Nodes: nodes}
	for _, pod := range w.Pods {
		if judge.NeedsForce(pod) {
			n++
		}
	}
	return n
}

// A node may come back in the moment after it was asked. Then its pod writes on, and one that replaces it would write the same checkpoint.
func TestAPodGoesByForceOnlyByAFreshAnswer(t *testing.T) {
	r, nodes, told := looking()
	look := func(job string) int {
		w := hanging(job, 1, 10*time.Minute, told.Now())
		seen, err := r.lookAtNodes(t.Context(), w)
		require.NoError(t, err)
		return needForce(w, seen)
	}
	require.Equal(t, 1, look("one"))
	nodes.since = time.Time{}
	require.Zero(t, look("other"), "what is remembered would delete its pod")
	require.Equal(t, 2, nodes.asked)
	require.Zero(t, look("one"))
	require.Equal(t, 2, nodes.asked, "that it answers is shared")

	nodes.since = told.Now()
	told.SetTime(told.Now().Add(sharedFor))
	require.Equal(t, 1, look("one"), "and only for so long")
}

// A pod whose grace period is over may go by force at once if its node has been lost for long enough. Before that an answer is shared.
func TestThatANodeIsSilentIsSharedAsLongAsNoPodGoesByIt(t *testing.T) {
	r, nodes, told := looking()
	look := func(job string) int {
		w := hanging(job, 1, time.Minute, told.Now())
		w.Pods[0].Spec.Tolerations = []corev1.Toleration{{
			Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(123)),
		}}
		w.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager"}}
		seen, err := r.lookAtNodes(t.Context(), w)
		require.NoError(t, err)
		require.Equal(t, nodes.since, seen["n000"].SilentSince)
		return needForce(w, seen)
	}
	require.Zero(t, look("one"))
	require.Zero(t, look("other"))
	require.Equal(t, 1, nodes.asked)
	told.SetTime(told.Now().Add(4 * time.Second))
	require.Equal(t, 1, look("one"))
	require.Equal(t, 2, nodes.asked)
}

// All nodes of a zone are lost. A pod whose node has not had its turn waits for it, and nothing is said of that node.
func TestWhoseNodeWasNotAskedWaits(t *testing.T) {
	r, _, told := looking()
	for turn := range 3 {
		w := hanging("job", 120, 10*time.Minute, told.Now())
		seen, err := r.lookAtNodes(t.Context(), w)
		require.NoError(t, err)
		require.Equal(t, maxNodeReads, needForce(w, seen), "turn %d", turn)
		require.Len(t, seen, 120)
		assumed := 0
		for _, node := range seen {
			if node.Assumed {
				assumed++
				require.Equal(t, podstate.Node{Answers: true, Assumed: true}, node)
			}
		}
		require.Equal(t, 70, assumed)
		require.Equal(t, calls.RetrySoon, r.memory.Of(w.Job).nodesAgain)
	}
}

// A lost node that a job avoids is looked at before those of pods, so that none is forgotten for a minute.
func TestLostNodesGoFirst(t *testing.T) {
	r, _, told := looking()
	w := hanging("job", 200, 10*time.Minute, told.Now())
	w.Job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: new(int32(300))}}
	for i := range 16 {
		w.Job.Status.AvoidedNodes = append(w.Job.Status.AvoidedNodes, v1beta1.AvoidedNode{Node: fmt.Sprintf("n%03d", 199-i), Reason: v1beta1.AvoidLost})
	}
	seen, err := r.lookAtNodes(t.Context(), w)
	require.NoError(t, err)
	for _, lost := range w.Job.Status.AvoidedNodes {
		require.False(t, seen[lost.Node].Assumed, lost.Node)
	}
}

func TestWhatNodesAnswerIsRememberedWithinBounds(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	answers := &nodeAnswers{}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range maxNodeAnswers {
				answers.put(fmt.Sprint(i, "-", n), nodeAnswer{at: noon}, noon)
				answers.get(fmt.Sprint(n))
			}
		})
	}
	all.Wait()
	require.Len(t, answers.of, maxNodeAnswers)
	later := noon.Add(podstate.NodeInterval)
	answers.put("new", nodeAnswer{at: later}, later)
	require.Len(t, answers.of, 1, "what is old makes room")
}

func TestAnOldAnswerDoesNotReplaceALaterOne(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	answers := &nodeAnswers{}
	answers.put("n", nodeAnswer{podstate.Node{SilentSince: noon}, noon.Add(time.Second)}, noon.Add(time.Second))
	answers.put("n", nodeAnswer{podstate.Node{Answers: true}, noon}, noon.Add(2*time.Second)) // it was asked before, and took longer
	known, _ := answers.get("n")
	require.False(t, known.node.Answers)
	require.True(t, known.isYounger(sharedFor, noon.Add(2*time.Second)))
	require.False(t, known.isYounger(sharedFor, noon.Add(6*time.Second)))

	require.False(t, known.isYounger(sharedFor, noon), "the clock has been set back")
	answers.put("n", nodeAnswer{podstate.Node{Answers: true}, noon}, noon)
	known, _ = answers.get("n")
	require.True(t, known.node.Answers)
}

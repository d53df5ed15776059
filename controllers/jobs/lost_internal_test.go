package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/remember"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// liveNodes is what an apiserver answers that is asked for nodes, and for which it was asked.
type liveNodes struct {
	client.Reader
	err   error
	asked []string
}

// Get implements client.Reader.
func (l *liveNodes) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	l.asked = append(l.asked, key.Name)
	return l.err
}

// Pods wait for a lost node to come back. A read that fails is tried again at once, and not at the next time to look.
func TestALostNodeIsLookedAtAgainAfterAReadThatFailed(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "u"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker"}}
	job.Status.AvoidedNodes = []v1beta1.AvoidedNode{{Node: "a"}, {Node: "b"}}
	live := &liveNodes{err: errors.New("etcdserver: request timed out")}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	told := clocktesting.NewFakePassiveClock(start)
	r := &Reconciler{Live: live, Clock: told, memory: &remember.Jobs[remembered]{}, nodeAnswers: &nodeAnswers{}}
	look := func(now time.Time) error {
		told.SetTime(now)
		_, err := r.lookAtNodes(t.Context(), kernel.World{Job: job, Now: now})
		return err
	}
	require.ErrorContains(t, look(start), "request timed out")
	require.Equal(t, []string{"a"}, live.asked)

	live.err = nil
	require.NoError(t, look(start))
	require.Equal(t, []string{"a", "a", "b"}, live.asked, "it is tried again")
	require.NoError(t, look(start))
	require.Len(t, live.asked, 3, "what is known is not asked again")
	require.NoError(t, look(start.Add(kernel.LostInterval)))
	require.Len(t, live.asked, 5)
}

// What the user is told of a pod that hangs: nobody has looked, and that is why.
func TestAnOperatorThatMayNotReadNodesSaysSo(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: now.Add(-time.Hour)}}, Spec: corev1.PodSpec{NodeName: "a"}}
	r := &Reconciler{
		Live:  &liveNodes{err: apierrors.NewForbidden(corev1.Resource("nodes"), "a", nil)},
		Clock: clocktesting.NewFakePassiveClock(now), memory: &remember.Jobs[remembered]{}, nodeAnswers: &nodeAnswers{},
	}
	w := kernel.World{Job: &v1beta1.GenericJob{}, Now: now, Pods: []*corev1.Pod{pod}, Settings: kernel.Settings{ForceReplaceAfter: time.Minute}}
	for _, look := range []string{"it asks", "it remembers"} {
		nodes, err := r.lookAtNodes(t.Context(), w)
		require.NoError(t, err)
		judge := podstate.Judge{Now: now, ForceReplaceAfter: time.Minute, Nodes: nodes}
		require.False(t, judge.IsOverdue(pod), look)
		_, told := judge.Waiting(pod)
		require.Equal(t, "its pod is Terminating for longer than its grace period, and may still run. Nobody has looked whether node a answers, "+
			"because the operator may not get nodes: give it that permission, or look by yourself. Find out what keeps the pod there, "+
			"or delete it with --grace-period=0 --force if you know that it does not run", told, look)
	}
}

package podstate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/kernel/spec"
)

// tolerates gives a pod a toleration of so many seconds for a node that is silent; below 0: without a limit.
func tolerates(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		t := corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
		if seconds >= 0 {
			t.TolerationSeconds = &seconds
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, t)
	}
}

// told has the node controller take Ready back.
func told(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(at)},
			corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
	}
}

// tainted has Kubernetes delete a pod for a taint of its node.
func tainted(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: byTaint, LastTransitionTime: metav1.NewTime(at),
		})
	}
}

// Node n is silent since noon. The pods of the cases have a grace period of 30 s, and --force-replace-after is five minutes.
func TestWhenAPodIsGivenUp(t *testing.T) {
	const never = time.Duration(-1)
	silent := Node{SilentSince: noon}
	after := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for name, tc := range map[string]struct {
		pod  Pod
		node Node
		want time.Duration // after noon
	}{
		"Kubernetes has waited":            {pod(tolerates(30), told(noon), tainted(after(30)), deleted(after(30), 30)), silent, 60 * time.Second},
		"... as long as it does by itself": {pod(tolerates(300), told(noon), deleted(after(300), 30)), silent, 330 * time.Second},
		"nothing is tolerated":             {pod(told(noon), deleted(noon, 30)), silent, 30 * time.Second},
		"it was not Ready yet":             {pod(tolerates(30), tainted(after(30)), deleted(after(30), 30)), silent, 60 * time.Second},
		"it was deleted before the loss":   {pod(tolerates(300), told(noon), deleted(after(-60), 30)), silent, 270 * time.Second}, // it hangs then
		"... and Kubernetes waits less":    {pod(tolerates(60), told(noon), deleted(after(-60), 30)), silent, 60 * time.Second},
		"a user deletes it meanwhile":      {pod(tolerates(120), told(noon), deleted(after(10), 30)), silent, 120 * time.Second},
		"it tolerates the loss for ever":   {pod(tolerates(-1), told(noon), deleted(after(10), 30)), silent, 340 * time.Second},
		"... by the first that applies":    {pod(tolerates(-1), tolerates(5), told(noon), deleted(after(10), 30)), silent, 340 * time.Second},
		"the first that applies is less":   {pod(tolerates(60), tolerates(-1), told(noon), deleted(after(10), 30)), silent, 60 * time.Second},
		"it tells nothing of a loss":       {pod(tolerates(30), deleted(after(30), 30)), silent, 360 * time.Second},
		"somebody else has drained it":     {pod(tolerates(30), targeted(after(30)), deleted(after(30), 30)), silent, 360 * time.Second},
		"its node is back, and lost anew":  {pod(tolerates(30), told(after(-600)), deleted(after(-540), 600)), silent, 60 * time.Second},
		"its node answers":                 {pod(tolerates(30), told(noon), deleted(after(30), 30)), Node{Answers: true}, never},
		"its kubelet speaks":               {pod(tolerates(30), told(noon), deleted(after(30), 30)), Node{}, 360 * time.Second},
		"its node is gone":                 {pod(tolerates(30), told(noon), deleted(after(30), 30)), Node{}, 360 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			for _, trims := range []bool{false, true} {
				if trims {
					Trim(tc.pod.Pod)
				}
				judge := Judge{ForceReplaceAfter: 5 * time.Minute}
				at := never
				for d := -2 * time.Minute; d < 20*time.Minute && at == never; d += time.Second {
					judge.Now, judge.Nodes = noon.Add(d), nil
					if judge.DependsOnNode(tc.pod.Pod) && d >= 0 {
						judge.Nodes = map[string]Node{"n": tc.node}
					} else if judge.DependsOnNode(tc.pod.Pod) {
						judge.Nodes = map[string]Node{"n": {Answers: true}}
					}
					if judge.IsOverdue(tc.pod.Pod) {
						at = d
						require.Zero(t, judge.UntilOverdue(tc.pod.Pod))
					} else {
						wait := judge.UntilOverdue(tc.pod.Pod)
						require.Positive(t, wait, "somebody looks again")
						require.True(t, tc.want == never || d+wait <= tc.want+NodeInterval, "%s after noon, in %s", d, wait)
					}
				}
				require.Equal(t, tc.want, at)
			}
		})
	}
}

// Whoever says that nothing may be deleted by force means it, however sure the loss is.
func TestNothingIsGivenUpIfNothingMayBeForced(t *testing.T) {
	p := pod(tolerates(1), told(noon), tainted(noon), deleted(noon, 1))
	judge := Judge{Now: noon.Add(24 * time.Hour), Nodes: map[string]Node{"n": {SilentSince: noon}}}
	require.False(t, judge.DependsOnNode(p.Pod))
	require.Equal(t, Terminating, judge.Of(p, &Numbers{}, Replica{}))
	require.Zero(t, judge.UntilOverdue(p.Pod))
	_, says := judge.Waiting(p.Pod)
	require.Equal(t, "its pod is Terminating, and node n is not Ready since 2026-01-01T12:00:00Z", says)
}

func TestWhatFollowsFromALossIsTold(t *testing.T) {
	p := pod(tolerates(30), told(noon), tainted(noon.Add(30*time.Second)), deleted(noon.Add(30*time.Second), 30))
	judge := Judge{Now: noon.Add(40 * time.Second), ForceReplaceAfter: 5 * time.Minute}
	says := func() string {
		_, message := judge.Waiting(p.Pod)
		return message
	}
	const told = "its pod is Terminating, and node n is not Ready since 2026-01-01T12:00:00Z: if the node stays so, the operator deletes the pod by force from 2026-01-01T12:01:00Z on"
	require.Equal(t, told, says())
	p.Template.Spec.TerminationGracePeriodSeconds = new(int64(90))
	require.Equal(t, told, says(), "the pod says itself how much grace it has")
	loss := judge.NotReadyNode(p)
	require.Equal(t, noon.Add(30*time.Second), loss.Until)
	require.Equal(t, noon.Add(30*time.Second+spec.Grace(p.Template)), loss.Forced, "as long as it is not deleted")

	judge.Now, judge.Nodes = noon.Add(time.Minute), map[string]Node{"n": {SilentSince: noon.Add(20 * time.Second)}}
	require.Contains(t, says(), "from 2026-01-01T12:01:00Z on", "deleted at 12:00:30 with 30 seconds, and tolerated until 12:00:50")
	judge.Nodes = map[string]Node{"n": {SilentSince: noon.Add(45 * time.Second)}}
	require.Contains(t, says(), "from 2026-01-01T12:01:15Z on", "it came back meanwhile")
	judge.Nodes = map[string]Node{"n": {Answers: true}}
	require.Equal(t, "its pod is Terminating", says())

	judge.ForceReplaceAfter, judge.Nodes = 5*time.Second, nil
	p = pod(tolerates(-1), lostAndDeleted)
	require.Contains(t, says(), "by force from 2026-01-01T12:01:05Z on")
}

func lostAndDeleted(p *corev1.Pod) {
	told(noon)(p)
	deleted(noon.Add(30*time.Second), 30)(p)
}

package kernel_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// lost has the node of a pod be not Ready since a minute after the job's begin, as the node controller tells it. It gives the pod tolerations.
func lost(node string, tolerations ...corev1.Toleration) kt.PodOption {
	return func(p *corev1.Pod) {
		kt.Running(p)
		p.Spec.NodeName, p.Spec.Tolerations = node, tolerations
		p.Status.Conditions = append(p.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(kt.At(time.Minute))},
			corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
		podstate.Trim(p)
	}
}

// forSeconds are the tolerations that the apiserver adds to a pod.
func forSeconds(seconds int64) []corev1.Toleration {
	each := corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
	other := each
	other.Key = corev1.TaintNodeNotReady
	return []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](1)}, each, other}
}

// With the power of a node cut, a job said for five minutes that all its pods run normally.
func TestALostNodeIsNotRunningNormally(t *testing.T) {
	forever := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	for name, tc := range map[string]struct {
		pods []kt.PodOption
		want string
	}{
		"one pod": {
			[]kt.PodOption{kt.Running, lost("n1", forSeconds(300)...), kt.Running, kt.Running},
			"Node n1 is not Ready since 2026-01-01T00:01:00Z: nobody knows whether replica worker-1 runs. If it stays so, Kubernetes deletes its pods from 2026-01-01T00:06:00Z on, and the operator by force from 2026-01-01T00:06:30Z on, which counts as a disruption.",
		},
		"two of a node wait for longer and shorter": {
			[]kt.PodOption{lost("n1", forSeconds(300)...), kt.Running, lost("n1", forSeconds(30)...), kt.Running},
			"Node n1 is not Ready since 2026-01-01T00:01:00Z: nobody knows whether replicas worker-0, worker-2 run. If it stays so, Kubernetes deletes its pods from 2026-01-01T00:01:30Z on, and the operator by force from 2026-01-01T00:02:00Z on, which counts as a disruption.",
		},
		"no toleration, and two other nodes": {
			[]kt.PodOption{lost("n1"), lost("n2"), lost("n2"), lost("n3")},
			"Node n1 is not Ready since 2026-01-01T00:01:00Z: nobody knows whether replica worker-0 runs. If it stays so, Kubernetes deletes its pods from 2026-01-01T00:01:00Z on, and the operator by force from 2026-01-01T00:01:30Z on, which counts as a disruption. " +
				"2 other nodes with replicas of the job are not Ready, too.",
		},
		"more than a sentence names, and one other node": {
			slices.Concat(slices.Repeat([]kt.PodOption{lost("n1")}, 7), []kt.PodOption{lost("n2"), kt.Running}),
			"Node n1 is not Ready since 2026-01-01T00:01:00Z: nobody knows whether replicas worker-0, worker-1, worker-2, worker-3, worker-4 and 2 more run. " +
				"If it stays so, Kubernetes deletes its pods from 2026-01-01T00:01:00Z on, and the operator by force from 2026-01-01T00:01:30Z on, which counts as a disruption. Another node with replicas of the job is not Ready, too.",
		},
		"for ever": {
			[]kt.PodOption{kt.Running, kt.Running, kt.Running, lost("n1", forever...)},
			"Node n1 is not Ready since 2026-01-01T00:01:00Z: nobody knows whether replica worker-3 runs. Its pods tolerate that without a limit: if the node does not come back, delete them.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", int32(len(tc.pods))), kt.Begun)
			var pods []*corev1.Pod
			for rank, option := range tc.pods {
				pods = append(pods, kt.Pod(job, "worker", rank, option))
			}
			d := plan(t, job, kt.At(2*time.Minute), pods...)
			require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
			require.Equal(t, tc.want, condition(d.Status, v1beta1.ConditionRunning).Message)
			require.Equal(t, "No pod has failed.", condition(d.Status, v1beta1.ConditionReplicaFailure).Message)
			require.Equal(t, d.Status, plan(t, after(job, d), kt.At(3*time.Minute), pods...).Status, "the same is not written again")
		})
	}
}

// A kubelet that takes Ready back gives a reason; so does whoever sets no condition of a readiness gate.
func TestAPodThatIsNotReadyHasNotLostItsNode(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"a probe fails": func(p *corev1.Pod) {
			p.Status.Conditions[0].Reason, p.Status.Conditions[1].Status = "ContainersNotReady", corev1.ConditionFalse
		},
		"a gate is not set":    func(p *corev1.Pod) { p.Status.Conditions[0].Reason = "ReadinessGatesNotReady" },
		"its node came back":   func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionTrue },
		"it has no node":       func(p *corev1.Pod) { p.Spec.NodeName = "" },
		"containers not there": func(p *corev1.Pod) { p.Status.Conditions = p.Status.Conditions[:1] },
	} {
		p := kt.Pod(kt.Job(kt.Type("worker", 1)), "worker", 0, lost("n1"))
		require.NotNil(t, podstate.Judge{}.NotReadyNode(podstate.Pod{Pod: p}))
		change(p)
		require.Nil(t, podstate.Judge{}.NotReadyNode(podstate.Pod{Pod: p}), name)
	}
}

// A pod that is being deleted says the same of its node, and when that ends. So does one that nobody may delete by force.
func TestALostNodeIsToldToTheEnd(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Begun)
	deleting := kt.Pod(job, "worker", 1, lost("n1", forSeconds(30)...), func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: kt.At(2 * time.Minute)}, ptr.To[int64](30)
	})
	pods := []*corev1.Pod{kt.Pod(job, "worker", 0, lost("n1", forSeconds(300)...)), deleting}
	d := plan(t, job, kt.At(100*time.Second), pods...)
	require.Equal(t, "Waiting for replica worker-1: its pod is Terminating, and node n1 is not Ready since 2026-01-01T00:01:00Z: if the node stays so, the operator deletes the pod by force from 2026-01-01T00:02:00Z on. "+
		"Node n1 is not Ready since 2026-01-01T00:01:00Z: nobody knows whether replica worker-0 runs. If it stays so, Kubernetes deletes its pods from 2026-01-01T00:06:00Z on, and the operator by force from 2026-01-01T00:06:30Z on, which counts as a disruption.",
		condition(d.Status, v1beta1.ConditionRunning).Message)
	require.Equal(t, 20*time.Second, d.RequeueAfter, "it looks again when the grace period is over")

	w := kernel.World{Job: job, Now: kt.At(2 * time.Minute), Pods: pods, Settings: kt.Settings}
	require.Zero(t, kernel.Plan(w).Status.DisruptionCount, "nobody has looked at the node")
	w.Nodes = map[string]podstate.Node{"n1": {Answers: true}}
	require.Zero(t, kernel.Plan(w).Status.DisruptionCount, "the node is back")
	w.Nodes = map[string]podstate.Node{"n1": {SilentSince: kt.At(time.Minute)}}
	require.EqualValues(t, 1, kernel.Plan(w).Status.DisruptionCount)
	require.Zero(t, kernel.Plan(w).Status.BackoffCount)

	w.Settings.ForceReplaceAfter, w.Pods = 0, pods[:1]
	job = kt.Job(kt.Type("worker", 1), kt.Begun)
	w.Job = job
	require.Equal(t, "Node n1 is not Ready since 2026-01-01T00:01:00Z: nobody knows whether replica worker-0 runs. If it stays so, Kubernetes deletes its pods from 2026-01-01T00:06:00Z on. "+
		"The operator waits until they are gone, for its flag --force-replace-after is 0.", condition(kernel.Plan(w).Status, v1beta1.ConditionRunning).Message)
}

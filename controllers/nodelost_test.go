package controllers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// waitsForNode are the seconds for which a pod waits for a node that is not Ready, by taint.
func waitsForNode(pod *corev1.Pod) map[string]int64 {
	list := map[string]int64{}
	for _, t := range pod.Spec.Tolerations {
		if t.TolerationSeconds != nil && t.Effect == corev1.TaintEffectNoExecute && t.Operator == corev1.TolerationOpExists {
			list[t.Key] += *t.TolerationSeconds
		}
	}
	return list
}

// An apiserver adds 300 seconds to pods that say nothing of a lost node themselves.
func TestPodsSayHowLongTheyWaitForALostNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{settings: kernel.Settings{NodeLostAfter: 70 * time.Second}})
	for name, tc := range map[string]struct {
		spec string
		want int64
	}{
		"job-says":      {`{nodeLost: {afterSeconds: 30}, replicaSpecs: [{type: main, template: POD}]}`, 30},
		"operator-says": {`{replicaSpecs: [{type: main, template: POD}]}`, 70},
		"template-says": {`{nodeLost: {afterSeconds: 30}, replicaSpecs: [{type: main, template: {spec: {containers: [{name: main, image: busybox}], tolerations: [
			{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5},
			{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]}}}]}`, 5},
	} {
		c.submit(name, tc.spec)
		pod := c.pods(c.awaitPhase(name, v1beta1.JobRunning))["main-0"]
		require.Equal(t, map[string]int64{corev1.TaintNodeNotReady: tc.want, corev1.TaintNodeUnreachable: tc.want}, waitsForNode(&pod), name)
	}
}

// A pod whose node is known to be lost does not wait for --force-replace-after. As long as the node answers, it stays.
func TestAPodOfALostNodeIsReplacedOnceItsGraceIsOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}
	require.NoError(t, c.Create(c.ctx, node))
	is := func(status corev1.ConditionStatus) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute))}}
		require.NoError(t, c.Status().Update(c.ctx, node))
	}
	is(corev1.ConditionTrue)
	c.be(func(k *kubelet) { k.Node = node.Name })
	c.operate(operation{settings: kernel.Settings{ForceReplaceAfter: 24 * time.Hour}})
	c.submit("lost", `{nodeLost: {afterSeconds: 1}, replicaSpecs: [
		{type: main, template: {spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: busybox}]}}}]}`)
	job := c.awaitPhase("lost", v1beta1.JobRunning)
	c.be(func(k *kubelet) { k.stuck = true })
	old := c.pods(job)["main-0"]
	since := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	c.until("Ready is taken back", func() bool {
		pod := c.pods(job)["main-0"]
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: since},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: since},
		}
		return c.Status().Update(c.ctx, &pod) == nil
	})
	told := "Node " + node.Name + " is not Ready since " + since.UTC().Format(time.RFC3339) + ": nobody knows whether replica main-0 runs."
	c.await("lost", func(j *v1beta1.GenericJob) bool {
		return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, told)
	})
	c.remove(old)
	gone := c.pods(job)["main-0"].DeletionTimestamp
	c.until("its grace period is over", func() bool { return gone != nil && time.Now().After(gone.Add(time.Second)) })

	looks := func(deadline int64) { // an edit leads to a look
		c.edit("lost", func(s *v1beta1.GenericJobSpec) { s.ActiveDeadlineSeconds = &deadline })
		c.await("lost", func(j *v1beta1.GenericJob) bool { return j.Status.ObservedGeneration == j.Generation })
	}
	for i, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse} {
		is(status)
		looks(int64(3600 + i))
		require.Equal(t, old.UID, c.pods(job)["main-0"].UID, "Ready of its node is %s", status)
		require.Zero(t, c.job("lost").Status.DisruptionCount)
	}
	is(corev1.ConditionUnknown)
	looks(7200)
	c.until("another pod", func() bool {
		pod, there := c.pods(job)["main-0"]
		return there && pod.UID != old.UID
	})
	require.EqualValues(t, 1, c.job("lost").Status.DisruptionCount)
	require.Zero(t, c.job("lost").Status.BackoffCount)
}

package controllers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// excluded are the nodes that each term of a pod's required affinity excludes.
func excluded(pod *corev1.Pod) (terms [][]string) {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	for _, t := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var nodes []string
		for _, f := range t.MatchFields {
			nodes = append(nodes, string(f.Operator)+" "+f.Values[0])
		}
		terms = append(terms, nodes)
	}
	return terms
}

// A real apiserver takes what pods get, and stores what a job knows of nodes.
func TestAJobAvoidsANodeOnWhichItHasFailed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var names []string
	for range 2 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "bad-or-not-"}}
		require.NoError(t, c.Create(c.ctx, node))
		names = append(names, node.Name)
	}
	bad, good := names[0], names[1]
	c.be(func(k *kubelet) { k.Node = bad })
	c.operate(operation{})
	c.submit("avoids", `{backoffLimit: 9, avoidNodes: {within: 2h}, replicaSpecs: [{type: main, template: {spec: {
		affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			{matchExpressions: [{key: zone, operator: In, values: [a]}]}, {matchExpressions: [{key: zone, operator: In, values: [b]}]}]}}},
		containers: [{name: main, image: busybox}]}}}]}`)
	for attempt := range 2 {
		var pod corev1.Pod
		c.until(fmt.Sprint("attempt ", attempt, " runs"), func() bool { // the phase stays Running while a replica is replaced
			pod = c.pods(c.job("avoids"))["main-0"]
			return pod.Labels[v1beta1.LabelAttempt] == fmt.Sprint(attempt) && pod.Status.Phase == corev1.PodRunning
		})
		require.Equal(t, [][]string{nil, nil}, excluded(&pod))
		if attempt == 1 {
			c.be(func(k *kubelet) { k.Node = good }) // before its successor is placed
		}
		c.finishAttempt(c.job("avoids"), "main-0", fmt.Sprint(attempt), 17)
	}
	job := c.await("avoids", func(j *v1beta1.GenericJob) bool { return len(j.Status.AvoidedNodes) > 0 && j.Status.Running == "1/1" })
	n := job.Status.AvoidedNodes[0]
	require.Equal(t, bad, n.Node)
	require.Equal(t, v1beta1.AvoidFailed, n.Reason)
	require.EqualValues(t, 2, n.Failures)
	require.Contains(t, n.Message, "exited with error code 17")
	c.awaitEvent(job, "Warning NodeAvoided", "New pods avoid node "+bad+" until ", "It had 2 failures within 2h; the last: Pod[")
	pod := c.pods(job)["main-0"]
	require.Equal(t, good, pod.Spec.NodeName)
	require.Equal(t, [][]string{{"NotIn " + bad}, {"NotIn " + bad}}, excluded(&pod))
	c.finishAttempt(job, "main-0", "2", 0)
	done := c.awaitPhase("avoids", v1beta1.JobSucceeded)
	require.Len(t, done.Status.AvoidedNodes, 1, "it stays told")
}

package suite_test

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// topologyPlacesPods has Kueue choose the hosts of pods, of two that have four slots and two.
func topologyPlacesPods(s *space) {
	addNode(s.t)
	giveSlots(s.t, second, 2)
	labelNode(s.t, second, "example.com/pool", "training")
	allOnOneHost(s)
	neighboursByRank(s)
	badHostIsLeft(s)
}

// near is a template of the queue that says how near its pods are to be.
func near(annotation string) string {
	return strings.Replace(slotted("obey"), `{"spec": {`, `{"metadata": {"annotations": {`+annotation+`}}, "spec": {`, 1)
}

const oneHost = `"kueue.x-k8s.io/podset-required-topology": "kubernetes.io/hostname"`

// allOnOneHost has the pods of a job on one host, also one that takes another's place when a third has succeeded.
func allOnOneHost(s *space) {
	job := s.queued("together", "low", near(oneHost))
	for restarts, running := range []string{"3/3", "2/2"} {
		s.await("together", "its restarts", func(j *v1beta1.GenericJob) bool { return int(j.Status.BackoffCount) == restarts })
		s.awaitRunning("together", running)
		for _, pod := range s.pods(job) {
			require.Empty(s.t, pod.Spec.SchedulingGates)
			require.Equal(s.t, "local", pod.Spec.NodeSelector[corev1.LabelHostname], "Kueue has chosen the host")
		}
		if restarts == 0 {
			s.finish(job, 0)
			s.end(job, "worker", 1, 1)
		}
	}
	s.finish(job, 1, 2)
	s.awaitPhase("together", v1beta1.JobSucceeded)
	s.requireRuns(job, "worker", 1, 2, 1)

	tooMany := s.submit("apart", sixOf(near(oneHost)))
	s.await("apart", "that no host has room", func(j *v1beta1.GenericJob) bool {
		return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, "topology")
	})
	require.Empty(s.t, s.pods(tooMany))
	require.NoError(s.t, s.Delete(s.ctx, tooMany))
}

func sixOf(template string) string {
	return "{scheduler: {kueue: {queueName: team}}, replicaSpecs: [{type: worker, replicas: 6, template: " + template + "}]}"
}

// neighboursByRank has six pods on the two hosts, by rank: no rank of one host lies between two of the other.
func neighboursByRank(s *space) {
	job := s.submit("ranks", sixOf(near("")))
	s.awaitRunning("ranks", "6/6")
	var hosts []string
	pods := s.pods(job)
	for _, rank := range []string{"0", "1", "2", "3", "4", "5"} {
		pod := pods["worker-"+rank]
		require.Equal(s.t, pod.Spec.NodeName, pod.Spec.NodeSelector[corev1.LabelHostname], "Kueue has chosen the host")
		hosts = append(hosts, pod.Spec.NodeName)
	}
	require.Len(s.t, slices.Compact(slices.Clone(hosts)), 2, "%v", hosts)
	s.finish(job, 0, 1, 2, 3, 4, 5)
	s.succeedsUncounted("ranks")
}

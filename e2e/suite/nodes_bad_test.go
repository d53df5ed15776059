package suite_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// faults is a folder in which a file has the name of each bad node: code that looks there fails on such a node.
type faults string

func newFaults(s *space) faults {
	folder := s.t.TempDir()
	require.NoError(s.t, os.Chmod(folder, 0o755)) // the worker is not root
	return faults(folder)
}

// on has a node be bad from now on.
func (f faults) on(s *space, node string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(string(f), node), nil, 0o600))
}

// in has the code of a template look at the folder first.
func (f faults) in(template string) string {
	template = strings.Replace(template, `"args": [`, `"args": ["fault", "/faults", "17", "then", `, 1)
	template = strings.Replace(template, `"env": [`, `"volumeMounts": [{"name": "faults", "mountPath": "/faults"}], "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}, `, 1)
	return inPod(template, `"volumes": [{"name": "faults", "hostPath": {"path": "`+string(f)+`"}}]`)
}

// avoided waits until a job avoids a node because code failed there, and demands that it says so everywhere.
func (s *space) avoided(job *v1beta1.GenericJob, node string) {
	s.t.Helper()
	now := s.await(job.Name, "it avoids "+node, func(j *v1beta1.GenericJob) bool { return len(j.Status.AvoidedNodes) > 0 })
	require.Len(s.t, now.Status.AvoidedNodes, 1)
	n := now.Status.AvoidedNodes[0]
	require.Equal(s.t, node, n.Node)
	require.Equal(s.t, v1beta1.AvoidFailed, n.Reason)
	require.EqualValues(s.t, 2, n.Failures)
	require.Contains(s.t, n.Message, "exited with error code 17")
	s.awaitEvent(job, corev1.EventTypeWarning, "NodeAvoided: New pods avoid node "+node+" until ")
}

// badNodeIsLeft has a job fail on a node, and go on elsewhere. What another job prints and exits with has no effect on a third.
func badNodeIsLeft(s *space) {
	bad := newFaults(s)
	bad.on(s, second)
	job := s.submit("leaves", `{backoffLimit: 9, avoidNodes: {within: 1h}, replicaSpecs: [
		{type: worker, replicas: 2, template: `+bad.in(there(false, "print up then obey"))+`}]}`)
	s.submit("shouts", `{backoffLimit: 9, replicaSpecs: [
		{type: worker, template: `+there(true, "print NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus then fail 3 17 then obey")+`}]}`)
	s.avoided(job, second)
	s.awaitRunning("leaves", "2/2")
	for name, pod := range s.pods(job) {
		require.NotEqual(s.t, second, pod.Spec.NodeName, name)
	}
	s.await("shouts", "it has failed three times", func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount == 3 })
	require.Empty(s.t, s.job("shouts").Status.AvoidedNodes, "who does not ask for it avoids nothing")

	third := s.submit("mine", `{avoidNodes: {}, replicaSpecs: [{type: worker, template: `+there(true, "print up then obey")+`}]}`)
	s.awaitRunning("mine", "1/1")
	require.Empty(s.t, s.job("mine").Status.AvoidedNodes)
	s.requireOn(third, second)
	s.end(third, "worker", 0, 0)
	s.awaitPhase("mine", v1beta1.JobSucceeded)

	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	done := s.awaitPhase("leaves", v1beta1.JobSucceeded)
	require.LessOrEqual(s.t, done.Status.BackoffCount, int32(4), "two replicas have failed twice")
	require.Equal(s.t, second, done.Status.AvoidedNodes[0].Node)
	s.awaitReleased(job)
}

// badNodeIsLeftInPlace has all replicas begin again in their pods, but for those on a bad node.
func badNodeIsLeftInPlace(s *space) {
	bad := newFaults(s)
	able := strings.Replace(bad.in(there(false, "print up then obey")), `"args"`, `"command": ["/worker"], "args"`, 1)
	job := s.submit("moves", `{restartScope: Job, restartStrategy: InPlace, inPlaceLimit: 10, backoffLimit: 9, avoidNodes: {}, replicaSpecs: [
		{type: worker, replicas: 2, template: `+able+`}]}`)
	s.awaitRunning("moves", "2/2")
	s.requireOn(job, second)
	before := s.identities(job)
	bad.on(s, second)
	s.end(job, "worker", 1, 17)
	s.avoided(job, second)
	s.await("moves", "it runs elsewhere", func(j *v1beta1.GenericJob) bool {
		for name, pod := range s.pods(job) {
			if pod.Spec.NodeName == second || pod.UID == before[name] {
				return false
			}
		}
		return j.Status.Running == "2/2"
	})
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	done := s.awaitPhase("moves", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 2, done.Status.BackoffCount)
}

// badHostIsLeft has Kueue choose the host of a job that fails there. Its new Workload is admitted elsewhere.
func badHostIsLeft(s *space) {
	bad := newFaults(s)
	job := s.submit("requeues", `{scheduler: {kueue: {queueName: team}}, restartScope: Job, backoffLimit: 9, avoidNodes: {}, replicaSpecs: [
		{type: worker, replicas: 2, template: `+bad.in(near(oneHost))+`}]}`)
	s.awaitRunning("requeues", "2/2")
	host := ""
	for _, pod := range s.pods(job) {
		host = pod.Spec.NodeName
	}
	bad.on(s, host)
	s.end(job, "worker", 0, 17)
	s.avoided(job, host)
	s.awaitEvent(job, corev1.EventTypeNormal, "Queued: Kueue has chosen node "+host+" for pods of the job, which avoids that node")
	s.awaitRunning("requeues", "2/2")
	for name, pod := range s.pods(job) {
		require.NotEqual(s.t, host, pod.Spec.NodeName, name)
		require.Equal(s.t, pod.Spec.NodeName, pod.Spec.NodeSelector[corev1.LabelHostname], "Kueue has chosen the host")
	}
	require.EqualValues(s.t, 2, s.job("requeues").Status.BackoffCount)
	s.finish(job, 0, 1)
	s.awaitPhase("requeues", v1beta1.JobSucceeded)
}

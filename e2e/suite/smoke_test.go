package suite_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestSmoke follows one job from create to delete: replicas find each other by name, one fails once and is restarted.
func TestSmoke(t *testing.T) {
	s := newSpace(t)
	job := s.submit("smoke", `
service: {ports: [{name: train, port: 7000}]}
replicaSpecs:
- type: master
  template: `+pod("resolve $(service.master[0].host) then obey")+`
- type: worker
  replicas: 2
  restartPolicy: {policy: OnFailure, limit: 3}
  template: `+pod("resolve $(service.master[0].host) $(service.worker[1].host) then fail 1 1 1"))

	done := s.await("smoke", "both workers succeeded", func(j *v1beta1.GenericJob) bool {
		return len(j.Status.Ledger) == 1 && j.Status.Ledger[0].Succeeded == "0-1"
	})
	require.NotEqual(t, v1beta1.JobSucceeded, done.Status.Phase, "the master has not finished")
	master := "address smoke-master-0.smoke." + s.ns + ".svc.cluster.local " + s.pods(job)["master-0"].Status.PodIP + "\n"
	require.Contains(t, s.logs(job, "master", 0), "hostname smoke-master-0\n"+master)
	require.Contains(t, s.logs(job, "worker", 0), "hostname smoke-worker-0\n"+master)
	require.Contains(t, s.logs(job, "worker", 1), "hostname smoke-worker-1\n"+master)
	s.end(job, "master", 0, 0)

	done = s.awaitPhase("smoke", v1beta1.JobSucceeded)
	require.EqualValues(t, 1, done.Status.BackoffCount)
	require.EqualValues(t, 1, done.Status.Tasks[1].RestartCount)
	require.Zero(t, done.Status.DisruptionCount)
	require.EqualValues(t, 3, done.Status.Aggregate.Succeeded)
	s.requireRuns(job, "master", 1)
	s.requireRuns(job, "worker", 1, 2)
	s.awaitReleased(job)
	require.Len(t, s.pods(job), 3, "cleanUpPolicy None keeps all pods")

	require.NoError(t, s.Delete(s.ctx, done))
	s.awaitGone(done)
	s.awaitPods(job)
	s.awaitGone(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "smoke", Namespace: s.ns}})
}

// TestSmokeInPlace has one of three ranks fail: all begin again, the others in their pods. From Kubernetes 1.35 on the kubelet starts
// containers again by rules, and the rank that failed stays in its pod. Elsewhere it has a new one.
func TestSmokeInPlace(t *testing.T) {
	s := newSpace(t)
	job, before := s.together("smoke-in-place", 3, 3)
	s.end(job, "worker", 1, 3)
	s.awaitCode(job, 1, upTo(3)...)
	after := s.identities(job)
	require.Equal(t, before["worker-0"], after["worker-0"])
	require.Equal(t, before["worker-2"], after["worker-2"])
	pods := 1
	if minor := s.kubernetes(); minor < 35 {
		t.Logf("Kubernetes 1.%d starts no container of a pod again that has restartPolicy Never: the pod is replaced", minor)
		pods = 2
	}
	require.Equal(t, pods == 1, before["worker-1"] == after["worker-1"], "the pod of the rank that failed")
	s.finishRanks(job, 1, 0, upTo(3)...)
	s.requireRuns(job, "worker", 1, pods, 1)
}

// kubernetes is the cluster's minor version.
func (s *space) kubernetes() int {
	s.t.Helper()
	text, err := s.kubectl("get", "--raw", "/version")
	require.NoError(s.t, err, text)
	info := version.Info{}
	require.NoError(s.t, json.Unmarshal([]byte(text), &info), text)
	minor, err := strconv.Atoi(strings.TrimSuffix(info.Minor, "+"))
	require.NoError(s.t, err, text)
	return minor
}

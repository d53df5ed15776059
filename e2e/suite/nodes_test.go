package suite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// second is the node that TestNodes adds beside the first. A taint keeps all pods off it that do not ask for it.
const second = "second"

// TestNodes has jobs on a node to which things happen. It needs the local cluster, and leaves it with its one node.
func TestNodes(t *testing.T) {
	disk := addNode(t)
	for _, tc := range []struct {
		name string
		test func(*space)
	}{
		{"containerd killed", func(s *space) { nodeComesBack(s, "containerd", true) }},
		{"kubelet killed", func(s *space) { nodeComesBack(s, "kubelet", false) }},
		{"power failure", powerFailureIsNoFailure},
		{"lost for less than its pods wait", lostNodeIsTold},
		{"lost for longer than its pods wait", lostNodeIsLeft},
		{"lost, and the job waits 30 seconds", lostNodeIsLeftSoon},
		{"lost under pods that restart in place", lostNodeAmongInPlace},
		{"lost, with a spare place", spareIsTaken},
		{"bad", badNodeIsLeft},
		{"bad under pods that restart in place", badNodeIsLeftInPlace},
		{"emptyDir over its limit", fullEmptyDirIsAFailure},
		{"disk full", func(s *space) { fullDiskEvicts(s, disk) }},
		{"drained", drainedNodeIsLeft},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(newSpace(t)) })
	}
}

// addNode adds the second node for the rest of the test, with the worker's image and the operator's, and returns the folder of its kubelet.
func addNode(t *testing.T) string {
	t.Helper()
	t.Cleanup(func() {
		text, err := localCluster(context.Background(), "node", "remove", second)
		require.NoError(t, err, text)
	})
	text, err := localCluster(t.Context(), "node", "add", second)
	require.NoError(t, err, text)
	folder := strings.TrimSpace(text)
	// The operator's image holds the wrapper of pods that restart in place.
	text, err = localCluster(t.Context(), "load", archive, filepath.Join(root, "dist", "genericjob-manager.tar"))
	require.NoError(t, err, text)
	return folder
}

// localCluster runs a verb of the local cluster's and returns what it prints; if it fails, what it says as well.
func localCluster(ctx context.Context, args ...string) (string, error) {
	run := exec.CommandContext(ctx, "go", append([]string{"-C", "e2e/localcluster", "run", "."}, args...)...)
	problems := &strings.Builder{}
	run.Dir, run.Stderr = root, problems
	text, err := run.Output()
	if err != nil {
		return string(text) + problems.String(), fmt.Errorf("localcluster %v: %w", args, err)
	}
	return string(text), nil
}

// killOnNode kills a program of the second node: kubelet, containerd, or everything.
func (s *space) killOnNode(program string) {
	s.t.Helper()
	s.t.Cleanup(func() { _, _ = localCluster(context.Background(), "node", "start", second) }) // for those that come next
	text, err := localCluster(s.ctx, "node", "kill", second, program)
	require.NoError(s.t, err, text)
}

// startNode starts what does not run of the second node, and waits until it is ready.
func (s *space) startNode() {
	s.t.Helper()
	text, err := localCluster(s.ctx, "node", "start", second)
	require.NoError(s.t, err, text)
}

// there is pod, for the second node alone if it must run there, else for any when that one cannot take it. It leaves a
// node three seconds after that is found lost, or never if it must run there.
func there(must bool, steps string) string {
	place := `"nodeSelector": {"kubernetes.io/hostname": "` + second + `"}, "tolerations": [{"key": "genericjob.test/added-node"},
		{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "operator": "Exists"},
		{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "operator": "Exists"}]`
	if !must {
		place = `"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference":
			{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["` + second + `"]}]}}]}},
			"tolerations": [{"key": "genericjob.test/added-node"},
			{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 3},
			{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 3}]`
	}
	return strings.Replace(pod(steps), `{"spec": {`, `{"spec": {`+place+`, `, 1)
}

// requireOn demands that all pods of a job that have not ended are on a node, and returns them.
func (s *space) requireOn(job *v1beta1.GenericJob, node string) map[string]corev1.Pod {
	s.t.Helper()
	pods := s.pods(job)
	for name, pod := range pods {
		ended := slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Terminated != nil })
		if pod.Status.Phase == corev1.PodRunning && !ended { // a kubelet that is killed may say Running of a pod that has ended
			require.Equal(s.t, node, pod.Spec.NodeName, "%s of %s", name, job.Name)
		}
	}
	return pods
}

// awaitNode waits until a condition of the second node has this status, or not any more.
func (s *space) awaitNode(kind corev1.NodeConditionType, status corev1.ConditionStatus, is bool) {
	s.t.Helper()
	s.until(fmt.Sprintf("node %s: %s=%s is %v", second, kind, status, is), func() bool {
		node := &corev1.Node{}
		require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Name: second}, node))
		for _, c := range node.Status.Conditions {
			if c.Type == kind {
				return (c.Status == status) == is
			}
		}
		return false
	})
}

// term sends SIGTERM to the worker of a pod, past a kubelet that does not answer, and waits until it has ended.
func (s *space) term(pod corev1.Pod) {
	s.t.Helper()
	pid := processOf(&pod, "/worker")
	require.NotZero(s.t, pid, "the worker of %s runs", pod.Name)
	require.NoError(s.t, syscall.Kill(pid, syscall.SIGTERM))
	s.awaitStopped(pod)
}

// awaitStopped waits until the worker of a pod runs no more on this machine.
func (s *space) awaitStopped(pod corev1.Pod) {
	s.t.Helper()
	s.until("the worker of "+pod.Name+" ends", func() bool { return processOf(&pod, "/worker") == 0 })
}

// fill writes a file into a small disk until nearly nothing is left of it, and returns how to make room again.
func (s *space) fill(disk string) (makeRoom func()) {
	s.t.Helper()
	state := syscall.Statfs_t{}
	require.NoError(s.t, syscall.Statfs(disk, &state))
	free := int(state.Bavail) * int(state.Bsize)
	require.Less(s.t, free, 1<<30, "%s is no small disk", disk)
	file := filepath.Join(disk, "filler")
	makeRoom = func() { _ = os.Remove(file) }
	s.t.Cleanup(makeRoom)
	require.NoError(s.t, os.WriteFile(file, make([]byte, free-200<<10), 0o600))
	return makeRoom
}

package podstate

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What a container said last is read before it is shortened, and its record is the same as of the whole pod.
func TestWordsAreReadBeforeTheyAreShortened(t *testing.T) {
	const (
		trace = "Traceback (most recent call last):\n  File \"/train.py\", line 12, in main\n    raise ValueError(x)\nValueError: loss is nan at step 3 in shard 17\n"
		gloo  = "Traceback (most recent call last):\n  File \"/train.py\", line 11, in main\nRuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411\n"
		block = "Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-23_18:00:01\n  rank      : 2 (local_rank: 0)\n  exitcode  : -9 (pid: 29)\n" +
			"  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 29\n====\n"
	)
	for name, tc := range map[string]struct {
		said, reported string
		code           int32
		want           v1beta1.ReplicaFailure
	}{
		"an exception": {"[rank2]: x\n" + trace, `exited with error code 1: "ValueError: loss is nan at step 3 in shard 17" at /train.py:12, in main`, 1,
			v1beta1.ReplicaFailure{Exception: "ValueError: loss is nan at step 3 in shard 17", Frame: "/train.py:12, in main"}},
		"a consequence": {gloo, `exited with error code 1: "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411" at /train.py:11, in main`, 1,
			v1beta1.ReplicaFailure{Exception: "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411",
				Frame: "/train.py:11, in main", Follows: "a peer closed its connection"}},
		"under torchrun": {trace + block, `exited with error code 1: "rank 2 was killed by SIGKILL"`, 1, v1beta1.ReplicaFailure{ProcessRank: ptr.To[int32](2), WorkerSignal: "SIGKILL"}},
		"PyTorch's error file, cut": {`n in x", "extraInfo": {"py_callstack": "` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(trace) + `", "timestamp": "1795575339"}}}`,
			`exited with error code 1: "ValueError: loss is nan at step 3 in shard 17" at /train.py:12, in main`, 1,
			v1beta1.ReplicaFailure{Exception: "ValueError: loss is nan at step 3 in shard 17", Frame: "/train.py:12, in main"}},
		"told to end": {"step 3", `exited with error code 143 (SIGTERM), last output: "step 3"`, 143, v1beta1.ReplicaFailure{Follows: "it was told to end"}},
		"anything":    {"step 3\n----\n", `exited with error code 3, last output: "step 3"`, 3, v1beta1.ReplicaFailure{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(exited(tc.code, noon))
			p.Status.ContainerStatuses[0].State.Terminated.Message = tc.said
			whole := p.Failure()
			p.Pod = Trim(p.Pod)
			require.Equal(t, whole, p.Failure())
			require.Equal(t, "Pod[p] "+tc.reported, p.FailureSentence())
			got := p.Failure()
			got = v1beta1.ReplicaFailure{ProcessRank: got.ProcessRank, Exception: got.Exception, Frame: got.Frame, Follows: got.Follows, WorkerExitCode: got.WorkerExitCode, WorkerSignal: got.WorkerSignal}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestAMessageThatSaysWhyIsNotJustOutput(t *testing.T) {
	for name, tc := range map[string]struct {
		failure v1beta1.ReplicaFailure
		want    bool
	}{
		"nothing says why":      {v1beta1.ReplicaFailure{}, true},
		"an exception":          {v1beta1.ReplicaFailure{Exception: "ValueError: x"}, false},
		"a worker's exit code":  {v1beta1.ReplicaFailure{WorkerExitCode: ptr.To[int32](3)}, false},
		"a worker's signal":     {v1beta1.ReplicaFailure{WorkerSignal: "SIGKILL"}, false},
		"somebody else's words": {v1beta1.ReplicaFailure{Reason: "StartError"}, false},
	} {
		tc.failure.ExitCode = ptr.To[int32](1)
		require.Equal(t, tc.want, IsJustOutput(&tc.failure), name)
	}
}

// What has failed before anyone asks for its deletion needs no mark.
func TestWhoLacksAMark(t *testing.T) {
	initFailed := func(after time.Duration, policy *corev1.ContainerRestartPolicy) Pod {
		p := unmadeInit()
		deleted(noon, 30)(p.Pod)
		p.Status.Phase, p.Status.InitContainerStatuses[0].State = corev1.PodPending, end(1)
		p.Status.InitContainerStatuses[0].State.Terminated.FinishedAt.Time = noon.Add(after)
		p.Template.Spec.InitContainers[0].RestartPolicy = policy
		return p
	}
	logging := func(p Pod) Pod { // the other container runs on
		p.Status.Phase, p.Status.ContainerStatuses[1].State = corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		return p
	}
	for name, tc := range map[string]struct {
		pod  Pod
		want bool
	}{
		"it runs":                         {pod(), true},
		"it has failed":                   {pod(exited(1, noon)), false},
		"it has failed, and is deleted":   {pod(exited(1, noon), deleted(noon.Add(time.Minute), 30)), false},
		"it was deleted, and then ended":  {pod(exited(1, noon.Add(time.Minute)), deleted(noon, 30)), true},
		"its init container had failed":   {initFailed(-time.Second, nil), false},
		"... and is started again":        {initFailed(-time.Second, ptr.To(corev1.ContainerRestartPolicyOnFailure)), true},
		"its init container fails later":  {initFailed(time.Second, nil), true},
		"its main container did its work": {logging(withLogger(0, noon, deleted(noon.Add(time.Minute), 30))), false},
		"... after the deletion":          {logging(withLogger(0, noon, deleted(noon.Add(-time.Minute), 30))), true},
		"its main container had failed":   {logging(withLogger(1, noon, deleted(noon.Add(time.Minute), 30))), false},
		"... in the same second":          {logging(withLogger(0, noon, deleted(noon, 30))), false},
		"... when a drain had begun":      {logging(withLogger(0, noon, deleted(noon, 30), targeted(noon.Add(-time.Second)))), true},
		"it failed in the same second":    {logging(withLogger(1, noon, deleted(noon, 30))), true},
		"it is marked":                    {pod(annotated(v1beta1.AnnotationDisrupted)), false},
	} {
		require.Equal(t, tc.want, tc.pod.LacksMark(), name)
	}
}

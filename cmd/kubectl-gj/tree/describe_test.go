package tree

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What code has said last is told as that, unless it tells of the end.
func TestAFailureIsDescribed(t *testing.T) {
	failure := func(code int32, message string, edits ...func(*v1beta1.ReplicaFailure)) v1beta1.ReplicaFailure {
		r := v1beta1.ReplicaFailure{ExitCode: ptr.To(code), Reason: "Error", Message: message}
		for _, edit := range edits {
			edit(&r)
		}
		return r
	}
	frame := func(r *v1beta1.ReplicaFailure) { r.Frame = "/t.py:1, in f" }
	for want, r := range map[string]v1beta1.ReplicaFailure{
		"failed":                             {},
		"exit code 3":                        failure(3, ""),
		`exit code 3, last output: "step 7"`: failure(3, "step 6\nstep 7\n"),
		`exit code 1, "ValueError: no" at /t.py:1, in f`:            failure(1, "step 7", frame, func(r *v1beta1.ReplicaFailure) { r.Exception = "ValueError: no" }),
		`exit code 1, "a peer is gone"`:                             failure(1, "a peer is gone", func(r *v1beta1.ReplicaFailure) { r.Follows = "a peer closed its connection" }),
		`exit code 1, "rank 3 exited with code 9"`:                  failure(1, "rank 3 exited with code 9", func(r *v1beta1.ReplicaFailure) { r.WorkerExitCode = ptr.To[int32](9) }),
		`exit code 124, "heartbeat: no line" at /t.py:1, in f`:      failure(124, "heartbeat: no line", frame),
		`exit code 128, StartError, "no such file"`:                 failure(128, "no such file", func(r *v1beta1.ReplicaFailure) { r.Reason = "StartError" }),
		`exit code 134 (SIGABRT), last output: "x"`:                 failure(134, "x"),
		`exit code 137 (SIGKILL), OOMKilled, last output: "step 7"`: failure(137, "step 7", func(r *v1beta1.ReplicaFailure) { r.Reason = "OOMKilled" }),
		"exit code 139 (SIGSEGV)":                                   failure(139, ""),
		`exit code 143 (SIGTERM), last output: "step 7"`:            failure(143, "step 7", func(r *v1beta1.ReplicaFailure) { r.Follows = "it was told to end" }),
		`Evicted, "The node was low on memory"`:                     {Reason: "Evicted", Message: "The node was low on memory"},
	} {
		require.Equal(t, want, Describe(r))
	}
}

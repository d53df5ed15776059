package ending

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const border = "============================================================"

// block is the end of what torchrun 2.6 prints when it gives up.
func block(rank, code, trace string) string {
	return `    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
` + border + `
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-23_18:00:02
  host      : crash-node-1.crash
  rank      : 7 (local_rank: 3)
  exitcode  : -6 (pid: 31)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 31
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-23_18:00:01
  host      : crash-node-1.crash
  rank      : ` + rank + ` (local_rank: 1)
  exitcode  : ` + code + ` (pid: 29)
  error_file: <N/A>
  traceback : ` + trace + `
` + border + "\n"
}

const noRecord = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"

// torchrun's agent ends with 1 whatever its process ended with, and its last line was quoted: a border.
func TestWhatTorchrunSaysIsQuotedAndNotItsBorder(t *testing.T) {
	const traced = `Traceback (most recent call last):
    File "/usr/lib/python3/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 355, in wrapper
      return f(*args, **kwargs)
    File "/train.py", line 12, in main
      raise ValueError("loss is nan at step 3 in shard 17")
  ValueError: loss is nan at step 3 in shard 17
  `
	for name, tc := range map[string]struct{ words, want string }{
		"the code alone":           {block("5", "3", noRecord), "rank 5 exited with code 3"},
		"a signal":                 {block("5", "-9", "Signal 9 (SIGKILL) received by PID 29"), "rank 5 was killed by SIGKILL"},
		"a signal without a name":  {block("5", "-63", "Signal 63 received by PID 29"), "rank 5 was killed by signal 63"},
		"with @record":             {block("5", "1", traced), "rank 5: ValueError: loss is nan at step 3 in shard 17"},
		"the kubelet cut the head": {block("5", "3", noRecord)[300:], "rank 5 exited with code 3"},
		"the exception stands above": {
			"[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/train.py\", line 12, in <module>\n" +
				"[rank5]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n" + block("5", "1", noRecord),
			"rank 5: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
		},
		"torchrun puts the process in front": {
			"[default1]:[rank5]: RuntimeError: Connection closed by peer\n" + block("5", "1", noRecord), "rank 5: RuntimeError: Connection closed by peer",
		},
		"an exception that was handled is none of ours, but nothing says so": {
			"KeyError: 'x', so the default is taken\n" + block("5", "1", noRecord), "rank 5: KeyError: 'x', so the default is taken",
		},
		"other words":          {"step 3\n" + border, ""},
		"a block without rank": {strings.ReplaceAll(block("5", "3", noRecord), "  rank ", "  rang "), ""},
		"nothing":              {"", ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, torchrunSays(tc.words)) })
	}
	p := pod(exited(1, noon))
	p.Status.ContainerStatuses[0].State.Terminated.Message = block("2", "1", traced)
	p.Pod = Trim(p.Pod) // as the operator's view keeps it
	require.Equal(t, `Pod[p] exited with error code 1: "rank 2: ValueError: loss is nan at step 3 in shard 17"`, p.Failure())
	require.Equal(t, "rank 2: ValueError: loss is nan at step 3 in shard 17", p.Record().Message)
}

package output

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What Python 3.11 prints on SIGABRT, of ranks on PyTorch 2.6.
const (
	begun    = "step 3\nFatal Python error: Aborted\n\n"
	loader   = "Thread 0x00007f81c2ffd6c0 (most recent call first):\n  File \"/usr/lib/python3.11/threading.py\", line 324 in wait\n  File \"/usr/lib/python3.11/threading.py\", line 995 in _bootstrap\n\n"
	inUsers  = "Current thread 0x00007f81e1f0b740 (most recent call first):\n  File \"/usr/lib/python3.11/queue.py\", line 171 in get\n  File \"/data/train.py\", line 57 in wait_for_data\n  File \"/data/train.py\", line 66 in main\n" + byRecord + "  File \"/data/train.py\", line 82 in <module>\n"
	byRecord = "  File \"/usr/lib/python3/dist-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py\", line 355 in wrapper\n"
	inReduce = "Thread 0x00007f81e1f0b740 [MainThread] (most recent call first):\n  File \"/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py\", line 2806 in all_reduce\n  File \"/usr/lib/python3/dist-packages/torch/distributed/c10d_logger.py\", line 83 in wrapper\n  File \"/data/train.py\", line 67 in main\n  File \"/data/train.py\", line 82 in <module>\n"
	inVenv   = "Current thread 0x00007f9be6b3c740 (most recent call first):\n  File \"/opt/torch/distributed/run.py\", line 918 in main\n  File \"/opt/run/torchrun\", line 8 in <module>\n"
	ofLaunch = "Current thread 0x00007f9be6b3c740 (most recent call first):\n  File \"/usr/lib/python3/dist-packages/torch/distributed/elastic/agent/server/api.py\", line 888 in _invoke_run\n  File \"/usr/lib/python3/dist-packages/torch/distributed/run.py\", line 918 in main\n  File \"/usr/bin/torchrun\", line 8 in <module>\n"
	ofAgent  = "Current thread 0x00007f9be6b3c740 (most recent call first):\n  File \"<string>\", line 197 in run\n  File \"<string>\", line 221 in <module>\n"
	ofModule = "Current thread 0x00007f9be6b3c740 (most recent call first):\n  File \"/app/train/data.py\", line 3 in next\n  File \"/app/train/__main__.py\", line 9 in <module>\n  File \"<frozen runpy>\", line 88 in _run_code\n  File \"<frozen runpy>\", line 198 in _run_module_as_main\n"
)

func TestHangs(t *testing.T) {
	data, reduce := Failure{Frame: "/data/train.py:57, in wait_for_data"}, Failure{Frame: "/data/train.py:67, in main", Follows: "it waits for a peer"}
	for name, tc := range map[string]struct {
		text string
		want Failure
	}{
		"no stacks":            {"step 3\n" + nan, Failure{}},
		"the user's own frame": {begun + loader + inUsers, data},
		"in a collective":      {begun + loader + inReduce + "\nExtension modules: numpy (total: 1)\n", reduce},
		"of two processes the one that waits not": {begun + inReduce + begun + inUsers, data},
		"whichever is first":                      {begun + inUsers + begun + inReduce, data},
		"a launcher has none":                     {begun + ofLaunch + ofAgent, Failure{}},
		"wherever it is":                          {begun + inVenv, Failure{}},
		"a launcher after its process":            {begun + loader + inReduce + begun + ofLaunch + ofAgent, reduce},
		"torchrun names each line":                {"[default0]:" + of("0", "Current thread 0x00007f (most recent call first):\n  File \"/data/train.py\", line 5 in <module>"), Failure{Frame: "/data/train.py:5, in <module>"}},
		"a peer's end is being handled": {begun + "Thread 0x00007f81e1f0b740 (most recent call first):\n  File \"/usr/lib/python3.11/traceback.py\", line 183 in format_exc\n" + byRecord + "  File \"/data/train.py\", line 82 in <module>\n",
			Failure{Frame: "/data/train.py:82, in <module>", Follows: "it waits for a peer"}},
		"a module":       {begun + ofModule, Failure{Frame: "/app/train/data.py:3, in next"}},
		"a thread alone": {begun + loader, Failure{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, Hangs(tc.text)) })
	}
}

func TestSilence(t *testing.T) {
	for said, want := range map[string]time.Duration{
		HangBegins + "no sign of life for 61 s (steadySeconds)":                 61 * time.Second,
		HangBegins + "no sign of life within 5 s of the start (startupSeconds)": 5 * time.Second,
		HangBegins + "no sign of life for 99999999999 s (steadySeconds)":        0, // somebody else has written it
		HangBegins + "no sign of life":                                          0,
	} {
		require.Equal(t, want, Silence(said), said)
	}
}

func TestCodesOfSignals(t *testing.T) {
	for code, signal := range map[int32]string{134: "SIGABRT", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"} {
		require.Equal(t, signal, SignalOf(code))
		require.Equal(t, code, CodeOf(signal))
	}
	require.Zero(t, CodeOf("SIGNONE"))
	require.Empty(t, SignalOf(1))
}

package output

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const border = "============================================================"

// block is the end of what torchrun 2.6 prints when it gives up.
func block(rank, code, trace string) string {
	return `E1123 18:00:01.000000 31 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 0 (pid: 29) of binary: /usr/bin/python3
Traceback (most recent call last):
  File "/usr/bin/torchrun", line 8, in <module>
    sys.exit(main())
  File "/usr/lib/python3/dist-packages/torch/distributed/launcher/api.py", line 138, in __call__
    return launch_agent(self._config, self._entrypoint, list(args))
    raise ChildFailedError(
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

const (
	noRecord = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
	recorded = `Traceback (most recent call last):
    File "/usr/lib/python3/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 355, in wrapper
      return f(*args, **kwargs)
    File "/train.py", line 12, in main
      raise ValueError("loss is nan at step 3 in shard 17")
  ValueError: loss is nan at step 3 in shard 17
  `
	nan = `Traceback (most recent call last):
  File "/train.py", line 20, in <module>
    main()
  File "/train.py", line 12, in main
    loss.check()
    ^^^^^^^^^^^^
  File "/usr/lib/python3/dist-packages/torch/_tensor.py", line 7, in check
    raise ValueError(text)
ValueError: loss is nan at step 3 in shard 17
`
	gloo = `Traceback (most recent call last):
  File "/train.py", line 11, in main
    dist.all_reduce(sum)
RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411
`
	at, says = "/train.py:12, in main", "ValueError: loss is nan at step 3 in shard 17"
)

// written is what @record of PyTorch 2.6 writes into an error file.
func written(trace string) string {
	text, _ := json.Marshal(trace)
	return `{"message": {"message": "ValueError: \"x\"", "extraInfo": {"py_callstack": ` + string(text) + `, "timestamp": "1795575339"}}}`
}

// of puts what PyTorch puts in front of each line of a rank.
func of(rank, text string) string {
	return strings.ReplaceAll("[rank"+rank+"]: "+strings.TrimSpace(text), "\n", "\n[rank"+rank+"]: ") + "\n"
}

// woven has the lines of two texts take turns.
func woven(a, b string) string {
	var out []string
	x, y := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for i := range max(len(x), len(y)) {
		for _, list := range [][]string{x, y} {
			if i < len(list) {
				out = append(out, list[i])
			}
		}
	}
	return strings.Join(out, "")
}

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want Failure
	}{
		"nothing":                       {"", Failure{}},
		"a program of any kind":         {"step 3\ndisk full\n", Failure{}},
		"an exception":                  {"step 3\n" + nan, Failure{Exception: says, Frame: at}},
		"the rank stands in front":      {of("2", nan), Failure{ProcessRank: "2", Exception: says, Frame: at}},
		"of two ranks the cause":        {woven(of("0", gloo), of("2", nan)), Failure{ProcessRank: "2", Exception: says, Frame: at}},
		"the kubelet cut the head":      {nan[80:], Failure{Exception: says, Frame: at}},
		"of two, the one that ended it": {strings.ReplaceAll(nan, "3", "2") + "goes on\n" + nan, Failure{Exception: says, Frame: at}},
		"one that ends nothing":         {nan + "Exception ignored in: <function f at 0x7f>\n" + gloo, Failure{Exception: says, Frame: at}},
		"any name":                      {strings.ReplaceAll(nan, "ValueError", "__main__.LossIsNan"), Failure{Exception: "__main__.LossIsNan" + says[10:], Frame: at}},
		"a mistake in the syntax":       {"  File \"/train.py\", line 3\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n", Failure{Exception: "SyntaxError: invalid syntax", Frame: "/train.py:3"}},
		"what follows from another": {gloo, Failure{
			Exception: "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411",
			Frame:     "/train.py:11, in main", Follows: "a peer closed its connection",
		}},
		"what was raised from that follows, too": {gloo + "\nDuring handling of the above exception, another exception occurred:\n\n" + nan,
			Failure{Exception: says, Frame: at, Follows: "a peer closed its connection"}},
		"an exception after one that was handled does not": {gloo + "retried\n" + nan, Failure{Exception: says, Frame: at}},
		"NCCL's watchdog": {"[rank0]:[E1218 20:27:21 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\nAborted\n",
			Failure{Follows: "a peer did not come to a collective"}},

		"torchrun: the code alone":          {block("5", "3", noRecord), Failure{ProcessRank: "5", Code: "3"}},
		"torchrun: a signal":                {block("5", "-9", "Signal 9 (SIGKILL) received by PID 29"), Failure{ProcessRank: "5", Signal: "SIGKILL"}},
		"torchrun: a signal without a name": {block("5", "-63", "Signal 63 received by PID 29"), Failure{ProcessRank: "5", Signal: "signal 63"}},
		"torchrun: told to end":             {block("5", "-15", "Signal 15 (SIGTERM) received by PID 29"), Failure{ProcessRank: "5", Signal: "SIGTERM", Follows: "it was told to end"}},
		"torchrun: @record":                 {block("5", "1", recorded), Failure{ProcessRank: "5", Code: "1", Exception: says, Frame: at}},
		"torchrun: the head is cut":         {block("5", "3", noRecord)[300:], Failure{ProcessRank: "5", Code: "3"}},
		"torchrun: the exception above":     {of("5", nan) + block("5", "1", noRecord), Failure{ProcessRank: "5", Code: "1", Exception: says, Frame: at}},
		"torchrun: before there are ranks":  {nan + block("5", "1", noRecord), Failure{ProcessRank: "5", Code: "1", Exception: says, Frame: at}},
		"torchrun: the one that it names":   {of("4", gloo) + of("5", nan) + block("5", "1", noRecord), Failure{ProcessRank: "5", Code: "1", Exception: says, Frame: at}},
		"torchrun: not that of another":     {of("4", nan) + block("5", "1", noRecord), Failure{ProcessRank: "5", Code: "1"}},
		"torchrun: no exception exits so":   {of("5", nan) + block("5", "3", noRecord), Failure{ProcessRank: "5", Code: "3"}},
		"torchrun: a peer's connection is none of one that was killed": {of("4", gloo) + block("5", "-9", "Signal 9 (SIGKILL) received by PID 29"),
			Failure{ProcessRank: "5", Signal: "SIGKILL"}},
		"torchrun: its name of the process": {"[default1]:[rank5]: RuntimeError: Connection closed by peer\n" + block("5", "1", noRecord),
			Failure{ProcessRank: "5", Code: "1", Exception: "RuntimeError: Connection closed by peer"}},
		"torchrun: an exception that was handled is none of ours, but nothing says so": {"KeyError: 'x', so the default is taken\n" + block("5", "1", noRecord),
			Failure{ProcessRank: "5", Code: "1", Exception: "KeyError: 'x', so the default is taken"}},
		"torchrun: --tee with the name of any type": {"[gpu-a1000]:[rank5]: RuntimeError: Connection closed by peer\n" + block("5", "1", noRecord),
			Failure{ProcessRank: "5", Code: "1", Exception: "RuntimeError: Connection closed by peer"}},
		"torchrun: with --redirects there is its block alone": {block("5", "1", noRecord), Failure{ProcessRank: "5", Code: "1"}},
		"torchrun: --redirects, and @record":                  {block("5", "1", recorded), Failure{ProcessRank: "5", Code: "1", Exception: says, Frame: at}},
		"an error file":                                       {written(nan), Failure{Exception: says, Frame: at}},
		"an error file that torchrun has copied":              {strings.Replace(written(nan), `"extraInfo"`, `"errorCode": 1, "extraInfo"`, 1), Failure{Exception: says, Frame: at}},
		"an error file of which the head is cut":              {written(strings.Repeat(nan[:80], 9) + nan)[300:], Failure{Exception: says, Frame: at}},
		"an error file of one that follows": {written(gloo), Failure{
			Exception: "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411",
			Frame:     "/train.py:11, in main", Follows: "a peer closed its connection",
		}},
		"a line that looks like one ends nothing": {nan + "KeyError: 'x', so the default is taken\n", Failure{Exception: says, Frame: at}},
		"no error file, though it ends like one":  {strings.TrimSpace(nan) + `", "timestamp": "1795575339"`, Failure{Exception: says + `", "timestamp": "1795575339"`, Frame: at}},
		"torchrun: a block without rank":          {strings.ReplaceAll(block("5", "3", noRecord), "  rank ", "  rang "), Failure{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(tc.text)
			tc.want.Output = strings.TrimSpace(tc.text)
			require.Equal(t, tc.want, got)
			for _, most := range []int{1024, 4096} {
				again := Read(got.Text(most))
				again.Output, got.Output = "", ""
				require.Equal(t, got, again)
			}
		})
	}
}

// A kubelet keeps the end of a file, wherever that begins.
func TestAnErrorFileIsReadWhereverItBegins(t *testing.T) {
	text := written(nan)
	for cut := range strings.LastIndex(text, `\n  File`) { // an exception without a frame may be one that was handled
		require.Equal(t, says, Read(text[cut:]).Exception, text[cut:])
	}
}

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		nan: says, of("2", nan): "rank 2: " + says, block("5", "3", noRecord): "rank 5 exited with code 3", "disk full": "",
		block("5", "-9", "Signal 9 (SIGKILL) received by PID 29"): "rank 5 was killed by SIGKILL", block("5", "1", recorded): "rank 5: " + says,
	} {
		require.Equal(t, want, Read(text).Sentence())
	}
}

// Each signature stands where its source has it, so a line of another kind before it takes none of its.
func TestEachSignatureIsFound(t *testing.T) {
	for i, s := range signatures {
		line := strings.Join(s.words, " x ")
		require.Equal(t, s.follows, follows(line), "signature %d, %q", i, line)
		require.True(t, strings.HasPrefix(s.source, "https://"), s.source)
	}
	for _, line := range []string{
		"DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, EADDRINUSE",
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "ValueError: Connection closed by peer",
		"RuntimeError: CUDA error: uncorrectable ECC error encountered", "step 3 waits for a peer",
	} {
		require.Empty(t, follows(line), line)
	}
}

// Text is of a bounded size, and what was read from it is read again.
func FuzzTextIsReadAsItWasWritten(f *testing.F) {
	f.Add(nan, 300)
	f.Add(woven(of("0", gloo), of("2", nan))+block("2", "1", recorded), 1024)
	f.Add("rank: 3\noutput:\nx", 10)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = 1024 + (most%4096+4096)%4096
		said := Read(text)
		written := said.Text(most)
		require.LessOrEqual(t, len(written), most)
		again := Read(written)
		if said.fieldsAreEmpty() {
			return
		}
		again.Output, said.Output = "", ""
		require.Equal(t, said, again)
	})
}

func (s Failure) fieldsAreEmpty() bool {
	for _, f := range s.fields() {
		if *f.value != "" {
			return false
		}
	}
	return true
}

// Hostile output takes no time that can be felt: what is read is short, and each line is read once.
func BenchmarkRead(b *testing.B) {
	var hostile strings.Builder
	for i := range 20_000 {
		hostile.WriteString("[rank" + strings.Repeat("1", i%7+1) + "]: ValueError: x\n")
	}
	for b.Loop() {
		Read(hostile.String())
	}
}

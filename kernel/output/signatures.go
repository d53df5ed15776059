package output

import (
	"regexp"
	"strings"
)

// signature is how the words of code tell that it ended because another process had.
type signature struct {
	// follows says in a few words what happened to the code.
	follows string
	// kind is that of such a failure.
	kind string
	// words stand in its last exception, or in the line by which it ended. They are of the source.
	words []string
	// source is where the words come from.
	source string
}

// toldToEnd is what happened to code that ended by SIGTERM.
const toldToEnd = "it was told to end"

// signatures are tried in this order. They have no line that only might follow from the end of another process: such a failure counts as a cause.
var signatures = []signature{
	{toldToEnd, Teardown, []string{"SignalException: Process ", "got signal: 15"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/multiprocessing/api.py"},
	{toldToEnd, Teardown, []string{"Received ", " death signal, shutting down workers"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/agent/server/api.py"},
	{toldToEnd, Teardown, []string{"KeyboardInterrupt"}, "https://github.com/python/cpython/blob/v3.13.0/Lib/signal.py"},
	{"a peer closed its connection", Network, []string{"gloo/transport/", "Connection closed by peer"},
		"https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc"},
	{"a peer closed its connection", Network, []string{"RuntimeError: ", "Connection closed by peer ["},
		"https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc"},
	{"a peer reset its connection", Network, []string{"gloo/transport/", "Connection reset by peer"},
		"https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc"},
	{"a peer closed its connection", Network, []string{"gloo/transport/", "Broken pipe"},
		"https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc"},
	{"a peer did not answer in time", Timeout, []string{"gloo/transport/", "Timed out waiting "},
		"https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/unbound_buffer.cc"},
	{"a peer did not answer in time", Timeout, []string{"Timed out waiting ", "ms for ", " operation to complete"},
		"https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/unbound_buffer.cc"},
	{"a peer could not be reached", Network, []string{"Gloo connectFullMesh failed"},
		"https://github.com/pytorch/gloo/blob/main/gloo/rendezvous/context.cc"},
	{"a peer did not come to a collective", Timeout, []string{"Watchdog caught collective operation timeout"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"},
	{"its communicator was aborted", Network, []string{"NCCL communicator was aborted on rank "},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/NCCLUtils.cpp"},
	{"a peer closed its connection", Network, []string{"ncclRemoteError: "},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/NCCLUtils.cpp"},
	{"a peer closed its connection", Network, []string{"NCCL", "Connection closed by remote peer"},
		"https://github.com/NVIDIA/nccl/blob/v2.23.4-1/src/misc/socket.cc"},
	{"a peer did not come to a barrier", Timeout, []string{"failed to pass monitoredBarrier"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/ProcessGroupGloo.cpp"},
	{"the store that the replicas meet at is gone", Network, []string{"DistNetworkError: ", "client socket has "},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/socket.cpp"},
	{"the store that the replicas meet at is gone", Network, []string{"DistNetworkError: ", "recv, got 0 bytes"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/socket.cpp"},
	{"the store that the replicas meet at is gone", Network, []string{"DistNetworkError: ", "Connection reset by peer"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/socket.cpp"},
	{"the store that the replicas meet at is gone", Network, []string{"DistNetworkError: ", "Broken pipe"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/socket.cpp"},
	{"a peer wrote nothing into the store in time", Timeout, []string{"DistStoreError: ", "after "},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/TCPStore.cpp"},
	{"the replicas meet no more", Network, []string{"RendezvousClosedError"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/api.py"},
	{"the store that the replicas meet at is gone", Network, []string{"RendezvousConnectionError"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/api.py"},
	{"a peer did not come in time", Timeout, []string{"RendezvousTimeoutError"},
		"https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/api.py"},
	{"a peer reset its connection", Network, []string{"ConnectionResetError: "},
		"https://github.com/python/cpython/blob/v3.13.0/Objects/exceptions.c"},
	{"a peer closed its connection", Network, []string{"BrokenPipeError: "},
		"https://github.com/python/cpython/blob/v3.13.0/Objects/exceptions.c"},
	{"a peer closed its connection", Network, []string{"errors_impl.UnavailableError: ", "Socket closed"},
		"https://github.com/grpc/grpc/blob/v1.68.0/src/core/ext/transport/chttp2/transport/chttp2_transport.cc"},
	{"a collective was aborted", Network, []string{"Collective ops is aborted by: "},
		"https://github.com/tensorflow/tensorflow/blob/v2.18.0/tensorflow/core/common_runtime/base_collective_executor.cc"},
	{"a peer has left", Network, []string{"Horovod has been shut down. This was caused by an exception on one of the ranks"},
		"https://github.com/horovod/horovod/blob/v0.28.1/horovod/common/common.h"},
	{"a peer has left", Network, []string{"An MPI communication peer process has unexpectedly disconnected"},
		"https://github.com/open-mpi/ompi/blob/v4.1.6/opal/mca/btl/tcp/help-mpi-btl-tcp.txt"},
	{"an actor of Ray's has died", Unknown, []string{"The actor is dead because its worker process has died"},
		"https://docs.ray.io/en/latest/ray-core/fault_tolerance/actors.html"},
	{"an actor of Ray's has died", Unknown, []string{"RayActorError: The actor died"},
		"https://github.com/ray-project/ray/blob/ray-2.9.0/python/ray/exceptions.py"},
	{"a process beside it has failed", Unknown, []string{"initialization failed due to an exception in a background process"},
		"https://github.com/vllm-project/vllm/blob/v0.10.0/vllm/v1/executor/multiproc_executor.py"},
	{"the coordination service told it to end", Teardown, []string{"JAX distributed service detected fatal errors"},
		"https://github.com/openxla/xla/blob/main/xla/pjrt/distributed/client.h"},
}

// follows returns what happened to the code, by the signature that a line matches; "" if it matches none.
func follows(line string) string {
	for i := range signatures {
		if isIn(signatures[i].words, line) {
			return signatures[i].follows
		}
	}
	return ""
}

// isIn reports whether all words stand in a line, in their order.
func isIn(words []string, line string) bool {
	for _, word := range words {
		_, rest, ok := strings.Cut(line, word)
		if !ok {
			return false
		}
		line = rest
	}
	return true
}

// What is printed by launchers and by Python itself.
const (
	// traceback begins a traceback. https://github.com/python/cpython/blob/v3.13.0/Python/traceback.c
	traceback = "Traceback (most recent call last):"
	// rootCause begins what torchrun says of the process that failed first. The border below has no words.
	// https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/multiprocessing/errors/__init__.py
	rootCause = "Root Cause (first observed failure):"
	// noTrace is what it says of a program whose main function is not marked with @record.
	noTrace = "To enable traceback see"
	// childError is the exception by which torchrun itself ends, in front of the block.
	childError = "ChildFailedError"
)

var (
	// rootProcessRank, rootCode and rootTrace are of torchrun's block; see rootCause. A negative code is a signal.
	rootProcessRank = regexp.MustCompile(`(?m)^\s+rank\s+: (\d+) `)
	rootCode        = regexp.MustCompile(`(?m)^\s+exitcode\s+: (-?\d+) `)
	rootTrace       = regexp.MustCompile(`(?ms)^\s+traceback : (.*?)(?:^=+\s*$|\z)`)
	// prefix is what stands before each line of a process: torchrun's name of it with --tee, and the process rank. PyTorch's own hook for
	// exceptions writes that once a process group is there.
	// https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/distributed_c10d.py
	prefix = regexp.MustCompile(`^(?:\[[a-z_][-a-z0-9_]*\d\]: ?)+`)
	// namesProcess matches the process rank in it.
	namesProcess = regexp.MustCompile(`\[rank(\d+)\]`)
	// frame is a line of a traceback that names a file and a line. https://github.com/python/cpython/blob/v3.13.0/Lib/traceback.py
	frame = regexp.MustCompile(`^\s*File "([^"]+)", line (\d+)(?:, in (.+))?$`)
	// exception is the line with which Python ends a traceback, where none stands above it.
	exception = regexp.MustCompile(`^((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Iteration|ExceptionGroup))(?:: (.*))?$`)
	// raised is the same line below a traceback, where the exception may have any name.
	raised = regexp.MustCompile(`^(?:\w+\.)*\w+(?:: .*|:)?$`)
	// elsewhere are files that are not the user's: of Python, of packages, and of PyTorch's launchers.
	elsewhere = regexp.MustCompile(`^<frozen |/(?:site|dist)-packages/|/lib/python\d|/bin/torchrun$`)
)

// SignalOf names the signal by which a program died, by the exit code of its container; "" if the code tells of none.
func SignalOf(code int32) string { return signals[int(code)-128] }

// CodeOf returns the exit code of a program that the signal of this name has ended; 0 if there is no such signal. It is the inverse of SignalOf.
func CodeOf(signal string) int32 {
	for n, name := range signals {
		if name == signal {
			return int32(n + 128)
		}
	}
	return 0
}

// signals are the signals that end failing programs, by their numbers. Source: signal(7).
var signals = map[int]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE",
	15: "SIGTERM",
}

package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
)

// Describe says in a few words how a replica failed.
func Describe(r v1beta1.ReplicaFailure) string {
	var words []string
	if r.ExitCode != nil {
		words = append(words, fmt.Sprintf("exit code %d", *r.ExitCode)+signalOf(*r.ExitCode))
	}
	if r.Reason != "" && r.Reason != "Error" {
		words = append(words, r.Reason)
	}
	if r.Exception != "" {
		return strings.Join(append(words, fmt.Sprintf("%q", r.Exception)), ", ") + at(r.Frame)
	}
	if lines := strings.Split(strings.TrimSpace(r.Message), "\n"); lines[len(lines)-1] != "" {
		words = append(words, quoted(r, lines[len(lines)-1]))
	}
	return cmp.Or(strings.Join(words, ", "), "failed") + at(r.Frame)
}

// quoted is the last line of a failure's message. Where it is just what the code said last, it may have nothing to do with its end.
func quoted(r v1beta1.ReplicaFailure, line string) string {
	if tellsEnd(r) {
		return fmt.Sprintf("%q", line)
	}
	return fmt.Sprintf("last output: %q", line)
}

// tellsEnd reports whether the message of a failure tells of its end: it is somebody else's, or one by which that was recognized.
func tellsEnd(r v1beta1.ReplicaFailure) bool {
	switch {
	case r.ExitCode == nil, !slices.Contains([]string{"", "Error", oomKilled}, r.Reason), r.WorkerExitCode != nil, r.WorkerSignal != "", ending.Hung(&r), ending.Unstartable(r) != "":
		return true
	default:
		return r.Follows != "" && *r.ExitCode != ending.ToldToEnd
	}
}

// oomKilled is the kubelet's reason for a container that ran out of memory: it quotes the code, as it does of one that failed by itself.
const oomKilled = "OOMKilled"

// signals are those that end programs which fail, by what containers exit with that die of them.
var signals = map[int32]string{134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}

// signalOf names the signal that an exit code tells of, in brackets; "" if it tells of none.
func signalOf(code int32) string {
	if name := signals[code]; name != "" {
		return " (" + name + ")"
	}
	return ""
}

// at says where, if that is known.
func at(frame string) string {
	if frame == "" {
		return ""
	}
	return " at " + frame
}

package tree

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Describe says in a few words how a replica failed.
func Describe(r v1beta1.ReplicaFailure) string {
	var words []string
	if r.ExitCode != nil {
		words = append(words, "exit code "+podstate.Code(*r.ExitCode))
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

// quoted returns the last line of a failure's message.
func quoted(r v1beta1.ReplicaFailure, line string) string {
	if podstate.IsJustOutput(&r) {
		return fmt.Sprintf("last output: %q", line)
	}
	return fmt.Sprintf("%q", line)
}

// at says where, if that is known.
func at(frame string) string {
	if frame == "" {
		return ""
	}
	return " at " + frame
}

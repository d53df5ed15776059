package podstate

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/text"
)

// Failure returns what a status keeps of a failure, without its cause, which takes longer to find.
func (p Pod) Failure() v1beta1.ReplicaFailure {
	r := v1beta1.ReplicaFailure{Pod: p.Name, Node: p.Spec.NodeName, Reason: text.Cut(p.Status.Reason, text.MaxReason), Message: text.Cut(p.Status.Message, text.MaxWords)}
	if t := p.DecidedAt(); !t.IsZero() {
		r.Time = &metav1.Time{Time: t}
	}
	if e := p.exit(); e != nil && !p.endedByLimit() {
		said := output.Read(e.words)
		r.ExitCode, r.Container, r.Reason, r.Message = &e.code, e.container, text.Cut(e.reason, text.MaxReason), text.Tail(lastWords(said), text.MaxWords)
		e.describe(&r, said)
	}
	return r
}

// describe writes into a record what the container's last words say of its end.
func (e *exit) describe(r *v1beta1.ReplicaFailure, said output.Failure) {
	r.Exception, r.Frame, r.WorkerSignal, r.Follows = text.Cut(said.Exception, text.MaxWords), said.Frame, said.Signal, said.Follows
	r.ProcessRank, r.WorkerExitCode = number(said.ProcessRank), number(said.Code)
	if r.Follows == "" && r.Exception == "" && !said.ByLauncher() && e.code == ExitSIGTERM {
		r.Follows = "it was told to end"
	}
}

// number reads a number; nil if the text is none.
func number(text string) *int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil
	}
	return ptr.To(int32(n))
}

// FailureWithCause returns what a status keeps of a failure.
func (p Pod) FailureWithCause() v1beta1.ReplicaFailure {
	r := p.Failure()
	r.Cause = p.CauseOf(&r)
	return r
}

// IsHang reports whether a failure is a hang that the wrapper has found. It shows by the exit code and the words.
func IsHang(f *v1beta1.ReplicaFailure) bool {
	return f.ExitCode != nil && *f.ExitCode == output.HangCode && strings.HasPrefix(f.Message, output.HangBegins)
}

// NamesCause reports whether a failure names a cause of its own: an exception, a signal, or an exit code that exceptions do not have.
func NamesCause(f *v1beta1.ReplicaFailure) bool {
	code := f.WorkerExitCode
	if code == nil {
		code = f.ExitCode
	}
	return f.Exception != "" || f.WorkerSignal != "" || code == nil || *code != 1
}

// SilentFor returns how long code had shown no sign of life when it was found to hang; 0 for other failures.
func SilentFor(f *v1beta1.ReplicaFailure) time.Duration {
	if !IsHang(f) {
		return 0
	}
	return output.Silence(f.Message)
}

package podstate

import (
	"strconv"

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
	if e := p.exit(); e != nil && !p.wasOverItsLimit() {
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

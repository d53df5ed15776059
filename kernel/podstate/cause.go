package podstate

import (
	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
)

// CauseOf returns the cause of the pod's failure, for its Record. What the kubelet says goes before what the code says, and an exception goes before
// the exit code.
func (p Pod) CauseOf(r *v1beta1.ReplicaFailure) *v1beta1.Cause {
	var said output.Failure
	if e := p.exit(); e != nil && !p.endedByLimit() {
		said = output.Read(e.words)
		said.Classify()
	}
	return &v1beta1.Cause{Kind: p.kindOf(r, said), Role: RoleOf(r), Codes: codesOf(r, said)}
}

// RoleOf tells if a failure may be the cause of others, or follows from another one.
func RoleOf(r *v1beta1.ReplicaFailure) v1beta1.CauseRole {
	if r.Follows != "" {
		return v1beta1.CauseCascade
	}
	return v1beta1.CauseRoot
}

func (p Pod) kindOf(r *v1beta1.ReplicaFailure, said output.Failure) v1beta1.CauseKind {
	if seen := p.kindSeen(r); seen != "" {
		return seen
	}
	switch {
	case said.Kind != "":
		return v1beta1.CauseKind(said.Kind)
	case r.Exception != "" || faults[signalOf(r)]:
		return v1beta1.CauseException
	case r.Follows != "":
		return v1beta1.CauseTeardown // by its exit code alone
	case r.Reason == oomKilled:
		return v1beta1.CauseOutOfMemory // of a process whose parent went on, and said nothing
	default:
		return v1beta1.CauseUnknown
	}
}

// kindSeen returns the kind that the kubelet or the wrapper has seen, whatever the code says; "" if they have seen none.
func (p Pod) kindSeen(r *v1beta1.ReplicaFailure) v1beta1.CauseKind {
	switch {
	case p.endedByLimit():
		return v1beta1.CauseStorage // of an emptyDir, or of ephemeral storage
	case p.endedByDeadline() && !p.wasToldToEnd():
		return v1beta1.CauseTimeout
	case IsHang(r):
		return v1beta1.CauseHang
	case r.Reason == oomKilled && r.ExitCode != nil && *r.ExitCode == killed:
		return v1beta1.CauseOutOfMemory
	case Unstartable(*r) != "":
		return v1beta1.CauseConfig
	default:
		return ""
	}
}

// faults are the signals by which Linux ends code because of what the code did. Source: signal(7).
var faults = map[string]bool{"SIGILL": true, "SIGTRAP": true, "SIGABRT": true, "SIGBUS": true, "SIGFPE": true, "SIGSEGV": true}

// signalOf returns the signal that killed the code; "" if none did.
func signalOf(r *v1beta1.ReplicaFailure) string {
	if r.WorkerSignal == "" && r.WorkerExitCode == nil && r.ExitCode != nil {
		return output.SignalOf(*r.ExitCode)
	}
	return r.WorkerSignal
}

// codesOf returns the codes of a failure that can be looked up: a signal, and error codes of libraries.
func codesOf(r *v1beta1.ReplicaFailure, said output.Failure) (codes []string) {
	if signal := signalOf(r); signal != "" {
		codes = append(codes, signal)
	}
	return append(codes, said.CodeList()...)
}

// Step returns the highest step that the pod's code had told when it ended, in the form of output.Failure.Step.
func (p Pod) Step() string {
	e := p.exit()
	if e == nil || p.endedByLimit() {
		return ""
	}
	return output.Read(e.words).Step
}

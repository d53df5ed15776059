package kernel

import (
	"fmt"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// writtenRestarts is what a user is told of restarts.
type writtenRestarts struct {
	events   []status.RestartEvent // one for each restart
	failures []status.Failure      // those that were restarted
	rejected string                // that nodes keep rejecting the pods of a replica; "" if they do not
}

// applyVerdict writes into the ledger what follows from a verdict: the restarts that the limits allow, the run mode, the start time. It returns
// another verdict if the ledger has become too large to be stored: such a job fails. It does nothing to the cluster.
func applyVerdict(draft ledger.Draft, v verdict.Verdict, o *outcomes, l *loss, now time.Time) (verdict.Verdict, writtenRestarts) {
	if v.IsOver() {
		return v, writtenRestarts{}
	}
	written := startOver(draft, o, l, now) // before the mode changes: what ended under the old one counts by its rules
	if full := draft.CloseIfFull(now); full != nil {
		return verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonLedgerFull, Message: status.LedgerFull(full)}, written
	}
	if v.Course != verdict.Block {
		draft.SwitchMode(now, v.Course == verdict.Queue)
	}
	if v.Course == verdict.Run && draft.StartTime() == nil {
		draft.SetStartTime(now)
	}
	return v, written
}

// startOver carries out restarts in the ledger. The pods that have ended are then Superseded, or Behind if their code
// restarts in them.
func startOver(draft ledger.Draft, o *outcomes, l *loss, now time.Time) writtenRestarts {
	var written writtenRestarts
	for _, e := range o.allowedRestarts {
		failedInPod := e.state == podstate.FailedInPod
		if failedInPod {
			noteExit(draft, e)
		}
		lived := livedFor(draft, &e, l, now)
		leavesNode := failedInPod && draft.IsBad(e.pod.Spec.NodeName) && !spec.NamesItsNode(&e.account.Template.Spec)
		draft.StartOver(e.account, e.rank, e.countsAs, lived, failedInPod && !leavesNode, now)
		if (e.state == podstate.Stranded || leavesNode) && !draft.BarrierIsOpen() { // this pod must not be awaited at the barrier
			draft.ReplacePod(e.account, e.rank)
		}
		told := &e
		if o.reasonForAll != nil {
			told = o.reasonForAll
		}
		written.add(draft.Ledger, &e, told)
	}
	return written
}

// add notes what users are told of a restart after an end, which the ledger has already. They hear that its reason is the end told.
func (w *writtenRestarts) add(l *ledger.Ledger, e, told *end) {
	numbers := podstate.NumbersOf(e.pod.Pod)
	restarted := status.Restart{
		Ledger: l, Account: e.account, Rank: e.rank, Counted: e.isCounted(), InCountedHang: e.inCountedHang, Why: told.why, Rule: e.rule,
		InPod: e.state == podstate.FailedInPod && !l.IsObsolete(e.account, e.rank, numbers.Attempt, numbers.JobAttempt),
	}
	event := restarted.Event()
	event.Replica, event.Pod, event.UID = fmt.Sprintf("%s-%d", told.account.Type, told.rank), told.pod.Name, told.pod.UID
	event.Node = told.pod.Spec.NodeName
	event.Attempt = l.Attempt(e.account, e.rank)
	w.events = append(w.events, event)
	if streak := e.account.Streak(e.rank); streak >= status.OftenRejected && e.countsAs == ledger.Disruption && e.pod.WasRejected() {
		w.rejected = status.OftenRejectedPod(e.why, streak, e.pod.Status.Message)
	}
	if isFailure(e) {
		w.failures = append(w.failures, restarted.Failure(told.pod.FailureWithCause()))
	}
}

// noteExit notes that an end of a container is counted. With restartScope Job it notes nothing: the new job attempt tells that the end is counted.
// And the wrapper may still hold the end (see barrier.WithHeldEnds), so the barrier notes the number of ends when it opens.
func noteExit(draft ledger.Draft, e end) {
	if !draft.RestartsTogether() {
		draft.NoteExits(e.account, e.rank, e.pod.UID, e.account.Exits(e.rank, e.pod.UID)+1)
	}
}

package kernel

import (
	"fmt"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// restartReport is what a user is told of restarts.
type restartReport struct {
	events   []status.RestartEvent
	failures []status.Failure
	rejected string
}

// applyVerdict makes a verdict true in the ledger: pending restarts and the run mode. The verdict may change by that: a job whose
// ledger has become too large to be stored fails. Nothing is done to the cluster here.
func applyVerdict(draft ledger.Draft, v verdict.Verdict, pending []end, judge ending.Judge) (verdict.Verdict, restartReport) {
	if v.Over() {
		return v, restartReport{}
	}
	report := replace(draft, pending, judge) // before the mode changes: what ended under the old one counts by its rules
	if records, size, most := draft.CloseIfFull(judge.Now); size > 0 {
		return verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonLedgerFull, Message: status.LedgerFull(records, size, most)}, report
	}
	if v.Course != verdict.Block {
		draft.Switch(judge.Now, v.Course == verdict.Queue)
	}
	if v.Course == verdict.Run && draft.StartTime() == nil {
		draft.SetStartTime(judge.Now)
	}
	return v, report
}

// replace carries out restarts in the ledger. The pods that end by it are superseded.
func replace(draft ledger.Draft, pending []end, judge ending.Judge) restartReport {
	var report restartReport
	for _, e := range pending {
		lived := judge.Lived(e.pod.Pod)
		exited := e.ending == ending.Exited
		if exited {
			lived = e.pod.LivedAtLastExit()
			noteExit(draft, e)
		}
		if together, bounds := draft.LivedTogether(e.account, judge.Now); bounds {
			lived = min(lived, together)
		}
		moves := exited && draft.IsBad(e.pod.Spec.NodeName) && !spec.NamesItsNode(&e.account.Template.Spec)
		draft.Replace(e.account, e.rank, e.countsAs, lived, exited && !moves, judge.Now)
		if (e.ending == ending.Stranded || moves) && !draft.BarrierIsOpen() { // it would not come to the barrier, or is to go elsewhere
			draft.ReplacePod(e.account, e.rank)
		}
		report.add(draft.Ledger, e)
	}
	return report
}

// add notes what users are told of a restart that is in the ledger.
func (report *restartReport) add(l *ledger.Ledger, e end) {
	root := e.root()
	m := ending.NumbersOf(e.pod.Pod)
	restarted := status.Restart{
		Ledger: l, Account: e.account, Rank: e.rank, Counted: e.counted(), HangsToo: e.hangsToo, Why: root.why, Rule: e.rule,
		InPod: e.ending == ending.Exited && !l.IsObsolete(e.account, e.rank, m.Attempt, m.JobAttempt),
	}
	event := restarted.Event()
	event.Replica, event.Pod, event.UID = fmt.Sprintf("%s-%d", root.account.Type, root.rank), root.pod.Name, root.pod.UID
	event.Attempt = l.Attempt(e.account, e.rank)
	report.events = append(report.events, event)
	if streak := e.account.Streak(e.rank); streak >= status.OftenRejected && e.countsAs == ledger.Disruption && e.pod.Rejected() {
		report.rejected = status.OftenRejectedPod(e.why, streak, e.pod.Status.Message)
	}
	if isFailure(&e) {
		report.failures = append(report.failures, restarted.Failure(root.pod.RecordWithCause()))
	}
}

// noteExit notes that an end of a container is counted. Where all replicas restart, the attempt says that. The end may not have come yet
// (see barrier.WithReportedExits), so the barrier notes how many there were when it opens.
func noteExit(draft ledger.Draft, e end) {
	if !draft.WholeJob() {
		draft.NoteExits(e.account, e.rank, e.pod.UID, e.account.Exits(e.rank, e.pod.UID)+1)
	}
}

package kernel

import (
	"fmt"
	"math"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// restartReport is what a user is told of restarts.
type restartReport struct {
	events   []status.Event
	failures []status.Failure
	rejected string
}

// applyVerdict makes a verdict true in the ledger: pending restarts and the run mode. The verdict may change by that: a job whose
// ledger has become too large to be stored fails. Nothing is done to the cluster here.
func applyVerdict(draft ledger.Draft, v verdict.Verdict, pending []restart, judge ending.Judge) (verdict.Verdict, restartReport) {
	if v.Over() {
		return v, restartReport{}
	}
	report := replace(draft, pending, judge) // before the mode changes: what ended under the old one counts by its rules
	if records, size, most := draft.CloseIfFull(judge.Now); size > 0 {
		return verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonLedgerFull, Message: fmt.Sprintf(
			"%d replicas were replaced, each in its own way: to account for that takes %d bytes of status, of which there are %d. Run fewer replicas in one job; or set spec.restartScope to Job, which keeps one account for all.",
			records, size, most)}, report
	}
	if v.Course != verdict.Block {
		draft.Switch(judge.Now, v.Course == verdict.Wait)
	}
	if v.Course == verdict.Run && draft.StartTime() == nil {
		draft.Begin(judge.Now)
	}
	return v, report
}

// replace carries out restarts in the ledger. The pods that end by it are superseded.
func replace(draft ledger.Draft, pending []restart, judge ending.Judge) restartReport {
	var report restartReport
	for _, r := range pending {
		lived := judge.Lived(r.pod.Pod)
		if r.inPlace {
			lived = r.pod.LivedAtLastExit()
			noteExit(draft, r)
		}
		if together, bounds := draft.LivedTogether(r.account, judge.Now); bounds {
			lived = min(lived, together)
		}
		draft.Replace(r.account, r.rank, r.cause, lived, r.inPlace, judge.Now)
		if r.strands && !draft.BarrierIsOpen() { // it would not come to the barrier
			draft.ReplacePod(r.account, r.rank)
		}
		reason := v1beta1.ReasonDisrupted
		if r.counted() {
			reason = v1beta1.ReasonRestarted
		}
		spent := spentBy(draft.Ledger, r)
		what := howRestarted(draft.Ledger, r) + spent
		root := r.root()
		event := status.NewEvent(r.counted(), reason, root.why+"; "+what)
		event.Replica, event.Pod, event.UID = fmt.Sprintf("%s-%d", root.account.Type, root.rank), root.pod.Name, root.pod.UID
		event.Attempt = draft.Attempt(r.account, r.rank)
		report.events = append(report.events, event)
		if streak := r.account.Streak(r.rank); streak >= status.OftenRejected && r.cause == ledger.Disruption && r.pod.Rejected() {
			report.rejected = fmt.Sprintf("%s before its code could start, %d times in a row: %s. The operator keeps trying, at least every 5 minutes. Change the template so that a node takes the pod, or pause or delete the job.",
				r.why, streak, r.pod.Status.Message)
		}
		if r.counted() && !r.succeeded {
			report.failures = append(report.failures, status.Failure{Text: root.why + "; it is restarted" + spent, ReplicaFailure: root.pod.Record()})
		}
	}
	return report
}

// noteExit notes that an end of a container is counted. Where all replicas restart, that is known by the attempt, and the end may not
// have come yet (see barrier.WithReportedExits): how many there were is noted when the barrier falls.
func noteExit(draft ledger.Draft, r restart) {
	if !draft.WholeJob() {
		draft.NoteExits(r.account, r.rank, r.pod.UID, r.account.Exits(r.rank, r.pod.UID)+1)
	}
}

// spentBy says what a restart leaves of its limit.
func spentBy(l *ledger.Ledger, r restart) string {
	spent, limit := l.Spent(r.account, r.rank)
	if !r.counted() || limit == spec.Unlimited || limit == math.MaxInt32 { // which stands for no limit, too
		return ""
	}
	return fmt.Sprintf(" (restart %d of %d)", spent, limit)
}

// howRestarted says what becomes of a replica that is run again.
func howRestarted(l *ledger.Ledger, r restart) string {
	whole := l.WholeJob() && !r.account.Auxiliary
	switch {
	case whole && l.BarrierIsOpen():
		return fmt.Sprintf("all replicas are replaced, attempt %d", l.JobAttempt())
	case whole:
		return fmt.Sprintf("all replicas begin again, in their pods where they can, attempt %d", l.JobAttempt())
	case r.inPlace && !l.IsObsolete(r.account, r.rank, ending.MarksOf(r.pod.Pod).Attempt, ending.MarksOf(r.pod.Pod).JobAttempt):
		return "it begins again in its pod"
	default:
		return "it is replaced"
	}
}

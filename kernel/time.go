package kernel

import (
	"slices"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// What the time of a job is spent on. This file finds, by the pods, what the present time is spent on; kernel/ledger/time.go keeps the sums. An
// interval begins when code started or ended, and not when the operator sees that. The operator may have been down, and hangs are found late.

// loss is what this reconcile has found lost: code has ended, and it runs again, or its failure ends the job.
type loss struct {
	cause      v1beta1.TimeCause // what ended the code; "" if there is no loss
	beganAt    time.Time         // when the first replica ended, or showed its last sign of life; zero if unknown
	ranSince   time.Time         // since when enough replicas had run together before that; zero if they had not
	hadTrained bool              // no status says that they had
	anew       bool              // there is no loss, but all replicas begin again, because one has succeeded under policy Always
	// explainedBy is the end that says why; nil if none was recorded. With restartScope Job the first failure says it better, if there is one.
	explainedBy *end
}

// lossOf finds the loss. It comes before applyVerdict writes restarts: after that nothing shows any more which replicas ran together.
func lossOf(job *v1beta1.GenericJob, draft ledger.Draft, replicas *roster.Roster, recorded *outcomes, v verdict.Verdict) (l loss) {
	l.explainedBy, l.beganAt = firstLost(draft.Ledger, recorded)
	again := slices.ContainsFunc(recorded.allowedRestarts, func(e end) bool { return !e.account.Auxiliary })
	switch {
	case l.explainedBy != nil && v.Course != verdict.Succeed && (len(recorded.allowedRestarts) > 0 || v.ByFailure):
		l.cause = causeOfLoss(l.explainedBy)
	case again && draft.RestartsTogether() && !v.IsOver():
		l.anew = true
	case v.Course != verdict.Succeed:
		return l
	default:
		l.beganAt = time.Time{} // it trained until now
	}
	if l.ranSince = draft.TrainsSince(); l.ranSince.IsZero() {
		l.ranSince, _ = ranTogetherSince(job, draft.Ledger, replicas, recorded.endedPods())
		l.hadTrained = !l.ranSince.IsZero() && (l.beganAt.IsZero() || l.ranSince.Before(l.beganAt))
	}
	return l
}

// firstLost returns the end that says why code ended, and when the first code ended. A failure that came because another replica was disrupted does
// not say why, if there is another end. Nor does a success after which all begin again. An end with which the job goes on has lost nothing.
func firstLost(l *ledger.Ledger, recorded *outcomes) (explains *end, at time.Time) {
	if recorded.waitsFor > 0 {
		return nil, time.Time{}
	}
	for _, e := range recorded.ended {
		if e.account.Auxiliary || e.goesOnWithout() || e.hasSucceeded() && !l.RestartsTogether() {
			continue
		}
		if ended := trainedUntil(e); at.IsZero() || !ended.IsZero() && ended.Before(at) {
			at = ended
		}
		if explainsBetter(e, explains) {
			explains = e
		}
	}
	return explains, at
}

// explainsBetter reports whether an end says why code ended, and another does not; nil stands for none.
func explainsBetter(e, than *end) bool {
	return !e.hasSucceeded() && (than == nil || than.isExcused && !e.isExcused)
}

// trainedUntil returns when code stopped training; zero if unknown.
func trainedUntil(e *end) time.Time {
	at, f := e.pod.CodeEndedAt(), e.pod.Failure()
	if since := e.pod.LostSince(); !since.IsZero() && (at.IsZero() || since.Before(at)) {
		at = since
	}
	if silent := podstate.SilentFor(&f); silent > 0 && !at.IsZero() {
		at = at.Add(-silent)
	}
	return at
}

// causeOfLoss returns what the time is lost to, by the end of code.
func causeOfLoss(e *end) v1beta1.TimeCause {
	f := e.pod.Failure()
	switch disrupted := e.countsAs == ledger.Disruption; {
	case disrupted && (e.state == podstate.Lost || e.pod.HasLostItsNode()):
		return v1beta1.TimeLostToNode
	case disrupted:
		return v1beta1.TimeLostToDisruption
	case podstate.IsHang(&f):
		return v1beta1.TimeLostToHang
	default:
		return v1beta1.TimeLostToRestart
	}
}

// noteTime writes into the draft what the job's time is spent on from now on, or since the loss.
func noteTime(w World, draft ledger.Draft, replicas *roster.Roster, v verdict.Verdict, l loss) {
	if v.Course == verdict.AlreadyFinished {
		return
	}
	draft.KeepTime(w.Now)
	if l.hadTrained {
		draft.NoteTraining(l.ranSince, w.Now)
	}
	if present, from := timeFacts(w, draft, replicas, v, l); !v.EndsJob() || present.Loss != "" {
		if (present.Paused || present.Queued) && present.Loss != "" && !l.beganAt.IsZero() {
			draft.NoteLoss(present.Loss, l.beganAt, w.Now)
		}
		draft.SetTimeFacts(present, from, w.Now)
	}
	if v.EndsJob() {
		draft.CloseTime(w.Now)
	}
}

// timeFacts returns the facts that decide what the time is spent on, and since when they hold.
func timeFacts(w World, draft ledger.Draft, replicas *roster.Roster, v verdict.Verdict, l loss) (present *ledger.TimeFacts, from time.Time) {
	present = stopOf(v, draft.Mode())
	present.Loss, present.Anew, present.Basis = l.cause, l.anew, timeBasis(w)
	if present.Paused || present.Queued {
		return present, w.Now
	}
	ended := present.Loss != "" || present.Anew
	if !v.EndsJob() && !changesMode(w, draft) && !isBlockedBeforeItRan(w, v) && (ended || !draft.Trains()) {
		from, present.Runs = runTogetherSince(w.Job, draft.Ledger, replicas)
	}
	if ended && !present.Runs {
		from = l.beganAt
	}
	if from.IsZero() {
		from = w.Now
	}
	return present, from
}

// stopOf returns why a job does not train, by its verdict and mode. A blocked job keeps its mode, even if the spec asks for another.
func stopOf(v verdict.Verdict, mode string) *ledger.TimeFacts {
	isBlocked := v.Course == verdict.Block
	return &ledger.TimeFacts{
		Paused:  v.Course == verdict.Pause || isBlocked && mode == spec.ModePaused || strings.HasPrefix(mode, spec.ModeDebug),
		Queued:  v.Course == verdict.Queue || isBlocked && mode == spec.ModeQueued,
		Evicted: v.Reason == v1beta1.ReasonEvicted,
		Waits:   isBlocked && v.Reason == v1beta1.ReasonGangUnavailable,
	}
}

// isBlockedBeforeItRan reports whether a job is blocked that has not run together yet. Replicas that it needs may be left out of a spec that cannot
// run.
func isBlockedBeforeItRan(w World, v verdict.Verdict) bool {
	return v.Course == verdict.Block && w.Job.Status.Phase != v1beta1.JobRunning
}

// changesMode reports whether a new mode begins in this reconcile. Then pods that run are of the mode before, and are stopped.
func changesMode(w World, draft ledger.Draft) bool {
	return w.Job.Status.Mode != "" && draft.Mode() != w.Job.Status.Mode
}

// timeBasis returns by what the operator knows that running replicas also train.
func timeBasis(w World) v1beta1.TimeBasis {
	line := spec.Progress(&w.Job.Spec)
	switch {
	case w.Settings.WrapperImage == "":
		return v1beta1.TimeBasisRunning
	case line != nil && strings.Contains(line.Pattern, "<step>"):
		return v1beta1.TimeBasisSteps
	case w.Job.Spec.Heartbeat != nil:
		return v1beta1.TimeBasisHeartbeat
	default:
		return v1beta1.TimeBasisRunning
	}
}

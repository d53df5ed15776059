package kernel

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	hadTrained bool              // all replicas had run together before that, though no status says so
	ranSince   time.Time         // since when they had; zero if unknown
	running    running
	first      *end // the end that says why; nil if none was recorded
}

// lossOf finds the loss. It comes before applyVerdict writes restarts: after that nothing shows any more which replicas ran together.
func lossOf(draft ledger.Draft, replicas *roster.Roster, recorded *outcomes, v verdict.Verdict, now time.Time) (l loss) {
	l.running = recorded.running
	first, at := firstLost(recorded)
	l.first = first
	if l.beganAt = at; first != nil && v.Course != verdict.Succeed && (len(recorded.allowedRestarts) > 0 || v.ByFailure) {
		l.cause = causeOfLoss(first)
	}
	if draft.Trains() || l.cause == "" && v.Course != verdict.Succeed {
		return l
	}
	until := l.beganAt
	if l.cause == "" || until.IsZero() {
		until = now
	}
	l.ranSince, l.hadTrained = ranTogether(draft, replicas, recorded.ended)
	l.hadTrained = l.hadTrained && l.ranSince.Before(until)
	return l
}

// firstLost returns the end that says why code ended, and when the first code ended. A failure that came because another replica was disrupted does
// not say why, if there is another end.
func firstLost(recorded *outcomes) (first *end, at time.Time) {
	for _, e := range recorded.ended {
		if e.hasSucceeded() || e.account.Auxiliary || recorded.waitsFor > 0 {
			continue
		}
		if ended := trainedUntil(e); !ended.IsZero() && (at.IsZero() || ended.Before(at)) {
			at = ended
		}
		if first == nil || first.isExcused && !e.isExcused {
			first = e
		}
	}
	return first, at
}

// trainedUntil returns when code stopped training; zero if unknown.
func trainedUntil(e *end) time.Time {
	at, f := e.pod.DecidedAt(), e.pod.Failure()
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
	present.Loss, present.Basis = l.cause, timeBasis(w)
	if present.Paused || present.Queued {
		return present, w.Now
	}
	var since time.Time
	if !v.EndsJob() && !changesMode(w, draft) && !isBlockedBeforeItRan(w, v) && (present.Loss != "" || !draft.Trains()) {
		since, present.Runs = runsSince(w.Job, draft.Ledger, replicas, l.running, present.Loss != "")
	}
	switch {
	case present.Runs:
		from = since
	case present.Loss != "":
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

// running is how many replicas run, without auxiliary ones, and when the last of them started.
type running struct {
	n     int
	since time.Time
}

// add counts a replica if its code runs.
func (r *running) add(t *roster.Type, rank int) {
	pod := t.Pods[rank]
	if pod == nil || t.Auxiliary || t.HasFinished(rank) || pod.Status.Phase != corev1.PodRunning {
		return
	}
	if at, all := t.Pod(rank).StartedAt(); all {
		r.n++
		r.since = latest(r.since, at)
	}
}

// count counts all replicas whose pods are Alive by the ledger as it is now.
func (r *running) count(replicas *roster.Roster) {
	*r = running{}
	for i := range replicas.Types {
		t := &replicas.Types[i]
		for rank := range t.Pods {
			if state, matters := podStateOf(replicas, t, rank); matters && state == podstate.Alive {
				r.add(t, rank)
			}
		}
	}
}

// runsSince reports whether enough replicas run, and since when, as far as is known. All unfinished replicas have to run; with minMember, that many
// are enough. R is what recordOutcomes has counted. It is counted again if a restart was written since, or if the barrier may have opened.
func runsSince(job *v1beta1.GenericJob, l *ledger.Ledger, replicas *roster.Roster, r running, restarts bool) (since time.Time, enough bool) {
	if !l.BarrierIsOpen() {
		return time.Time{}, false
	}
	if restarts || l.RestartsInPlace() {
		r.count(replicas)
	}
	need := l.Unfinished() - l.AuxiliaryReplicas()
	if s := job.Spec.Scheduler; s != nil && s.MinMember != nil {
		need = min(need, int(*s.MinMember))
	}
	return latest(r.since, l.RestartTime()), r.n >= need
}

// ranTogether reports whether all replicas had started before one of them ended, and when the last one started.
func ranTogether(l ledger.Draft, replicas *roster.Roster, ended []*end) (since time.Time, together bool) {
	for i := range replicas.Types {
		t := &replicas.Types[i]
		for rank, pod := range t.Pods {
			if t.Auxiliary || pod == nil && t.HasFinished(rank) {
				continue
			}
			if pod == nil || !t.HasFinished(rank) && replicas.IsToBeReplaced(t, rank) {
				return time.Time{}, false
			}
			at, all := startOf(t, rank, ended)
			if !all {
				return time.Time{}, false
			}
			since = latest(since, at)
		}
	}
	return latest(since, l.RestartTime()), l.BarrierIsOpen() && !since.IsZero()
}

// startOf returns when the code of a replica started, and whether all its containers did. If the code ended in this reconcile, that is the start
// before the end.
func startOf(t *roster.Type, rank int, ended []*end) (at time.Time, all bool) {
	for _, e := range ended {
		if e.account == t.Account && e.rank == rank {
			return e.pod.StartedAt()
		}
	}
	return t.Pod(rank).StartedAt()
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

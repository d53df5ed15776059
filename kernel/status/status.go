// Package status tells users what became of a job: phase, conditions, rows, counts and events, in words. It reads the ledger, the verdict and the
// pods, and decides nothing about them. It also says when the write of a status may be postponed.
//
// What it tells is true when it is written. That holds for the pods as this reconcile saw them, and for the ledger that is written with it. A status
// without news is equal to the stored one.
//
// Begin with Of. Words are in conditions.go, sentences.go, restarts.go, failures.go and warnings.go.
package status

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// Findings is what a reconcile has found and decided.
type Findings struct {
	// Job is the job with its stored status.
	Job     *v1beta1.GenericJob
	Ledger  *ledger.Ledger
	Roster  *roster.Roster
	Verdict verdict.Verdict
	// Restarts are the events of the restarts that this reconcile has recorded.
	Restarts []RestartEvent
	// Progress is what is new of the job's progress; nil if nothing is.
	Progress *v1beta1.Progress
	// NoProgress is what failurePolicy.noProgress has counted so far; nil if nothing.
	NoProgress *v1beta1.NoProgressStatus
	// Failures say what went wrong in this reconcile.
	Failures []Failure
	// First is the failure that others followed from; nil if none is known. SummaryBefore is the summary that was told before of the same incident.
	First         *v1beta1.FirstFailure
	SummaryBefore string
	// Rejected says that nodes keep rejecting the pods of a replica; "" if no pod was rejected in this reconcile.
	Rejected string
	// Silent says which scheduler does not seem to run; "" if all do.
	Silent string
	// NoFlavor says why pods of a type that Kueue has admitted are missing; "" if they are not, or wait for something else.
	NoFlavor string
	// Awaits says whom or what the replicas wait for at the barrier; "" if they do not wait.
	Awaits string
	// MisplacedRanks says which pods are not placed in the order of their ranks; "" if all are, or the job runs already.
	MisplacedRanks string
	// Creates says that something is about to be created, Changes that something is about to be changed or deleted. A refusal of that is told only after
	// this reconcile.
	Creates, Changes bool
	// SuccessMayVanish says that a pod whose success this reconcile has recorded may be gone before the success is written.
	SuccessMayVanish bool
	// NoWrapper says that the operator has no image for pods that restart in place.
	NoWrapper bool
	Now       time.Time
}

// writer writes a status.
type writer struct {
	Findings
	status v1beta1.GenericJobStatus
	before map[string]*v1beta1.ReplicaStatus // see rowsBefore
}

// Of makes the status of a job after a reconcile, and the events that it justifies. Without news, Of returns the stored status and no events.
func Of(f Findings) (s v1beta1.GenericJobStatus, events []Event, news bool) {
	w := &writer{Findings: f, status: copyOf(&f.Job.Status)}
	w.status.ObservedGeneration = f.Job.Generation
	if f.Job.Status.CompletionTime == nil { // the ledger of a finished job is closed, and stays as its operator has written it
		w.status.LedgerVersion = v1beta1.LedgerVersion
		f.Ledger.Save(&w.status, f.Now)
		w.status.NoProgress = f.NoProgress
	} else if f.First != f.Job.Status.FirstFailure {
		w.status.History = f.Ledger.History()
	}
	switch {
	case f.Verdict.EndsJob():
		w.status.CompletionTime = &metav1.Time{Time: f.Now}
		w.status.Phase = v1beta1.JobFailed
		if f.Verdict.Course == verdict.Succeed {
			w.status.Phase = v1beta1.JobSucceeded
		}
	case f.Ledger.WasResumed():
		w.status.Phase = v1beta1.JobResuming
	}
	if f.Progress != nil {
		w.status.Progress = f.Progress
	}
	w.reportFirst()
	w.reportEnd()
	w.keepFailures()
	w.derive()
	w.correctFirst()
	return w.close()
}

// Unreadable makes the status of a job whose ledger cannot be read: it tells the problem and its remedy. Nothing else is safe for such a job, because
// somebody has changed the ledger, or another build of the operator wrote it.
func Unreadable(job *v1beta1.GenericJob, problem, remedy string, now time.Time) (s v1beta1.GenericJobStatus, events []Event, news bool) {
	p := &writer{Findings: Findings{Job: job, Now: now}, status: copyOf(&job.Status)}
	if p.status.CompletionTime == nil { // final is final
		p.status.Phase = v1beta1.JobUnknown
	}
	if job.Status.Phase == "" { // somebody has emptied the status: this build writes it anew
		p.status.LedgerVersion = v1beta1.LedgerVersion
	}
	p.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonLedgerUnreadable,
		problem+". The operator does nothing for this job "+remedy+".")
	return p.close()
}

// close dates the status if it says anything new.
func (w *writer) close() (v1beta1.GenericJobStatus, []Event, bool) {
	if hasReady(&w.Job.Status) {
		SetReady(&w.status, w.Now)
	}
	if equality.Semantic.DeepEqual(w.Job.Status, w.status) {
		return w.Job.Status, nil, false
	}
	now := metav1.NewMicroTime(w.Now)
	w.status.LastUpdateTime = &now
	SetReady(&w.status, w.Now)
	w.setGoodput()
	return w.status, w.events(), true
}

// copyOf returns a copy that may be changed, except Tasks and Ledger. These are large, so they are shared, and a reconcile replaces them as a whole.
func copyOf(s *v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	small := *s
	small.Tasks, small.Ledger = nil, nil
	out := *small.DeepCopy()
	out.Tasks, out.Ledger = s.Tasks, s.Ledger
	return out
}

// derivePhase derives the phase of a job that has not finished from its pods. The phase stays Running while replicas are replaced: the counts and the
// condition Running show that.
func (w *writer) derivePhase() {
	if w.Verdict.IsOver() {
		return
	}
	running, gone := w.unfinishedPods()
	phase := &w.status.Phase
	if !slices.Contains(v1beta1.UnfinishedPhases(), *phase) {
		*phase = "" // there is none yet, or somebody has written an unknown one
	}
	switch course := w.Verdict.Course; {
	case w.Verdict.StopsPods():
		w.stopPhase(gone)
	case course == verdict.Run && running:
		*phase = v1beta1.JobRunning
	case *phase == v1beta1.JobPaused && w.status.Mode == spec.ModePaused:
		// It stays Paused, so that the CRD lets users correct the spec.
	case *phase == "", *phase == v1beta1.JobPaused, *phase == v1beta1.JobUnknown:
		*phase = v1beta1.JobPending
	}
}

// stopPhase sets the phase of a job whose pods are being stopped. The phase changes when the last pod is gone.
func (w *writer) stopPhase(gone bool) {
	switch {
	case !gone && w.status.Phase != "" && w.status.Phase != v1beta1.JobUnknown: // a job that was Unknown is known again, so it gets a phase
	case gone && w.Verdict.Course == verdict.Pause:
		w.status.Phase = v1beta1.JobPaused
	default:
		w.status.Phase = v1beta1.JobPending
	}
}

// unfinishedPods reports whether all replicas that have not finished run, and whether all their pods are gone, and those of ranks that were scaled
// away.
func (w *writer) unfinishedPods() (running, gone bool) {
	running, gone = true, len(w.Roster.ScaledDown) == 0
	for t, rank := range w.Roster.Replicas() {
		pod := t.Pods[rank]
		switch {
		case t.HasFinished(rank):
		case pod == nil:
			running = false
		default:
			gone = false
			running = running && pod.Status.Phase == corev1.PodRunning && w.Roster.State(t, rank) == podstate.Alive
		}
	}
	return running, gone
}

package kernel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
)

// failurePolicy.noProgress fails a job after a series of failures that have the same cause, without a newer step between them. It must not fail a job
// that may have moved. So the highest step at the time of the failure must be known for certain. If the replica that tells steps has ended, its last
// words have the step. If its code still runs, its wrapper is asked. status.progress is read only now and then, so it can only show that the job has
// moved.
//
// A new series begins if step or cause is not known, or if anything but a counted failure came in between.

const (
	// stepWithin is how long after a failure the operator asks the wrapper of the replica that tells steps, and waits for its answer.
	stepWithin = 10 * time.Second
	// maxException is how many bytes of the type of an exception are kept.
	maxException = 64
)

// furthest is how far a job had come when it failed.
type furthest struct {
	replica string // the replica that tells steps; see reportingReplica
	known   bool
	step    *int64        // its highest step; nil if it has told none
	wait    time.Duration // how long after the failure to wait for its wrapper; 0 if it need not be asked
}

// comparesSteps reports whether the job has noProgress, and it has an effect.
func comparesSteps(job *v1beta1.GenericJob) bool {
	p := job.Spec.FailurePolicy
	return p != nil && p.NoProgress != nil && spec.WhyNoSteps(job) == ""
}

// FurthestPod returns the pod to ask for its highest step; nil if none is to be asked. Code of another replica has just failed, and its own still
// runs.
func FurthestPod(w World) *corev1.Pod {
	if !comparesSteps(w.Job) || w.Job.Status.CompletionTime != nil || barrier.IsClosed(w.Job) || !hasJustFailed(w) {
		return nil
	}
	return reportingPod(w.Job, spec.StepLine(&w.Job.Spec), w.Pods)
}

// hasJustFailed reports whether a container has failed within the last stepWithin, or a wrapper holds an end.
func hasJustFailed(w World) bool {
	for _, r := range w.Reports {
		if r.Held != nil {
			return true
		}
	}
	failedRecently := func(t *corev1.ContainerStateTerminated) bool {
		return t != nil && t.ExitCode != 0 && w.Now.Sub(t.FinishedAt.Time) < stepWithin
	}
	return slices.ContainsFunc(w.Pods, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
			return failedRecently(c.State.Terminated) || failedRecently(c.LastTerminationState.Terminated)
		})
	})
}

// furthestOf returns how far the job had come when these ends came.
func furthestOf(w World, replicas *roster.Roster, ended []*end) (f furthest) {
	if !comparesSteps(w.Job) {
		return f
	}
	t, rank := reportingReplica(replicas, spec.StepLine(&w.Job.Spec).Last)
	if t == nil {
		return f
	}
	f.replica = fmt.Sprintf("%s-%d", t.Type, rank)
	for _, e := range ended {
		if e.account == t.Account && e.rank == rank {
			f.step, f.known = stepOf(e.pod.Step())
			return f
		}
	}
	pod := t.Pods[rank]
	if pod == nil || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil || podstate.Address(pod) == "" {
		return f
	}
	if r := w.FurthestReport; r.Pod == string(pod.UID) && r.Attempt == podstate.NumbersOf(pod).CodeAttempt() {
		f.step, f.known = stepOf(r.Furthest)
	} else {
		f.wait = stepWithin
	}
	return f
}

// reportingReplica returns the replica whose steps are compared; nil if there is none. Of the unfinished replicas whose code a wrapper runs, it is
// the lowest, or the highest if last is true.
func reportingReplica(replicas *roster.Roster, last bool) (*roster.Type, int) {
	for i := range replicas.Types {
		t := &replicas.Types[i]
		if last {
			t = &replicas.Types[len(replicas.Types)-1-i]
		}
		if t.Auxiliary || spec.WhyNoWrapper(t.ReplicaSpec) != "" {
			continue
		}
		for n := range t.Pods {
			rank := n
			if last {
				rank = len(t.Pods) - 1 - n
			}
			if !t.HasFinished(rank) {
				return t, rank
			}
		}
	}
	return nil, 0
}

// stepOf parses a step in the form of output.Failure.Step.
func stepOf(told string) (step *int64, known bool) {
	if told == output.NoStep {
		return nil, true
	}
	n, err := strconv.ParseInt(told, 10, 64)
	return &n, err == nil && n >= 0
}

// untilStep returns how much longer failures are not counted, because the step at which they came is not known yet.
func (o *outcomes) untilStep(job *v1beta1.GenericJob, disturbed bool, now time.Time) time.Duration {
	failed := o.countedRestarts()
	if len(failed) == 0 || o.furthest.wait == 0 || disturbed || job.Generation != job.Status.ObservedGeneration {
		return 0
	}
	return leftOf(o.furthest.wait, failed[0], now)
}

// countedRestarts returns the failures whose restarts are allowed, and counted.
func (o *outcomes) countedRestarts() (list []*end) {
	for _, e := range o.ended {
		if isFailure(e) && e.isCounted() && e.mayRunAgain && !e.account.Auxiliary {
			list = append(list, e)
		}
	}
	return list
}

// applyNoProgress lets the failures of this reconcile fail the job, if they complete the series that noProgress allows. Otherwise it notes the series.
func (o *outcomes) applyNoProgress(job *v1beta1.GenericJob, l *ledger.Ledger) {
	o.noProgress = job.Status.NoProgress
	if !comparesSteps(job) {
		o.noProgress = nil
		return
	}
	failed := o.countedRestarts()
	if len(failed) == 0 {
		return
	}
	before := o.noProgress
	o.noProgress = o.seriesOf(l, withFirstInFront(failed)[0])
	if o.noProgress == nil || !continuesSeries(job, before, o.noProgress) {
		return
	}
	o.noProgress.Rounds, o.noProgress.Step = before.Rounds+1, before.Step // the highest step of the series
	if o.noProgress.Rounds < job.Spec.FailurePolicy.NoProgress.Rounds {
		return
	}
	for _, e := range failed {
		e.failJob(status.NoProgress, status.NoProgressFails(o.noProgress))
	}
}

// seriesOf returns the series that begins with a failure; nil if cause or step is not known.
func (o *outcomes) seriesOf(l *ledger.Ledger, first *end) *v1beta1.NoProgressStatus {
	record := first.pod.FailureWithCause()
	if !o.furthest.known || record.Cause.Role != v1beta1.CauseRoot {
		return nil
	}
	attempt := l.JobAttempt()
	if !l.RestartsTogether() {
		attempt = int32(l.Attempt(first.account, first.rank))
	}
	return &v1beta1.NoProgressStatus{
		Rounds: 1, Cause: record.Cause.Kind, Type: first.account.Type, Exception: exceptionOf(&record), ExitCode: exitCode(&record),
		Replica: o.furthest.replica, Step: o.furthest.step, Attempt: attempt, ModeGeneration: int32(l.ModeGeneration()),
	}
}

// exceptionOf returns the type of the exception of a failure.
func exceptionOf(f *v1beta1.ReplicaFailure) string {
	name, _, _ := strings.Cut(f.Exception, ":")
	return text.Cut(name, maxException)
}

// continuesSeries reports whether a failure continues the series before: it came in the next attempt, with the same cause and without a newer step.
// The cause of the failure before may have been corrected since, in status.firstFailure. Then it must still be that of the series.
func continuesSeries(job *v1beta1.GenericJob, before, now *v1beta1.NoProgressStatus) bool {
	if before == nil || before.Attempt+1 != now.Attempt || before.ModeGeneration != now.ModeGeneration || before.Replica != now.Replica {
		return false
	}
	same := before.Cause == now.Cause && before.Type == now.Type && before.Exception == now.Exception && ptr.Equal(before.ExitCode, now.ExitCode)
	return same && isStillOf(job.Status.FirstFailure, now) && !isNewer(now.Step, before.Step)
}

// isStillOf reports whether the stored first failure has the cause of a series. It is true if none is stored: then nothing has corrected the cause.
func isStillOf(f *v1beta1.FirstFailure, s *v1beta1.NoProgressStatus) bool {
	return f == nil || f.Cause != nil && f.Cause.Kind == s.Cause && exceptionOf(&f.ReplicaFailure) == s.Exception
}

// isNewer reports whether a step is higher than another. Nil is lower than any.
func isNewer(step, than *int64) bool { return step != nil && (than == nil || *step > *than) }

// forgetSeries ends the series if the job has told a newer step since.
func (o *outcomes) forgetSeries(told *v1beta1.Progress) {
	if told != nil && o.noProgress != nil && isNewer(told.Step, o.noProgress.Step) {
		o.noProgress = nil
	}
}

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
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/words"
)

// failurePolicy.noProgress. A series of failures ends the job if they had one cause, and no step was newer. A job that may have moved is not ended by
// it. So the highest step must be known for certain, at the very failure. The end of the replica that tells steps has it, or its wrapper, which is
// asked while its code still runs. What was told now and then (status.progress) can only show that the job has moved.
// Where a step or a cause is not known, or something else than a counted failure came in between, a new series begins.

const (
	// stepWithin is how long after a failure the wrapper of the replica that tells steps is asked, and waited for.
	stepWithin = 10 * time.Second
	// maxException is how many bytes are kept of an exception's type.
	maxException = 64
)

// furthest is how far a job had come when it failed.
type furthest struct {
	replica string // that tells steps: the lowest that has not finished, or the highest
	known   bool
	step    *int64        // the highest; nil: it has told none
	wait    time.Duration // how long its wrapper may still be asked; 0 if it need not be
}

// comparesSteps reports whether noProgress of a job's failure policy has an effect.
func comparesSteps(job *v1beta1.GenericJob) bool {
	p := job.Spec.FailurePolicy
	return p != nil && p.NoProgress != nil && spec.NoSteps(job) == ""
}

// StepPod is the pod that is to be asked for its highest step; nil if none is. Code of the job has just failed, and this one's still runs.
func StepPod(w World) *corev1.Pod {
	if !comparesSteps(w.Job) || w.Job.Status.CompletionTime != nil || barrier.Waits(w.Job) || !hasJustFailed(w) {
		return nil
	}
	return tellingPod(w.Job, spec.StepLine(&w.Job.Spec), w.Pods)
}

// hasJustFailed reports whether the container of a pod has failed of late, or a wrapper holds such an end.
func hasJustFailed(w World) bool {
	for _, r := range w.Reports {
		if r.Held != nil {
			return true
		}
	}
	late := func(t *corev1.ContainerStateTerminated) bool {
		return t != nil && t.ExitCode != 0 && w.Now.Sub(t.FinishedAt.Time) < stepWithin
	}
	return slices.ContainsFunc(w.Pods, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
			return late(c.State.Terminated) || late(c.LastTerminationState.Terminated)
		})
	})
}

// furthestOf returns how far a job had come whose code has ended so.
func furthestOf(w World, replicas *roster.Roster, ended []end) (f furthest) {
	if !comparesSteps(w.Job) {
		return f
	}
	t, rank := teller(replicas, spec.StepLine(&w.Job.Spec).Last)
	if t == nil {
		return f
	}
	f.replica = fmt.Sprintf("%s-%d", t.Type, rank)
	for i := range ended {
		if e := &ended[i]; e.account == t.Account && e.rank == rank {
			f.step, f.known = stepOf(e.pod.Step())
			return f
		}
	}
	pod := t.Pods[rank]
	if pod == nil || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil || ending.Address(pod) == "" {
		return f
	}
	if r := w.StepReport; r.Pod == string(pod.UID) && r.Attempt == ending.NumbersOf(pod).At() {
		f.step, f.known = stepOf(r.Furthest)
	} else {
		f.wait = stepWithin
	}
	return f
}

// teller is the replica whose steps are compared, nil if there is none. It is the lowest that has not finished, or the highest, of those whose code a
// wrapper runs.
func teller(replicas *roster.Roster, last bool) (*roster.Type, int) {
	for i := range replicas.Types {
		t := &replicas.Types[i]
		if last {
			t = &replicas.Types[len(replicas.Types)-1-i]
		}
		if t.Auxiliary || spec.NotWrapped(t.ReplicaSpec) != "" {
			continue
		}
		for n := range t.Pods {
			rank := n
			if last {
				rank = len(t.Pods) - 1 - n
			}
			if !t.Finished(rank) {
				return t, rank
			}
		}
	}
	return nil, 0
}

// stepOf reads a step as words.Said has it.
func stepOf(told string) (step *int64, known bool) {
	if told == words.NoStep {
		return nil, true
	}
	n, err := strconv.ParseInt(told, 10, 64)
	return &n, err == nil && n >= 0
}

// untilStep is how long failures wait until the step is known at which they came.
func (o *outcomes) untilStep(job *v1beta1.GenericJob, disturbed bool, now time.Time) time.Duration {
	failed := o.restarted()
	if len(failed) == 0 || o.furthest.wait == 0 || disturbed || job.Generation != job.Status.ObservedGeneration {
		return 0
	}
	if since := now.Sub(failed[0].pod.EndedAt()); since >= 0 && since < o.furthest.wait {
		return o.furthest.wait - since
	}
	return 0
}

// restarted are the failures that are restarted, and counted.
func (o *outcomes) restarted() (list []*end) {
	for i := range o.ended {
		if e := &o.ended[i]; isFailure(e) && e.counted() && e.allowed && !e.account.Auxiliary {
			list = append(list, e)
		}
	}
	return list
}

// applyNoProgress has the failures of this reconcile fail the job, if they are the last of so many without progress. Else it notes them.
func (o *outcomes) applyNoProgress(job *v1beta1.GenericJob, l *ledger.Ledger) {
	o.noProgress = job.Status.NoProgress
	if !comparesSteps(job) {
		o.noProgress = nil
		return
	}
	failed := o.restarted()
	if len(failed) == 0 {
		return
	}
	before := o.noProgress
	o.noProgress = o.seriesOf(l, causesFirst(failed)[0])
	if o.noProgress == nil || !follows(job, before, o.noProgress) {
		return
	}
	o.noProgress.Rounds, o.noProgress.Step = before.Rounds+1, before.Step // which is the highest
	if o.noProgress.Rounds < job.Spec.FailurePolicy.NoProgress.Rounds {
		return
	}
	for _, e := range failed {
		e.allowed, e.fails, e.rule, e.ruling = false, true, status.NoProgress, status.NoProgressFails(o.noProgress)
	}
}

// seriesOf begins a series with a failure; it is nil if cause or step is not known.
func (o *outcomes) seriesOf(l *ledger.Ledger, first *end) *v1beta1.NoProgressStatus {
	record := first.pod.RecordWithCause()
	if !o.furthest.known || record.Cause.Role != v1beta1.CauseRoot {
		return nil
	}
	attempt := l.JobAttempt()
	if !l.WholeJob() {
		attempt = int32(l.Attempt(first.account, first.rank))
	}
	return &v1beta1.NoProgressStatus{
		Rounds: 1, Cause: record.Cause.Kind, Type: first.account.Type, Exception: exceptionOf(&record), ExitCode: exitCode(&record),
		Replica: o.furthest.replica, Step: o.furthest.step, Attempt: attempt, ModeGeneration: int32(l.ModeGeneration()),
	}
}

// exceptionOf is the type of the exception of a failure.
func exceptionOf(f *v1beta1.ReplicaFailure) string {
	name, _, _ := strings.Cut(f.Exception, ":")
	return text.Cut(name, maxException)
}

// follows reports whether a failure came of the code that the one before had started. Its cause must be the same, and no step newer. What the status
// says of the first failure was corrected since, if its cause became known late.
func follows(job *v1beta1.GenericJob, before, now *v1beta1.NoProgressStatus) bool {
	if before == nil || before.Attempt+1 != now.Attempt || before.ModeGeneration != now.ModeGeneration || before.Replica != now.Replica {
		return false
	}
	same := before.Cause == now.Cause && before.Type == now.Type && before.Exception == now.Exception && ptr.Equal(before.ExitCode, now.ExitCode)
	return same && isStillOf(job.Status.FirstFailure, now) && !isNewer(now.Step, before.Step)
}

// isStillOf reports whether the first failure that a status tells has the cause of a series; nobody knows better if there is none.
func isStillOf(f *v1beta1.FirstFailure, s *v1beta1.NoProgressStatus) bool {
	return f == nil || f.Cause != nil && f.Cause.Kind == s.Cause && exceptionOf(&f.ReplicaFailure) == s.Exception
}

// isNewer reports whether a step is newer than another; nil is older than any.
func isNewer(step, than *int64) bool { return step != nil && (than == nil || *step > *than) }

// forgetSeries ends the series of failures if the job has shown a newer step since.
func (o *outcomes) forgetSeries(told *v1beta1.Progress) {
	if told != nil && o.noProgress != nil && isNewer(told.Step, o.noProgress.Step) {
		o.noProgress = nil
	}
}

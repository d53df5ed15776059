package training

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/announce"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/translators/framework"
)

// What a training job shows, beside what its GenericJob says.

// showing is what a reconcile shows in the job's status and events, and when the next reconcile is due.
type showing struct {
	status       *v1beta1.GenericJobStatus // nil leaves the status as it is
	board        func(client.Object)       // writes the state of the TensorBoard into the status; nil leaves it as it is
	events       []kernel.Event
	requeueAfter time.Duration
	// refused says that the apiserver refuses something that the job needs.
	refused bool
	// neverStarted says that the job ends without a GenericJob. The metrics count ends by GenericJobs, so this end is counted here.
	neverStarted bool
}

// mirrorOf returns the status of the GenericJob as what the job shows. If current is true, that status belongs to the job's present spec, and the
// job's observedGeneration says so.
func (r *Reconciler) mirrorOf(job client.Object, have *v1beta1.GenericJob, current bool) showing {
	status := have.Status.DeepCopy()
	if status.Phase == "" {
		status.Phase = v1beta1.JobPending
	}
	status.ObservedGeneration = 0
	if current {
		status.ObservedGeneration = job.GetGeneration()
	}
	return showing{status: status}
}

// mirror writes the status of a GenericJob into its job. If the job's definition cannot do that for so many replicas, the job shows none of them.
// Users are told once.
func (r *Reconciler) mirror(ctx context.Context, job client.Object, s *v1beta1.GenericJobStatus) {
	err := r.Mirror(job, *s)
	if err == nil {
		return
	}
	shows := "shows no replicas"
	switch {
	case r.Mirror(job, status.WithoutRows(s)) == nil:
	case s.Phase.IsFinal():
		shows = "is over, but what it shows stands still"
	default:
		shows = "goes on, but what it shows stands still"
	}
	memory := r.Memory.Of(job)
	if memory.unwritten == err.Error() {
		return
	}
	memory.unwritten = err.Error()
	list := []kernel.Event{status.NewEvent(true, v1beta1.ReasonInvalidDefinition, fmt.Sprintf(
		"TrainingFramework %s is at fault, and not the job: it cannot write the job's status: %v. The job %s. Tell a cluster admin, who has to mend the definition for new jobs.",
		r.Definition, err, shows))}
	announce.Warnings(ctx, list)
	announce.Events(r.Recorder, job, list)
}

// fail ends a job that cannot be compiled, or whose GenericJob the apiserver calls invalid.
func (r *Reconciler) fail(job client.Object, invalid error) showing {
	message := invalid.Error()
	now := r.Clock.Now()
	s := &v1beta1.GenericJobStatus{
		Phase: v1beta1.JobFailed, CompletionTime: &metav1.Time{Time: now}, LastUpdateTime: &metav1.MicroTime{Time: now}, ObservedGeneration: job.GetGeneration(),
	}
	for _, c := range []v1beta1.JobConditionType{
		v1beta1.ConditionInitialized, v1beta1.ConditionRunning, v1beta1.ConditionFailed, v1beta1.ConditionSucceeded, v1beta1.ConditionCompleted,
	} {
		holds := c == v1beta1.ConditionFailed || c == v1beta1.ConditionCompleted
		s.Conditions = append(s.Conditions, undated(c, holds, reasonFor(invalid), message))
	}
	status.SetReady(s, time.Time{})
	return showing{status: s, neverStarted: true}
}

// block shows that the job waits for something that the user can correct. The job goes on by itself then. If only an edit of the job corrects it,
// observedGeneration is that of the present spec. It is not while code may be about to start: see isCompiledOtherwise.
func (r *Reconciler) block(job client.Object, have *v1beta1.GenericJob, reason, message string) showing {
	s := &v1beta1.GenericJobStatus{Phase: v1beta1.JobPending, Conditions: waitingConditions(reason, message)}
	if have != nil && have.Status.Phase != "" {
		s = have.Status.DeepCopy()
		s.ObservedGeneration = 0
	}
	if status.Stalls(reason) && s.UnstartedSpec == "" {
		s.ObservedGeneration = job.GetGeneration()
	}
	s.LastUpdateTime = &metav1.MicroTime{Time: r.Clock.Now()}
	status.Block(s, time.Time{}, reason, message)
	return showing{status: s, events: []kernel.Event{{Warning: true, Reason: reason, Message: message}}}
}

// waitingConditions returns the conditions of a job that waits without a GenericJob.
func waitingConditions(reason, message string) []v1beta1.JobCondition {
	return []v1beta1.JobCondition{
		undated(v1beta1.ConditionInitialized, false, reason, message),
		undated(v1beta1.ConditionRunning, false, reason, message),
		undated(v1beta1.ConditionCompleted, false, v1beta1.ReasonNotFinished, "The job has not finished."),
	}
}

// failUnlessRunning fails a job that cannot be run, unless it has a GenericJob that the cache does not show yet. Such a GenericJob was compiled from
// an earlier spec, and goes on.
func (r *Reconciler) failUnlessRunning(ctx context.Context, job client.Object, invalid error) (showing, error) {
	_, err := calls.GetLive(ctx, r.Live, job, calls.GVKGenericJob)
	switch {
	case apierrors.IsNotFound(err):
		return r.fail(job, invalid), nil
	case err != nil:
		return showing{}, fmt.Errorf("look for the GenericJob of %s %s/%s: %w", r.Kind.Kind, job.GetNamespace(), job.GetName(), err)
	default:
		return showing{requeueAfter: calls.RetrySoon}, nil
	}
}

// showRefusal shows what the apiserver refuses. If the apiserver calls the GenericJob invalid, a job that has never run fails. Otherwise the operator
// tries again after as long as that has lasted, at most after a minute. No event tells it that a quota has room, that a policy has changed, or that a
// name is free. An error that is no refusal is returned; if it lasts, it is shown like one.
func (r *Reconciler) showRefusal(ctx context.Context, job client.Object, have *v1beta1.GenericJob, err error) (showing, error) {
	var refusal *calls.RefusalError
	sure := errors.As(err, &refusal)
	r.Counts.CountFailedCall(r.Kind, metrics.ObjectGenericJob, reasonOf(refusal))
	memory, now := r.Memory.Of(job), r.Clock.Now()
	lasts := memory.failing.Lasts(now)
	if !sure && !lasts {
		return showing{}, err
	}
	if !sure {
		refusal = &calls.RefusalError{Refusal: kernel.Refusal{Reason: v1beta1.ReasonCreateFailed, Message: err.Error()}}
	}
	if refusal.Reason == v1beta1.ReasonCreateInvalid && have == nil && !r.hasRun(job) {
		return r.failUnlessRunning(ctx, job, r.refusedSpecError(refusal.Message))
	}
	reason := refusal.Reason
	memory.nameWasTaken = reason == v1beta1.ReasonNameConflict
	message := refusal.Message + ": the operator keeps trying. Free what is short, have the policy or webhook changed that is in the way, or delete the job."
	switch {
	case refusal.Edited:
		message = refusal.Message + "."
	case reason == v1beta1.ReasonNameConflict:
		message = status.NameTaken(refusal.Message)
	case reason == v1beta1.ReasonCreateInvalid:
		reason = v1beta1.ReasonCreateFailed
	}
	out := r.block(job, have, reason, message)
	out.requeueAfter = memory.failing.Wait(now)
	out.refused = true
	return out, nil
}

// reasonOf returns the reason of a refusal. Nil stands for an error that may pass by itself.
func reasonOf(refusal *calls.RefusalError) string {
	if refusal == nil {
		return v1beta1.ReasonCreateFailed
	}
	return refusal.Reason
}

// hasRun reports whether the job has had a GenericJob that began. Then the apiserver has accepted before what it calls invalid now.
func (r *Reconciler) hasRun(job client.Object) bool {
	phase := r.Phase(job)
	return phase != "" && phase != v1beta1.JobPending
}

// undated returns a condition without a time. Mirror keeps the time of the job's own condition if that has the same status, and sets it otherwise.
func undated(t v1beta1.JobConditionType, holds bool, reason, message string) v1beta1.JobCondition {
	c := v1beta1.JobCondition{Type: t, Status: metav1.ConditionFalse, Reason: reason, Message: text.Cut(message, text.Max)}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// leaveAlone returns what a job shows while a GenericJob that it does not own has its name. That of an earlier job of the name goes with that one, as
// after `kubectl replace --force`: nobody has to do anything, and its end leads to the next reconcile.
func (r *Reconciler) leaveAlone(job client.Object, have *v1beta1.GenericJob) showing {
	if r.owner(job).HadPredecessor(have) {
		return showing{}
	}
	owner := "was made directly"
	if ref := metav1.GetControllerOf(have); ref != nil {
		owner = fmt.Sprintf("belongs to %s %s with UID %s", ref.Kind, ref.Name, ref.UID)
	}
	return r.block(job, nil, v1beta1.ReasonNameConflict, fmt.Sprintf(
		"GenericJob %s/%s exists already and %s: it is left alone. Once it is deleted the job goes on by itself; or give the job another name.", have.Namespace, have.Name, owner))
}

// warn tells of the warnings about a program that a write has just brought to the GenericJob. Those of one reason are one event: of events that differ
// in their notes alone Kubernetes keeps one note.
func (r *Reconciler) warn(ctx context.Context, job client.Object, program framework.Program) {
	var list []kernel.Event
	for _, e := range Warnings(program) {
		if i := slices.IndexFunc(list, func(other kernel.Event) bool { return other.Reason == e.Reason }); i >= 0 {
			list[i].Message += " " + e.Message
		} else {
			list = append(list, e)
		}
	}
	announce.Warnings(ctx, list)
	announce.Events(r.Recorder, job, list)
}

// Warnings returns what the operator warns of when it has compiled a job: what the translator found, and fields that have no effect.
func Warnings(program framework.Program) []kernel.Event {
	list := ignoredFields(program)
	for _, w := range program.Warnings {
		list = append(list, kernel.Event{Warning: true, Reason: w.Reason, Message: w.Message})
	}
	for _, why := range spec.WhyNotInPlace(&program.Spec, false) {
		list = append(list, kernel.Event{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: "spec.runPolicy.restartStrategy is InPlace, but " + why + "."})
	}
	if !program.Spec.RunMode.Debugs() {
		return list
	}
	for _, t := range spec.UnknownTypes(&program.Spec) {
		list = append(list, kernel.Event{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: fmt.Sprintf(
			"spec.runMode.debug.replicaSpecs names type %q, which the job does not have: the entry is ignored. Correct or remove it.", t)})
	}
	return list
}

// ignoredFields returns the warnings about fields of the run policy that have no effect on this job.
func ignoredFields(program framework.Program) (list []kernel.Event) {
	for _, why := range spec.WhyNoHeartbeat(&program.Spec, false) {
		list = append(list, kernel.Event{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: "spec.runPolicy.heartbeat is set, but " + why + "."})
	}
	if why := spec.WhyNoSteps(&v1beta1.GenericJob{Spec: program.Spec}); why != "" {
		list = append(list, kernel.Event{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: "spec.runPolicy.failurePolicy.noProgress is set, but " + why + "."})
	}
	if why := spec.WhyNoElsewhere(&program.Spec); why != "" { // what the operator has for all jobs is known to the GenericJob
		list = append(list, kernel.Event{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: "spec.runPolicy." + why + ". Where the operator has --avoid-nodes, that does for jobs without avoidNodes."})
	}
	for _, why := range spec.WhyNoProgress(&program.Spec, false) {
		list = append(list, kernel.Event{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: "spec.runPolicy.progress is set, but " + why + "."})
	}
	return list
}

// phaseEvent tells of a new phase, in the words of the condition that says most about it.
func phaseEvent(phase v1beta1.JobPhase, s *v1beta1.GenericJobStatus) kernel.Event {
	e := kernel.Event{Warning: phase == v1beta1.JobFailed, Reason: string(phase), Message: "The job is " + string(phase) + "."}
	if c := status.Condition(s.Conditions, announce.ConditionOf(phase)); c != nil && c.Message != "" {
		e.Message = c.Message
	} else if phase == v1beta1.JobPending {
		e.Message = "The job has been accepted, and is about to get its pods."
	}
	return e
}

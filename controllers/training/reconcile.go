package training

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/announce"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/dependents"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/remember"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/translators/framework"
)

// Reconciler reconciles the training jobs of one kind.
type Reconciler struct {
	// Registration is what its translator does: r.New, r.Compile, r.Mirror, r.Phase, r.Default and others; r.Revision names its revision.
	framework.Registration
	// Client reads from the cache and writes to the apiserver.
	Client client.Client
	// Live reads from the apiserver.
	Live client.Reader
	// Recorder emits events.
	Recorder events.EventRecorder
	// Clock tells the time of each reconcile.
	Clock clock.PassiveClock
	// Kind is the kind of the jobs.
	Kind schema.GroupVersionKind
	// Counts counts what happens for the metrics; nil counts nothing.
	Counts *metrics.Counts
	// Memory is what is remembered of each job.
	Memory *Memory
	// Definition is the TrainingFramework by which the kind is served; "" for a kind that the operator knows.
	Definition string

	// over reports whether a job is over although r.Phase does not say so. Nil knows of none.
	over func(client.Object) bool
}

// Memory is what the process remembers of training jobs.
type Memory = remember.Jobs[remembered]

// remembered is what the process remembers of one training job, until the job is gone.
type remembered struct {
	// failing holds how long writes that the job needs have failed. refused holds what the apiserver refuses although the job runs without it.
	failing, refused calls.RefusalTimer
	// nameWasTaken says that the last refusal was of a name that somebody else's object has.
	nameWasTaken bool
	// annotation is when the annotation of what was compiled was refused last.
	annotation refusedAnnotation
	// board is the last look at the pods of the job's TensorBoard.
	board dependents.Look
	// unwritten is why the job's definition cannot write its status, as users have been told.
	unwritten string
}

// Reconcile compiles a training job, brings its GenericJob to what was compiled, and mirrors the status of that.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	job := r.New()
	if err := r.Client.Get(ctx, req.NamespacedName, job); err != nil {
		if apierrors.IsNotFound(err) {
			r.Memory.Forget(req.NamespacedName)
			return ctrl.Result{}, nil // what it owned goes with it
		}
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", r.Kind.Kind, req, err)
	}
	if job.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	program, invalid := Compile(r.Registration, r.Kind.Kind, job)
	if program.Foreign {
		return ctrl.Result{}, nil // another controller's
	}
	if done, err := r.setDefaults(ctx, job); err != nil {
		return r.reportRefusal(ctx, job, ctrl.Result{}, err)
	} else if done {
		return ctrl.Result{}, nil
	}
	result, err := r.reconcile(ctx, job, program, invalid)
	if err == nil {
		return result, nil
	}
	return r.reportRefusal(ctx, job, result, err)
}

// reconcile brings what the job owns to what was compiled, and writes the job's status.
func (r *Reconciler) reconcile(ctx context.Context, job client.Object, program framework.Program, invalid error) (ctrl.Result, error) {
	var out showing
	var err error
	if r.finished(job) {
		out, err = r.reconcileFinished(ctx, job, program)
	} else {
		out, err = r.reconcileUnfinished(ctx, job, program, invalid)
	}
	if err == nil && !out.refused {
		r.Memory.Of(job).failing.End()
		r.Memory.Of(job).nameWasTaken = false
	}
	if apierrors.IsConflict(err) {
		r.Counts.CountStopped(r.Kind, metrics.ByConflict)
		return ctrl.Result{RequeueAfter: calls.RetrySoon}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := calls.CheckShutdown(ctx); err != nil {
		return ctrl.Result{}, err
	}
	errDependents := r.ensureDependents(ctx, job, program, invalid, &out)
	err = r.writeStatus(ctx, job, out)
	if left, limited := r.timeToLive(job, program); limited && err == nil { // the reconcile may just have finished the job
		out.requeueAfter = calls.Sooner(out.requeueAfter, max(left, time.Second))
	}
	if apierrors.IsConflict(err) {
		r.Counts.CountStopped(r.Kind, metrics.ByConflict)
		err, out.requeueAfter = nil, calls.RetrySoon
	}
	if err = errors.Join(err, errDependents); err == nil {
		r.Memory.Of(job).refused.NothingRefused()
	}
	return ctrl.Result{RequeueAfter: out.requeueAfter}, err
}

// finished reports whether the job is over. Nothing is created for it any more, even if its GenericJob is deleted.
func (r *Reconciler) finished(job client.Object) bool {
	return r.Phase(job).IsFinal() || r.over != nil && r.over(job)
}

func (r *Reconciler) owner(job client.Object) calls.Owner {
	return calls.Owner{Client: r.Client, Live: r.Live, Object: job, Kind: r.Kind}
}

// reconcileUnfinished creates the job's GenericJob, or brings it to what was compiled.
func (r *Reconciler) reconcileUnfinished(ctx context.Context, job client.Object, program framework.Program, invalid error) (showing, error) {
	have := &v1beta1.GenericJob{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(job), have)
	switch {
	case apierrors.IsNotFound(err):
		return r.handleUnstarted(ctx, job, program, invalid)
	case err != nil:
		return showing{}, fmt.Errorf("read GenericJob %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	case !metav1.IsControlledBy(have, job):
		return r.leaveAlone(job, have), nil
	case have.DeletionTimestamp != nil:
		return r.mirrorOf(job, have, false), nil // its end leads to the next reconcile
	case have.Annotations[v1beta1.AnnotationFrameworkRevision] != r.Revision && r.Revision != "":
		return showing{requeueAfter: calls.RetrySoon}, nil // another revision compiled it, which the cache has just shown
	case invalid != nil && have.Status.Phase.IsFinal():
		return r.mirrorOf(job, have, false), nil // nothing waits for a correction
	case invalid != nil:
		return r.block(job, have, reasonFor(invalid), invalid.Error()+". Until then the job goes on as it was."), nil
	case equality.Semantic.DeepEqual(have.Spec, program.Spec):
		return r.reconcileUnchanged(ctx, job, have, program)
	case isCompiledOtherwise(job, have):
		return r.updateAllowed(ctx, job, have, program, errCompiledOtherwise)
	default:
		return r.update(ctx, job, have, program)
	}
}

// reconcileUnchanged shows the status of a GenericJob that is as compiled.
func (r *Reconciler) reconcileUnchanged(ctx context.Context, job client.Object, have *v1beta1.GenericJob, program framework.Program) (showing, error) {
	if err := r.ensureData(ctx, job, program.Data); err != nil {
		return r.showRefusal(ctx, job, have, err)
	}
	if err := r.annotateCompiled(ctx, job, have, program.Elastic); err != nil {
		return showing{}, err
	}
	return r.mirrorOf(job, have, have.Status.ObservedGeneration == have.Generation), nil
}

// writeStatus writes the status of the job if it has changed, and then emits the events.
func (r *Reconciler) writeStatus(ctx context.Context, job client.Object, out showing) error {
	before := job.DeepCopyObject().(client.Object)
	if out.status != nil {
		r.mirror(ctx, job, out.status)
	}
	if out.board != nil {
		out.board(job)
	}
	if equality.Semantic.DeepEqual(before, job) {
		return nil
	}
	err := r.Client.Status().Update(ctx, job)
	if calls.TooLarge(err) && out.status != nil {
		r.mirror(ctx, job, ptr.To(status.WithoutRows(out.status)))
		err = r.Client.Status().Update(ctx, job)
	}
	if apierrors.IsNotFound(err) {
		return nil // it is gone, and what it owned goes with it
	}
	if err != nil {
		return fmt.Errorf("write status of %s %s/%s: %w", r.Kind.Kind, job.GetNamespace(), job.GetName(), err)
	}
	announce.Warnings(ctx, out.events)
	if phase := r.Phase(job); phase != r.Phase(before) && out.status != nil {
		if out.neverStarted {
			r.Counts.CountEnd(r.Kind.Kind, phase, job.GetCreationTimestamp(), r.Clock.Now())
		}
		announce.Phase(ctx, r.Phase(before), phase, out.status)
		out.events = append(out.events, phaseEvent(phase, out.status))
	}
	announce.Events(r.Recorder, job, out.events)
	return nil
}

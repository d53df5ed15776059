package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// lookAgain is when to try again after a pass whose view of the job or of a pod was old. The watch event that brings the new
// view normally comes first, if the cache keeps what has changed.
const lookAgain = time.Second

// GenericJob reconciles GenericJobs.
type GenericJob struct {
	// Client reads from the cache and writes to the apiserver.
	Client client.Client
	// Live reads from the apiserver.
	Live client.Reader
	// Recorder emits events.
	Recorder events.EventRecorder
	// Clock tells the time of each pass.
	Clock clock.PassiveClock
	// Settings are handed to the kernel.
	Settings kernel.Settings
	// AtOnce calls f for 0..n-1, in any order, until one fails, and joins their errors. Nil has many calls under way at
	// once; a simulation, which must be able to repeat itself, makes them one after the other.
	AtOnce func(n int, f func(int) error) error
	// pods lists the pods of a job. Nil: the client does.
	pods podLister
	// told are the kinds of owners that are told of each pod and Service.
	told map[schema.GroupVersionKind]bool
}

// Reconcile makes one pass: observe, plan, write status, fence, act. The order is what makes restarts and successes
// exact; see the kernel's package documentation.
func (r *GenericJob) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	job := &v1beta1.GenericJob{}
	err := r.Client.Get(ctx, req.NamespacedName, job)
	if apierrors.IsNotFound(err) {
		job.Namespace, job.Name = req.Namespace, req.Name
		return r.sweep(ctx, job)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read GenericJob %s: %w", req, err)
	}
	world, orphans, err := r.observe(ctx, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(orphans) > 0 {
		return r.sweep(ctx, job)
	}
	decision := kernel.Plan(world)
	if decision.Stale {
		if world.JobIsLive, err = r.isCurrent(ctx, job); err != nil {
			return ctrl.Result{}, err
		}
		decision = kernel.Plan(world)
	}
	return r.carryOut(ctx, job, decision)
}

// carryOut makes a decision true: status, fence, actions. The pods of a job that has just ended are released by the next pass:
// users wait for the ends of other jobs, and nobody for that.
func (r *GenericJob) carryOut(ctx context.Context, job *v1beta1.GenericJob, decision kernel.Decision) (ctrl.Result, error) {
	if err := goOn(ctx); err != nil {
		return ctrl.Result{}, err
	}
	later := releasesCanWait(job, decision)
	wrote, err := r.writeStatus(ctx, job, decision)
	if outdated(err) {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if later {
		return ctrl.Result{}, nil // the write's own event leads to a pass that queues behind those which end other jobs
	}
	if !wrote && creates(decision.Actions) {
		current, err := r.isCurrent(ctx, job)
		if err != nil || !current {
			return ctrl.Result{RequeueAfter: lookAgain}, err
		}
	}
	done, err := r.act(ctx, job, decision.Actions)
	if done.refusal != nil && err == nil {
		return r.report(ctx, job, decision, done)
	}
	return ctrl.Result{RequeueAfter: done.wake(decision.RequeueAfter)}, err
}

// outdated says whether a write failed because the job is no longer what was planned from.
func outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// writeStatus writes the decided status under the resourceVersion that was planned from, if it says anything new, and
// then emits the events that it justifies.
func (r *GenericJob) writeStatus(ctx context.Context, job *v1beta1.GenericJob, d kernel.Decision) (bool, error) {
	if equality.Semantic.DeepEqual(job.Status, d.Status) {
		return false, nil
	}
	job.Status = d.Status
	err := r.Client.Status().Update(ctx, job)
	if tooLarge(err) {
		job.Status = kernel.WithoutRows(&d.Status)
		err = r.Client.Status().Update(ctx, job)
	}
	if tooLarge(err) {
		emit(r.Recorder, job, []kernel.Event{kernel.TooLarge(err.Error())})
	}
	if err != nil {
		return false, fmt.Errorf("write status of GenericJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	emit(r.Recorder, job, d.Events)
	return true, nil
}

// isCurrent is the fence: it reads an object live and says whether it is still what was planned from. Without it, a pass
// could create a pod for a replica whose success an earlier pass has recorded: the pod cache may be ahead of the job
// cache, and a pass that writes no status never meets the lock.
func isCurrent(ctx context.Context, api client.Reader, o client.Object, kind schema.GroupVersionKind) (bool, error) {
	live, err := look(ctx, api, o, kind)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("fence %s %s/%s: %w", kind.Kind, o.GetNamespace(), o.GetName(), err)
	}
	return live.UID == o.GetUID() && live.ResourceVersion == o.GetResourceVersion(), nil
}

// look reads, live, the metadata of the object that has the kind given and the name of o. They are empty if there is none.
func look(ctx context.Context, api client.Reader, o client.Object, kind schema.GroupVersionKind) (*metav1.PartialObjectMetadata, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	return live, api.Get(ctx, client.ObjectKeyFromObject(o), live)
}

func (r *GenericJob) isCurrent(ctx context.Context, job *v1beta1.GenericJob) (bool, error) {
	return isCurrent(ctx, r.Live, job, v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))
}

// report tells of a refusal in the job's status and tries again later: soon at first, then as often as it has been
// blocked long, at most once a minute.
func (r *GenericJob) report(ctx context.Context, job *v1beta1.GenericJob, decision kernel.Decision, done acted) (ctrl.Result, error) {
	refusal := *done.refusal
	now := metav1.NewTime(r.Clock.Now())
	log.FromContext(ctx).Info("refused by the apiserver", "action", refusal.Action.String(), "reason", refusal.Reason, "message", refusal.Message)
	_, err := r.writeStatus(ctx, job, kernel.Report(job, decision, refusal, now))
	if outdated(err) {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	retry := time.Second
	for _, c := range job.Status.Conditions {
		if c.Type == v1beta1.ConditionBlocked {
			retry = min(max(retry, now.Sub(c.LastTransitionTime.Time)), time.Minute)
		}
	}
	if wake := done.wake(decision.RequeueAfter); wake > 0 {
		retry = min(retry, wake) // neither a deadline nor a conflict waits for a quota
	}
	return ctrl.Result{RequeueAfter: retry}, err
}

// maxNote is the length in bytes that the events API allows a note.
const maxNote = 1024

func emit(recorder events.EventRecorder, job client.Object, list []kernel.Event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		recorder.Eventf(job, nil, kind, e.Reason, e.Reason, "%s", kernel.Cut(e.Message, maxNote))
	}
}

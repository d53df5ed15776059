package jobs

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/controllers/badnodes"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/remember"
	"github.com/genericjob/genericjob/controllers/wake"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/status"
)

// Reconciler reconciles GenericJobs.
type Reconciler struct {
	// Client reads from the cache and writes to the apiserver.
	Client client.Client
	// Live reads from the apiserver.
	Live client.Reader
	// Recorder emits events.
	Recorder events.EventRecorder
	// Clock tells the time of each reconcile.
	Clock clock.PassiveClock
	// Settings are handed to the kernel.
	Settings kernel.Settings
	// AtOnce calls f for 0..n-1 in any order, and reports whether it did so for all. It may stop some time after a call that failed. Nil makes many
	// calls at once. A simulation makes them one after the other, because it must be able to repeat itself.
	AtOnce func(n int, f func(int) error) (all bool)
	// Reports returns the reports of pods that have come so far. If asks is true, it asks the pods, and tells them their orders. Nil asks over the
	// network.
	Reports func(ctx context.Context, job *v1beta1.GenericJob, about Subject, pods []*corev1.Pod, asks bool) map[types.UID]inplace.Report
	// Push tells a pod an order that the apiserver has just stored, so that the pod need not wait for its volume. It is no error if the order does not
	// arrive. Nil tells it over the network.
	Push func(ctx context.Context, job *v1beta1.GenericJob, pod *corev1.Pod, o inplace.Order)
	// BadNodes is what speaks against nodes beside what each job has seen. Nil: nothing does.
	BadNodes *badnodes.Store
	// MostActions is how many actions a reconcile carries out at most; what is left follows in another. 0 means 200.
	MostActions int
	// Counts counts what happens. Nil: nobody asks.
	Counts *metrics.Counts
	// Version asks the apiserver for its version, as in "v1.34.1". Nil: nobody knows it.
	Version func(context.Context) (string, error)
	// memory is what is remembered of each job, and rules of restart rules.
	memory *remember.Jobs[remembered]
	rules  *calls.RestartRules
	// limiter bounds the calls under way, and pushSlots the orders that are pushed at once, over all jobs.
	limiter   *calls.Limiter
	pushSlots chan struct{}
	// nodes counts the cluster's nodes, and nodeAnswers remembers what they have answered.
	nodes       *nodeCount
	nodeAnswers *nodeAnswers
	// pods lists the pods of a job. Nil: the client does.
	pods podLister
	// questions are asked beside reconciles.
	questions *questions
	// workloads leads from Workloads of Kueue's to reconciles.
	workloads *wake.Workloads
	// eventsForPods are the kinds of owners that are told of each pod and Service.
	eventsForPods map[schema.GroupVersionKind]bool
	// serves reports whether this operator serves the kind of a training job. Nil: all are served.
	serves func(*metav1.OwnerReference) bool
}

// Reconcile makes one reconcile: gather, plan, write status, fence, see all pods, execute. The order is what makes restarts and successes
// exact; see the kernel's package documentation.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	job := &v1beta1.GenericJob{}
	err := r.Client.Get(ctx, req.NamespacedName, job)
	if apierrors.IsNotFound(err) {
		job.Namespace, job.Name = req.Namespace, req.Name
		return r.sweep(ctx, job)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read GenericJob %s: %w", req, err)
	}
	if job.Spec.ManagedBy.IsForeign() {
		return r.sweepEarlier(ctx, job) // another controller's
	}
	if r.memory.Of(job).awaitsUndo(job, r.Clock.Now()) {
		return ctrl.Result{RequeueAfter: calls.RetrySoon}, nil
	}
	world, orphans, err := r.gather(ctx, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(orphans) > 0 {
		live, err := r.liveUIDOf(ctx, job)
		if err != nil {
			return ctrl.Result{}, err
		}
		if live != job.UID {
			return r.sweep(ctx, job)
		}
		world.Orphans = orphans
	}
	if err := compact.Reserve(ctx, kernel.Weight(world)); err != nil {
		return ctrl.Result{}, err
	}
	decision := kernel.Plan(world)
	if decision.Stale {
		if world.JobIsLive, err = r.owner(job).IsCurrent(ctx); err != nil {
			return ctrl.Result{}, err
		}
		decision = kernel.Plan(world)
	}
	decision.RequeueAfter = calls.Sooner(decision.RequeueAfter, r.memory.Of(job).nodesAgain)
	return r.carryOut(ctx, world, decision)
}

// carryOut carries out a decision: status, fence, actions. If the job has just ended, the next reconcile releases its pods. Nobody waits for that
// release, but users wait for other jobs to end.
func (r *Reconciler) carryOut(ctx context.Context, w kernel.World, decision kernel.Decision) (ctrl.Result, error) {
	if err := calls.CheckShutdown(ctx); err != nil {
		return ctrl.Result{}, err
	}
	job := w.Job
	releaseLater := releasesCanWait(job, decision)
	wrote, err := r.writeStatus(ctx, w, decision)
	if calls.Outdated(err) {
		return ctrl.Result{RequeueAfter: calls.RetrySoon}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if releaseLater {
		return ctrl.Result{}, nil // the write's own event leads to a reconcile that queues behind those which end other jobs
	}
	if current, err := r.isCurrent(ctx, w, decision.Actions, wrote); err != nil || !current {
		return ctrl.Result{RequeueAfter: calls.RetrySoon}, err
	}
	out, err := r.execute(ctx, w, decision)
	if err != nil {
		return ctrl.Result{}, err
	}
	requeueAfter := calls.Sooner(decision.RequeueAfter, out.Wake())
	if len(out.Refused) > 0 {
		err = r.writeRefusals(ctx, w, decision, out.Refused)
	}
	if calls.Outdated(err) {
		return ctrl.Result{RequeueAfter: calls.Sooner(requeueAfter, calls.RetrySoon)}, nil
	}
	return ctrl.Result{RequeueAfter: requeueAfter}, err
}

// isCurrent reports whether the job and its pods are still as the plan saw them, as far as the actions depend on them. The fence, or the write of the
// status, proves it for the job. seesAll proves it for the pods.
func (r *Reconciler) isCurrent(ctx context.Context, w kernel.World, actions []kernel.Action, wrote bool) (bool, error) {
	if !wrote && slices.ContainsFunc(actions, kernel.Action.NeedsFence) {
		if current, err := r.fence(ctx, w.Job); err != nil || !current {
			return false, err
		}
	}
	return r.seesAll(ctx, w, actions)
}

// fence reports whether the job is still in the state that the plan was made from; see calls.Owner.
func (r *Reconciler) fence(ctx context.Context, job *v1beta1.GenericJob) (bool, error) {
	current, err := r.owner(job).IsCurrent(ctx)
	if err == nil && !current {
		r.Counts.CountStopped(calls.GVKGenericJob, metrics.ByFence)
	}
	return current, err
}

// releasesCanWait reports whether a decision ends the job, and its actions only release pods that nobody deletes.
func releasesCanWait(job *v1beta1.GenericJob, d kernel.Decision) bool {
	ends := job.Status.CompletionTime == nil && d.Status.CompletionTime != nil
	return ends && len(d.Actions) > 0 && !slices.ContainsFunc(d.Actions, func(a kernel.Action) bool {
		return a.Verb != kernel.ReleasePod || a.Pod.DeletionTimestamp != nil
	})
}

func (r *Reconciler) owner(job *v1beta1.GenericJob) calls.Owner {
	return calls.Owner{Client: r.Client, Live: r.Live, Object: job, Kind: calls.GVKGenericJob}
}

// execute carries out the actions of a decision.
func (r *Reconciler) execute(ctx context.Context, w kernel.World, decision kernel.Decision) (calls.Outcome, error) {
	job := w.Job
	executor := &calls.Executor{
		Owner: r.owner(job), Job: job, Builder: kernel.NewPodBuilder(job, r.Settings).In(w.Kueue), Clock: r.Clock,
		Refusals: &r.memory.Of(job).refusals, Rules: r.rules, Limiter: r.limiter, MostActions: r.MostActions, TypesLackingPods: decision.TypesLackingPods, AtOnce: r.AtOnce,
	}
	e := r.ownerEventsFor(job)
	if e != nil {
		defer r.emitAll(job, e)
	}
	executor.OnCreated = func(o client.Object) {
		if _, ok := o.(*corev1.Pod); ok {
			r.Counts.CountCreatedPod(job)
		}
		if e != nil {
			e.add(o)
		}
	}
	executor.OnChanged = func(a kernel.Action) { r.Counts.CountDeletion(job, a) }
	executor.OnOrderStored = func(a kernel.Action) { r.push(ctx, job, a.Pod, a.Order) }
	out, err := executor.Execute(ctx, decision.Actions)
	r.Counts.CountFailedCalls(job, out.Failed)
	logRefusals(ctx, out)
	return out, err
}

// writeStatus writes the decided status, if it is news, under the resourceVersion of the plan. Then it counts what has become true, and emits the
// events that the status justifies.
func (r *Reconciler) writeStatus(ctx context.Context, w kernel.World, d kernel.Decision) (bool, error) {
	job := w.Job
	if equality.Semantic.DeepEqual(job.Status, d.Status) {
		return false, nil
	}
	before := job.Status
	job.Status = d.Status
	err := r.Client.Status().Update(ctx, job)
	if calls.TooLarge(err) {
		job.Status = status.WithoutRows(&d.Status)
		err = r.Client.Status().Update(ctx, job)
	}
	if calls.TooLarge(err) {
		r.announce(job, []kernel.Event{status.TooLarge(err.Error())})
	}
	if apierrors.IsConflict(err) {
		r.Counts.CountStopped(calls.GVKGenericJob, metrics.ByConflict)
	}
	if err != nil {
		return false, fmt.Errorf("write status of GenericJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	r.Counts.CountStatusWrite(job, &before, d.Events, w.Pods)
	logStatus(ctx, &before, &job.Status, d.Events)
	r.announce(job, d.Events)
	return true, nil
}

// writeRefusals writes refusals into the job's status. A refusal may fail the job, or give its Service another name, if the job never had a pod. So
// it looks for pods live before that: the cache may not show them yet.
func (r *Reconciler) writeRefusals(ctx context.Context, w kernel.World, decision kernel.Decision, refusals []kernel.Refusal) error {
	w.Now = r.Clock.Now()
	for i, refusal := range refusals {
		if !refusal.DependsOnPods(w) {
			continue
		}
		accepted, err := r.hasPod(ctx, w.Job, refusal.Action.Type)
		if err != nil {
			return err
		}
		refusals[i].Accepted = accepted
	}
	_, err := r.writeStatus(ctx, w, kernel.RecordRefusals(w, decision, refusals))
	return err
}

package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/kernel"
)

// Executor carries out the actions of one reconcile over a GenericJob.
type Executor struct {
	Owner
	// Job is the Owner's object, in the state that the plan was made from.
	Job *v1beta1.GenericJob
	// Builder makes the job's pods.
	Builder *kernel.PodBuilder
	// Clock tells the time.
	Clock clock.PassiveClock
	// Refusals remembers what was refused in earlier reconciles.
	Refusals *Refusals
	// Rules remembers whether the apiserver takes restart rules.
	Rules *RestartRules
	// Limiter bounds the calls under way, over all jobs.
	Limiter *Limiter
	// MostActions is how many actions are carried out at most, so that other jobs get their turn. 0 means 200.
	MostActions int
	// TypesLackingPods are the replica types that lack more pods than the actions create.
	TypesLackingPods []string
	// AtOnce calls f for 0..n-1 in any order, and reports whether it did so for all. It may stop some time after a call that failed. Nil makes many
	// calls at once.
	AtOnce func(n int, f func(int) error) (all bool)
	// The functions below may be called from several goroutines at once. Nil means that nobody wants to know.

	// OnCreated is called for each pod and Service that the apiserver has just stored.
	OnCreated func(client.Object)
	// OnChanged is called for each action that has changed or deleted a pod, or deleted the job.
	OnChanged func(kernel.Action)
	// OnOrderStored is called for each order that the apiserver has just stored in a pod.
	OnOrderStored func(kernel.Action)
}

// Outcome is what became of the actions of a reconcile.
type Outcome struct {
	// Failed are those that failed in this reconcile.
	Failed []kernel.Refusal
	// Refused are those that the user must hear of: refused now, or refused before and not tried again since.
	Refused []kernel.Refusal
	// NewRefusals are those of Refused that were not reported in the previous reconcile: nothing of their batch had that reason.
	NewRefusals []kernel.Refusal
	// RequeueAfter is when to try again what was refused, or to see that an object is gone; 0 if neither is to be done.
	RequeueAfter time.Duration
	// Left says that there is more to do than one reconcile may do.
	Left bool
}

// Wake returns when to reconcile again; 0 if nothing is left to do. If a reconcile may do no more, the next follows at once, but behind those of
// other jobs that wait already.
func (o Outcome) Wake() time.Duration {
	if o.Left {
		return time.Millisecond
	}
	return o.RequeueAfter
}

// Execute carries out actions, tier after tier. An action that fails holds up only what needs it. After several failures the rest of a batch waits,
// too. Both are tried again later. An error means that the reconcile has to end.
func (x *Executor) Execute(ctx context.Context, actions []kernel.Action) (Outcome, error) {
	refusals := x.Refusals
	refusals.begin(x.Job, actions, x.Clock)
	batches := share(refusals.due(actions), refusals.batchNow, cmp.Or(x.MostActions, mostActions), refusals.batchesWithMore(x.TypesLackingPods))
	left := false
	for tier := range kernel.DeleteJob.Tier() + 1 {
		if refusals.holdsUp(tier) || left && tier == kernel.DeleteJob.Tier() {
			continue
		}
		tierBatches := ofTier(batches, tier)
		if err := compact.ReservePods(ctx, parallel, func() []int { return x.sizes(tierBatches) }); err != nil {
			return Outcome{}, err
		}
		more, err := x.tier(ctx, tierBatches)
		if err != nil {
			return Outcome{}, err
		}
		left = left || more
	}
	refusals.cutOff = left && len(refusals.refused) == 0
	out := refusals.outcome(x.Job)
	out.Left = left
	return out, nil
}

// tier carries out the batches of one tier, at the same time. Left reports whether one turn was not enough for all of them.
func (x *Executor) tier(ctx context.Context, batches []batch) (left bool, err error) {
	end := x.Clock.Now().Add(tierTime)
	p := pace{atOnce: func() int { return min(x.Limiter.atOnce(), compact.AtOnce(ctx, parallel)) }, turnIsOver: func() bool { return !x.Clock.Now().Before(end) }}
	stops, errs := make([]stop, len(batches)), make([]error, len(batches))
	if x.AtOnce != nil {
		for i, b := range batches {
			stops[i] = refused
			if x.AtOnce(len(b.actions), x.caller(ctx, b)) {
				stops[i] = atEnd
			}
		}
	} else {
		var wg sync.WaitGroup
		for i, b := range batches {
			x.Limiter.enter()
			wg.Go(func() {
				defer x.Limiter.leave()
				stops[i], errs[i] = p.run(ctx, b.first(x.Refusals.cutOff), len(b.actions), x.caller(ctx, b))
			})
		}
		wg.Wait()
	}
	for i, why := range stops {
		left = left || why == turnOver || why == atEnd && batches[i].cut
		if why == refused {
			x.Refusals.close(batches[i].name)
		}
	}
	x.Refusals.closeRetried()
	return left, errors.Join(errs...)
}

// caller returns a function that carries out an action of a batch, by its number.
func (x *Executor) caller(ctx context.Context, b batch) func(int) error {
	return func(i int) error {
		a := b.actions[i]
		err := x.carryOut(ctx, a)
		object := ""
		if err != nil {
			object = x.nameOf(a)
		}
		return x.Refusals.note(a, object, err)
	}
}

// nameOf names what an action is about, as in "Pod x".
func (x *Executor) nameOf(a kernel.Action) string {
	switch {
	case a.Pod != nil:
		return "Pod " + a.Pod.Name
	case a.Verb == kernel.CreatePod:
		return "Pod " + x.Builder.Pod(a).Name
	case a.Service != nil:
		return "Service " + a.Service.Name
	case a.Object != nil:
		return a.Object.GetKind() + " " + a.Object.GetName()
	default:
		return "the job"
	}
}

// carryOut makes the call of an action.
func (x *Executor) carryOut(ctx context.Context, a kernel.Action) error {
	switch a.Verb {
	case kernel.CreateService:
		return x.createAndTell(ctx, a, a.Service.DeepCopy())
	case kernel.CreatePod:
		return x.createPod(ctx, a)
	case kernel.UpdateService:
		return x.updateService(ctx, a)
	case kernel.ApplyObject:
		return x.applyObject(ctx, a)
	case kernel.CreateObject:
		return refusedOr(a, x.createObject(ctx, a))
	case kernel.WriteObjectStatus:
		return x.reportObject(ctx, a)
	case kernel.DeleteObject:
		return x.deleteObject(ctx, a)
	default:
		return x.changePod(ctx, a)
	}
}

// changePod carries out the verbs for existing pods, and DeleteJob. An object that is gone is no error.
func (x *Executor) changePod(ctx context.Context, a kernel.Action) error {
	var err error
	switch a.Verb {
	case kernel.StopPod:
		err = x.stop(ctx, a)
	case kernel.MarkPod:
		err = x.annotate(ctx, a, v1beta1.AnnotationDisrupted, "true")
	case kernel.OrderPod:
		err = x.order(ctx, a)
	case kernel.ReleasePod:
		err = x.release(ctx, a)
	case kernel.EndPod:
		err = x.patch(ctx, handle(a.Pod), types.MergePatchType, map[string]any{
			"metadata": map[string]any{"uid": a.Pod.UID, "resourceVersion": a.Pod.ResourceVersion}, "spec": map[string]any{"activeDeadlineSeconds": 1},
		})
	case kernel.DeletePod:
		err = x.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID})
	case kernel.ForceDeletePod:
		err = x.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID}, client.GracePeriodSeconds(0))
	case kernel.DeleteJob:
		err = x.Client.Delete(ctx, x.Job, client.Preconditions{UID: &x.Job.UID, ResourceVersion: &x.Job.ResourceVersion},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
	default:
		err = fmt.Errorf("unknown verb %s", a.Verb)
	}
	if err == nil {
		x.reportChange(ctx, a)
	}
	if isGone(err) {
		return nil
	}
	return err
}

// isGone reports whether an object is gone, or another one has its name. It is no failure, because a watch event begins a reconcile that knows it. A
// conflict is a failure: the cache may not keep the field that has changed, and then no event comes.
func isGone(err error) bool { return apierrors.IsNotFound(err) || isAnother(err) }

// reportChange calls OnChanged, and logs what was deleted.
func (x *Executor) reportChange(ctx context.Context, a kernel.Action) {
	if x.OnChanged != nil {
		x.OnChanged(a)
	}
	switch a.Verb {
	case kernel.StopPod, kernel.DeletePod, kernel.ForceDeletePod:
		log.FromContext(ctx).Info("pod deleted", "replica", a.Replica(), "pod", a.Pod.Name, "reason", a.Reason, "force", a.Verb == kernel.ForceDeletePod)
	case kernel.DeleteJob:
		log.FromContext(ctx).Info("job deleted", "reason", a.Reason)
	default:
	}
}

// handle returns an object that only names a pod, for a call.
func handle(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
}

// stop marks the pod and then deletes it.
func (x *Executor) stop(ctx context.Context, a kernel.Action) error {
	if err := x.annotate(ctx, a, v1beta1.AnnotationStopped, x.Job.Status.Mode); err != nil {
		return err
	}
	return x.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID})
}

// order annotates a pod with an order, and then tells of it.
func (x *Executor) order(ctx context.Context, a kernel.Action) error {
	err := x.annotate(ctx, a, inplace.Annotation, a.Order.String())
	if err == nil && x.OnOrderStored != nil {
		x.OnOrderStored(a)
	}
	return err
}

// annotate puts a mark or an order on a pod, under its resourceVersion. A mark is needed because a pod that ends with exit code 0 may have finished,
// or may have been asked to stop. Only a pod that had not finished can get a mark.
func (x *Executor) annotate(ctx context.Context, a kernel.Action, annotation, value string) error {
	return x.patch(ctx, handle(a.Pod), types.MergePatchType, map[string]any{"metadata": map[string]any{
		"uid": a.Pod.UID, "resourceVersion": a.Pod.ResourceVersion, "annotations": map[string]string{annotation: value},
	}})
}

// release removes our finalizer and leaves those of others alone. The UID in the patch is a precondition.
func (x *Executor) release(ctx context.Context, a kernel.Action) error {
	return x.patch(ctx, handle(a.Pod), types.StrategicMergePatchType, map[string]any{"metadata": map[string]any{
		"uid": a.Pod.UID, "$deleteFromPrimitiveList/finalizers": []string{v1beta1.FinalizerTracking},
	}})
}

func (x *Executor) patch(ctx context.Context, o client.Object, kind types.PatchType, body map[string]any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return x.Client.Patch(ctx, o, client.RawPatch(kind, raw))
}

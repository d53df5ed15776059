package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/kernel"
)

// parallel is how many calls one pass has under way at once. The apiserver's priority and fairness is the throttle
// between jobs; this only bounds one.
const parallel = 50

// refused is an error that the user must hear of: the apiserver will go on refusing until something changes.
type refused struct{ kernel.Refusal }

func (e *refused) Error() string { return e.Reason + ": " + e.Message }

func refuse(reason, message string) error {
	return &refused{kernel.Refusal{Reason: reason, Message: message}}
}

// tracked says whether a pod carries our finalizer.
func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, v1beta1.FinalizerTracking)
}

func creates(actions []kernel.Action) bool {
	return slices.ContainsFunc(actions, func(a kernel.Action) bool { return a.Verb.Creates() })
}

// releasesCanWait says whether a decision ends the job and then only releases pods for whose end nobody waits.
func releasesCanWait(job *v1beta1.GenericJob, d kernel.Decision) bool {
	ends := job.Status.CompletionTime == nil && d.Status.CompletionTime != nil
	return ends && len(d.Actions) > 0 && !slices.ContainsFunc(d.Actions, func(a kernel.Action) bool {
		return a.Verb != kernel.ReleasePod || a.Pod.DeletionTimestamp != nil
	})
}

// acted is what came of actions.
type acted struct {
	refusal  *kernel.Refusal // of the apiserver, for the user to hear of
	conflict bool            // some call met an object that had changed
}

// wake is when to look at the job again, 0 for not before an event, where planned is what the plan says.
func (a acted) wake(planned time.Duration) time.Duration {
	if a.conflict && (planned == 0 || planned > lookAgain) {
		return lookAgain
	}
	return planned
}

// act carries out actions, group after group. It stops after a group in which one failed: what comes later needs what
// came before.
func (r *GenericJob) act(ctx context.Context, job *v1beta1.GenericJob, actions []kernel.Action) (acted, error) {
	do := &doer{creator: creator{r.Client, r.Live, job}, job: job, builder: kernel.NewBuilder(job, r.Settings)}
	for len(actions) > 0 {
		group := actions[0].Verb.Group()
		n := slices.IndexFunc(actions, func(a kernel.Action) bool { return a.Verb.Group() != group })
		if n < 0 {
			n = len(actions)
		}
		first := parallel
		if actions[0].Verb == kernel.CreatePod {
			first = 1 // slow start: what is refused once is not asked 5,000 times
		}
		one := func(i int) error { return do.one(ctx, actions[i]) }
		var err error
		if r.AtOnce != nil {
			err = r.AtOnce(n, one)
		} else {
			err = inParallel(ctx, n, first, one)
		}
		var refusal *refused
		if errors.As(err, &refusal) {
			return acted{&refusal.Refusal, do.conflict.Load()}, nil
		}
		if err != nil {
			return acted{}, err
		}
		actions = actions[n:]
	}
	return acted{conflict: do.conflict.Load()}, nil
}

// inParallel calls f for 0..n-1. It begins with first calls at once; each that succeeds makes room for one more, up to
// parallel (fewer in a pass over a large job), so that their number doubles with each round trip and no call waits for the
// slowest of a batch. After a call that failed, or when the operator is told to end, no other begins. The errors are joined in
// the order of the numbers.
func inParallel(ctx context.Context, n, first int, f func(int) error) error {
	type result struct {
		i   int
		err error
	}
	numbers, results := make(chan int), make(chan result)
	defer close(numbers)
	work := func() {
		for i := range numbers {
			results <- result{i, f(i)}
		}
	}
	errs, most := make([]error, n+1), compact.AtOnce(ctx, parallel)
	stopped, workers := false, 0
	for next, running, room := 0, 0, min(first, most); running > 0 || next < n && !stopped; {
		for next < n && running < room && !stopped {
			if errs[n] = goOn(ctx); errs[n] != nil {
				stopped = true
				break
			}
			if running == workers { // kept for later calls: their stacks have grown to what a call takes
				workers++
				go work()
			}
			numbers <- next
			next, running = next+1, running+1
		}
		if running == 0 {
			break
		}
		r := <-results
		running--
		errs[r.i] = r.err
		stopped = stopped || r.err != nil
		room = min(room+1, most)
	}
	return errors.Join(errs...)
}

// doer carries out the actions of one pass.
type doer struct {
	creator
	job      *v1beta1.GenericJob
	builder  *kernel.Builder
	conflict atomic.Bool
}

func (d *doer) one(ctx context.Context, a kernel.Action) error {
	err := d.provide(ctx, a)
	var refusal *refused
	if errors.As(err, &refusal) {
		refusal.Action = a
	}
	return err
}

func (d *doer) provide(ctx context.Context, a kernel.Action) error {
	switch a.Verb {
	case kernel.CreateService:
		return d.create(ctx, a.String(), a.Service.DeepCopy())
	case kernel.CreatePod:
		return d.create(ctx, a.String(), d.builder.Pod(a))
	case kernel.UpdateService:
		return d.updateService(ctx, a)
	case kernel.ApplyObject:
		return d.applyObject(ctx, a)
	default:
		return d.letGo(ctx, a)
	}
}

// letGo carries out the verbs that stop, release and delete.
func (d *doer) letGo(ctx context.Context, a kernel.Action) error {
	var err error
	switch a.Verb {
	case kernel.StopPod:
		err = d.stop(ctx, a)
	case kernel.MarkPod:
		err = d.mark(ctx, a, v1beta1.AnnotationDisrupted, "true")
	case kernel.ReleasePod:
		err = d.release(ctx, a)
	case kernel.DeletePod:
		err = d.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID})
	case kernel.ForceDeletePod:
		err = d.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID}, client.GracePeriodSeconds(0))
	case kernel.DeleteJob:
		err = d.Client.Delete(ctx, d.job, client.Preconditions{UID: &d.job.UID, ResourceVersion: &d.job.ResourceVersion},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
	default:
		err = fmt.Errorf("unknown verb %s", a.Verb)
	}
	if err = d.unlessOutdated(err); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	return nil
}

// unlessOutdated takes the errors away that say that an object is not what was planned from: the next pass knows better.
// If it is gone, or another has its name, a watch event leads to that pass. If it has changed, that may be in what the cache
// does not keep, and no event comes.
func (d *doer) unlessOutdated(err error) error {
	if apierrors.IsConflict(err) {
		d.conflict.Store(true)
	}
	if outdated(err) || isAnother(err) {
		return nil
	}
	return err
}

// isAnother says whether a patch was refused because it carries the UID of another object. The apiserver calls that an
// invalid change of the UID, not a conflict.
func isAnother(err error) bool {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) || refused.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(refused.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// handle is an object that names a pod for a call.
func handle(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
}

// stop marks the pod and then deletes it.
func (d *doer) stop(ctx context.Context, a kernel.Action) error {
	if err := d.mark(ctx, a, v1beta1.AnnotationStopped, d.job.Status.Mode); err != nil {
		return err
	}
	return d.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID})
}

// mark annotates a pod under its resourceVersion. Whether a pod that ends with exit code 0 had finished or was asked to
// go cannot be told afterwards; the mark tells, because it can only be put on a pod that had not finished.
func (d *doer) mark(ctx context.Context, a kernel.Action, annotation, value string) error {
	return d.patch(ctx, a.Pod, types.MergePatchType, map[string]any{"metadata": map[string]any{
		"uid": a.Pod.UID, "resourceVersion": a.Pod.ResourceVersion, "annotations": map[string]string{annotation: value},
	}})
}

// release removes our finalizer and leaves those of others alone. The UID in the patch is a precondition.
func (d *doer) release(ctx context.Context, a kernel.Action) error {
	return d.patch(ctx, a.Pod, types.StrategicMergePatchType, map[string]any{"metadata": map[string]any{
		"uid": a.Pod.UID, "$deleteFromPrimitiveList/finalizers": []string{v1beta1.FinalizerTracking},
	}})
}

func (d *doer) patch(ctx context.Context, pod *corev1.Pod, kind types.PatchType, body map[string]any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return d.Client.Patch(ctx, handle(pod), client.RawPatch(kind, raw))
}

package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

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

// Doer carries out the actions of one pass over a GenericJob.
type Doer struct {
	Owner
	// Job is the Owner's object, as it was planned from.
	Job *v1beta1.GenericJob
	// Builder makes the job's pods.
	Builder *kernel.Builder
	// AtOnce calls f for 0..n-1 until one fails, and joins their errors. Nil has many calls under way at once.
	AtOnce func(n int, f func(int) error) error
	// Created is told of each pod and Service that the apiserver has just stored, of several at once. Nil: nobody asks.
	Created func(client.Object)

	conflict atomic.Bool
}

// Act carries out actions, group after group. It stops after a group in which one failed: what comes later needs what
// came before. The error is a *RefusalError if the apiserver will go on refusing. Conflict says whether some call met an
// object that had changed.
func (d *Doer) Act(ctx context.Context, actions []kernel.Action) (conflict bool, err error) {
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
		one := func(i int) error { return d.one(ctx, actions[i]) }
		if d.AtOnce != nil {
			err = d.AtOnce(n, one)
		} else {
			err = inParallel(ctx, n, first, one)
		}
		if err != nil {
			return d.conflict.Load(), err
		}
		actions = actions[n:]
	}
	return d.conflict.Load(), nil
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
			if errs[n] = GoOn(ctx); errs[n] != nil {
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

func (d *Doer) one(ctx context.Context, a kernel.Action) error {
	err := d.provide(ctx, a)
	var refusal *RefusalError
	if errors.As(err, &refusal) {
		refusal.Action = a
	}
	return err
}

func (d *Doer) provide(ctx context.Context, a kernel.Action) error {
	switch a.Verb {
	case kernel.CreateService:
		return d.createAndTell(ctx, a, a.Service.DeepCopy())
	case kernel.CreatePod:
		return d.createAndTell(ctx, a, d.Builder.Pod(a))
	case kernel.UpdateService:
		return d.updateService(ctx, a)
	case kernel.ApplyObject:
		return d.applyObject(ctx, a)
	default:
		return d.letGo(ctx, a)
	}
}

// createAndTell creates an object, and tells of it unless it was there before.
func (d *Doer) createAndTell(ctx context.Context, a kernel.Action, o client.Object) error {
	err := d.Create(ctx, a.String(), o)
	if err == nil && d.Created != nil && o.GetUID() != "" {
		d.Created(o)
	}
	return err
}

// letGo carries out the verbs that stop, release and delete.
func (d *Doer) letGo(ctx context.Context, a kernel.Action) error {
	var err error
	switch a.Verb {
	case kernel.StopPod:
		err = d.stop(ctx, a)
	case kernel.MarkPod:
		err = d.mark(ctx, a, v1beta1.AnnotationDisrupted, "true")
	case kernel.ReleasePod:
		err = d.release(ctx, a)
	case kernel.EndPod:
		err = d.patch(ctx, handle(a.Pod), types.MergePatchType, map[string]any{
			"metadata": map[string]any{"uid": a.Pod.UID}, "spec": map[string]any{"activeDeadlineSeconds": 1},
		})
	case kernel.DeletePod:
		err = d.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID})
	case kernel.ForceDeletePod:
		err = d.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID}, client.GracePeriodSeconds(0))
	case kernel.DeleteJob:
		err = d.Client.Delete(ctx, d.Job, client.Preconditions{UID: &d.Job.UID, ResourceVersion: &d.Job.ResourceVersion},
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
func (d *Doer) unlessOutdated(err error) error {
	if apierrors.IsConflict(err) {
		d.conflict.Store(true)
	}
	if Outdated(err) || isAnother(err) {
		return nil
	}
	return err
}

// handle is an object that names a pod for a call.
func handle(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
}

// stop marks the pod and then deletes it.
func (d *Doer) stop(ctx context.Context, a kernel.Action) error {
	if err := d.mark(ctx, a, v1beta1.AnnotationStopped, d.Job.Status.Mode); err != nil {
		return err
	}
	return d.Client.Delete(ctx, handle(a.Pod), client.Preconditions{UID: &a.Pod.UID})
}

// mark annotates a pod under its resourceVersion. Whether a pod that ends with exit code 0 had finished or was asked to
// go cannot be told afterwards; the mark tells, because it can only be put on a pod that had not finished.
func (d *Doer) mark(ctx context.Context, a kernel.Action, annotation, value string) error {
	return d.patch(ctx, handle(a.Pod), types.MergePatchType, map[string]any{"metadata": map[string]any{
		"uid": a.Pod.UID, "resourceVersion": a.Pod.ResourceVersion, "annotations": map[string]string{annotation: value},
	}})
}

// release removes our finalizer and leaves those of others alone. The UID in the patch is a precondition.
func (d *Doer) release(ctx context.Context, a kernel.Action) error {
	return d.patch(ctx, handle(a.Pod), types.StrategicMergePatchType, map[string]any{"metadata": map[string]any{
		"uid": a.Pod.UID, "$deleteFromPrimitiveList/finalizers": []string{v1beta1.FinalizerTracking},
	}})
}

func (d *Doer) patch(ctx context.Context, o client.Object, kind types.PatchType, body map[string]any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return d.Client.Patch(ctx, o, client.RawPatch(kind, raw))
}

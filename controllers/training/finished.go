package training

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// rest is what is left of a reconcile over a finished job. It looks at the time to live, at what the pods still do, and for a GenericJob
// that came too late.
func (r *Reconciler) rest(ctx context.Context, job client.Object, program framework.Program, _ error) (outcome, error) {
	out := outcome{}
	if left, limited := r.timeToLive(job, program); limited && left <= 0 {
		return out, r.expire(ctx, job)
	}
	have := &v1beta1.GenericJob{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(job), have)
	if err != nil {
		return out, client.IgnoreNotFound(err)
	}
	switch {
	case !metav1.IsControlledBy(have, job) || have.DeletionTimestamp != nil:
	case have.Status.Phase == r.Phase(job):
		out.status = r.follow(job, have, false).status
	case have.Status.CompletionTime == nil:
		return out, r.dismiss(ctx, job)
	}
	return out, nil
}

// dismiss deletes a GenericJob that came when the job had finished, and would train again. The call that created it was under way when somebody
// deleted the one that decided the job. Another operator, or one whose lists lagged, saw the job to its end. dismiss looks at it live: the cache
// may not know yet that it has finished.
func (r *Reconciler) dismiss(ctx context.Context, job client.Object) error {
	live := &v1beta1.GenericJob{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(job), live)
	if err == nil && metav1.IsControlledBy(live, job) && live.Status.CompletionTime == nil {
		err = r.Client.Delete(ctx, live, client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("dismiss the GenericJob of the finished %s %s/%s: %w", r.Kind.Kind, job.GetNamespace(), job.GetName(), err)
	}
	return nil
}

// timeToLive is how long a finished job still is to be kept, if not for ever.
func (r *Reconciler) timeToLive(job client.Object, program framework.Program) (time.Duration, bool) {
	ttl := program.TTLSecondsAfterFinished
	if ttl == nil || r.CompletionTime(job) == nil {
		return 0, false
	}
	return r.CompletionTime(job).Add(time.Duration(*ttl) * time.Second).Sub(r.Clock.Now()), true
}

// expire deletes a job whose time is over, as it was when that was found out.
func (r *Reconciler) expire(ctx context.Context, job client.Object) error {
	uid, version := job.GetUID(), job.GetResourceVersion()
	err := r.Client.Delete(ctx, job, client.Preconditions{UID: &uid, ResourceVersion: &version}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err == nil {
		log.FromContext(ctx).Info("job deleted", "reason", "ttlSecondsAfterFinished is over")
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s/%s: %w", r.Kind.Kind, job.GetNamespace(), job.GetName(), err)
	}
	return nil
}

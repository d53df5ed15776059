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

// reconcileFinished reconciles a finished job. It deletes the job if its time to live is over. Otherwise it shows what the pods still do, and deletes
// a GenericJob that was created too late.
func (r *Reconciler) reconcileFinished(ctx context.Context, job client.Object, program framework.Program) (showing, error) {
	out := showing{}
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
		out.status = r.mirrorOf(job, have, false).status
	case have.Status.CompletionTime == nil:
		return out, r.dismiss(ctx, job)
	}
	return out, nil
}

// dismiss deletes a GenericJob that was created after the job had finished, and would train again. That happens if somebody deletes the GenericJob
// that decided the job, while another operator, or one with an old cache, creates it again. dismiss reads it live: the cache may not show yet that it
// has finished.
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

// timeToLive returns how long a finished job is still kept, and false if it is kept for ever or has not finished.
func (r *Reconciler) timeToLive(job client.Object, program framework.Program) (time.Duration, bool) {
	ttl := program.TTLSecondsAfterFinished
	if ttl == nil || r.CompletionTime(job) == nil {
		return 0, false
	}
	return r.CompletionTime(job).Add(time.Duration(*ttl) * time.Second).Sub(r.Clock.Now()), true
}

// expire deletes a job whose time to live is over, unless the job has changed since it was read.
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

package training

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/announce"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/status"
)

// reportRefusal tells of a refusal that lasts, and that no status shows. The apiserver may refuse to delete a job whose time to live is over, to
// write a status, or to change an autoscaler. The user gets one event, and the operator tries again less and less often. Other errors are returned.
func (r *Reconciler) reportRefusal(ctx context.Context, job client.Object, result ctrl.Result, err error) (ctrl.Result, error) {
	again, news := r.Memory.Of(job).refused.Note(err, r.Clock.Now())
	if again == 0 || calls.CheckShutdown(ctx) != nil {
		return ctrl.Result{}, err
	}
	r.Counts.CountFailedCall(r.Kind, metrics.ObjectOther, v1beta1.ReasonRefused)
	if news {
		list := []kernel.Event{refusedEvent(err)}
		announce.Warnings(ctx, list)
		announce.Events(r.Recorder, job, list)
	}
	return ctrl.Result{RequeueAfter: calls.Sooner(result.RequeueAfter, again)}, nil
}

// refusedEvent tells of such a refusal, and what to do. A message about an object whose labels somebody has edited says that itself.
func refusedEvent(err error) kernel.Event {
	reason, message := v1beta1.ReasonRefused, err.Error()
	var refusal *calls.RefusalError
	if errors.As(err, &refusal) {
		reason, message = refusal.Reason, refusal.Message
		if refusal.Edited {
			return status.NewEvent(true, reason, message+".")
		}
	}
	return status.NewEvent(true, reason, fmt.Sprintf(
		"The apiserver refuses what is to be done for the job: %s. The operator keeps trying. Change what is in the way: a policy, a webhook, a role, a quota, or an object of that name.", message))
}

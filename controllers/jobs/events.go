package jobs

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/announce"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// maxReplaced is how many of the replicas that one reconcile replaces get an event each. One more event tells of all others: the loss of a node must
// not cost a thousand writes.
const maxReplaced = 10

// announce emits events about a job. If a training job owns it, they are about that alone: its users look there, and nobody is told twice. Events of
// phases are left out then: the training job's own reconciler has these, if its kind is served.
func (r *Reconciler) announce(job *v1beta1.GenericJob, list []kernel.Event) {
	list = bounded(list)
	owner := spec.TrainingJob(job)
	if owner == nil {
		announce.Events(r.Recorder, job, list)
		return
	}
	if r.serves == nil || r.serves(owner) {
		list = slices.DeleteFunc(slices.Clone(list), func(e kernel.Event) bool { return saysPhase(&job.Status, e) })
	}
	announce.Events(r.Recorder, announce.Reference(job.Namespace, owner), list)
}

// saysPhase reports whether an event tells of a new phase.
func saysPhase(s *v1beta1.GenericJobStatus, e kernel.Event) bool {
	if c := status.Condition(s.Conditions, v1beta1.ConditionFailed); c != nil && c.Status == metav1.ConditionTrue && c.Reason == e.Reason {
		return true
	}
	return slices.Contains([]string{v1beta1.ReasonStarted, v1beta1.ReasonRunning, v1beta1.ReasonPaused, v1beta1.ReasonSucceeded}, e.Reason)
}

// bounded returns the events, with at most maxReplaced of replicas that are replaced, and one that counts the rest.
func bounded(list []kernel.Event) []kernel.Event {
	var out []kernel.Event
	replaced, more := 0, 0
	for _, e := range list {
		if e.Replica != "" {
			replaced++
		}
		if e.Replica != "" && replaced > maxReplaced {
			more++
			continue
		}
		out = append(out, e)
	}
	if more > 0 {
		out = append(out, kernel.Event{Warning: true, Reason: v1beta1.ReasonReplaced, Message: fmt.Sprintf(
			"%d more replicas were replaced; status.ledger and the operator's log have each.", more)})
	}
	return out
}

// logStatus logs what is new in the status of a GenericJob: a phase, replicas that are replaced, and what blocks the job. Refusals are left
// to logRefusals.
func logStatus(ctx context.Context, before, after *v1beta1.GenericJobStatus, list []kernel.Event) {
	for _, e := range list {
		if e.Replica != "" {
			log.FromContext(ctx).Info("replica replaced", "replica", e.Replica, "node", e.Node, "reason", e.Reason, "message", e.Message)
		}
	}
	if after.Phase != before.Phase {
		announce.Phase(ctx, before.Phase, after.Phase, after)
	}
	refusals := []string{v1beta1.ReasonNameConflict, v1beta1.ReasonCreateFailed, v1beta1.ReasonCreateInvalid, v1beta1.ReasonRefused}
	old, now := status.Condition(before.Conditions, v1beta1.ConditionBlocked), status.Condition(after.Conditions, v1beta1.ConditionBlocked)
	if now == nil || now.Status != metav1.ConditionTrue || old != nil && old.Reason == now.Reason || slices.Contains(refusals, now.Reason) {
		return
	}
	log.FromContext(ctx).Info("blocked", "reason", now.Reason, "message", now.Message)
}

// logRefusals logs what the apiserver has refused. A refusal that lasts is logged once. At a higher verbosity each failed call has a line, for those
// who look for faults.
func logRefusals(ctx context.Context, out calls.Outcome) {
	for _, r := range out.NewRefusals {
		log.FromContext(ctx).Info("refused", "replica", r.Action.Replica(), "call", r.String(), "reason", r.Reason, "message", r.Message)
	}
	for _, r := range out.Failed {
		log.FromContext(ctx).V(1).Info("call failed", "replica", r.Action.Replica(), "call", r.String(), "message", r.Message)
	}
}

package controllers

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/status"
)

// The log, for admins. At level info there is a line for what has happened to a job, once it has: after the write that says so, or
// the call that did it. What goes on, or is tried again, has no other line. deploy/README.md has the keys. Values are of any length here;
// the operator's logger cuts them.

// logNaming returns what makes the logger of a pass: it names kind and job in each line, also in those of controller-runtime.
func logNaming(base logr.Logger, kind string) func(*ctrl.Request) logr.Logger {
	base = base.WithValues("kind", kind)
	return func(req *ctrl.Request) logr.Logger {
		if req == nil {
			return base
		}
		return base.WithValues("job", req.String())
	}
}

// logPhase logs a new phase of a job.
func logPhase(ctx context.Context, before, after v1beta1.JobPhase, s *v1beta1.GenericJobStatus) {
	var why v1beta1.JobCondition
	if c := status.Condition(s.Conditions, conditionOf(after)); c != nil {
		why = *c
	}
	log.FromContext(ctx).Info("new phase", "phase", string(after), "before", string(before), "reason", why.Reason, "message", why.Message)
}

// logStatus logs what a status of a GenericJob says that the one before did not: a phase, replicas that are replaced, and what blocks
// the job, unless that is a refusal, see logRefusals.
func logStatus(ctx context.Context, before, after *v1beta1.GenericJobStatus, list []kernel.Event) {
	for _, e := range list {
		if e.Replica != "" {
			log.FromContext(ctx).Info("replica replaced", "replica", e.Replica, "reason", e.Reason, "message", e.Message)
		}
	}
	if after.Phase != before.Phase {
		logPhase(ctx, before.Phase, after.Phase, after)
	}
	refusals := []string{v1beta1.ReasonNameConflict, v1beta1.ReasonCreateFailed, v1beta1.ReasonCreateInvalid, v1beta1.ReasonRefused}
	was, is := status.Condition(before.Conditions, v1beta1.ConditionBlocked), status.Condition(after.Conditions, v1beta1.ConditionBlocked)
	if is == nil || is.Status != metav1.ConditionTrue || was != nil && was.Reason == is.Reason || slices.Contains(refusals, is.Reason) {
		return
	}
	log.FromContext(ctx).Info("blocked", "reason", is.Reason, "message", is.Message)
}

// logRefusals logs what the apiserver has refused to a pass: what users hear of once as long as it lasts, and, for who looks for
// faults, each call that failed.
func logRefusals(ctx context.Context, out calls.Outcome) {
	for _, r := range out.News {
		log.FromContext(ctx).Info("refused", "replica", r.Action.Replica(), "call", r.String(), "reason", r.Reason, "message", r.Message)
	}
	for _, r := range out.Failed {
		log.FromContext(ctx).V(1).Info("call failed", "replica", r.Action.Replica(), "call", r.String(), "message", r.Message)
	}
}

// logWarnings logs what a training job warns of.
func logWarnings(ctx context.Context, list []kernel.Event) {
	for _, e := range list {
		if e.Warning {
			log.FromContext(ctx).Info("warning", "reason", e.Reason, "message", e.Message)
		}
	}
}

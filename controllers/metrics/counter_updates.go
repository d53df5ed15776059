package metrics

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/status"
)

// CountStatusWrite counts what a write of a job's status has made true. Call it once the apiserver has answered the write. The events are those that
// the write justifies. The pods are those that it was planned from.
func (c *Counts) CountStatusWrite(job *v1beta1.GenericJob, before *v1beta1.GenericJobStatus, events []kernel.Event, pods []*corev1.Pod) {
	if c == nil {
		return
	}
	kind, after := c.kindOf(job), &job.Status
	c.replaced(kind, job, before, events, pods)
	c.spent(kind, job.Namespace, before.Time, after.Time)
	c.recovered(kind, before.Recovery, after.Recovery)
	at := time.Time{}
	if after.LastUpdateTime != nil {
		at = after.LastUpdateTime.Time
	}
	if after.Phase == v1beta1.JobRunning && before.Phase != v1beta1.JobRunning && !hasRun(before) {
		c.started.WithLabelValues(kind).Observe(since(job.CreationTimestamp, at))
	}
	if before.CompletionTime == nil && after.CompletionTime != nil {
		c.CountEnd(kind, after.Phase, job.CreationTimestamp, after.CompletionTime.Time)
	}
}

// CountEnd counts the end of a job.
func (c *Counts) CountEnd(kind string, result v1beta1.JobPhase, created metav1.Time, at time.Time) {
	if c != nil {
		c.finished.WithLabelValues(kind, string(result)).Observe(since(created, at))
	}
}

// hasRun reports whether all replicas of a job have run before, or it was stopped, by a pause or its queue. The condition Running begins
// with the job, as Initialized does. Running has another time once it has changed; perhaps an earlier one, by another clock.
func hasRun(s *v1beta1.GenericJobStatus) bool {
	if s.PauseCount > 0 || status.Condition(s.Conditions, v1beta1.ConditionPaused) != nil {
		return true
	}
	running, begun := status.Condition(s.Conditions, v1beta1.ConditionRunning), status.Condition(s.Conditions, v1beta1.ConditionInitialized)
	switch {
	case running == nil || begun == nil:
		return false
	case running.Status == metav1.ConditionTrue:
		return true
	default:
		return !begun.LastTransitionTime.Equal(&running.LastTransitionTime)
	}
}

// replacements are how many restarts and disruptions are still to be counted.
type replacements struct{ restarted, excepted, disrupted int32 }

// replaced counts restarts, those that rules except, and disruptions. How many is what the status says; the events say why.
func (c *Counts) replaced(kind string, job *v1beta1.GenericJob, before *v1beta1.GenericJobStatus, events []kernel.Event, pods []*corev1.Pod) {
	after := &job.Status
	left := replacements{after.BackoffCount - before.BackoffCount, after.ExceptedCount - before.ExceptedCount, after.DisruptionCount - before.DisruptionCount}
	if left.restarted <= 0 && left.excepted <= 0 && left.disrupted <= 0 {
		return
	}
	byUID := make(map[types.UID]*corev1.Pod, len(pods))
	for _, pod := range pods {
		byUID[pod.UID] = pod
	}
	for _, e := range events {
		if e.Replica != "" {
			c.replacedFor(kind, job, e, byUID[e.UID], &left)
		}
	}
	c.restarts.WithLabelValues(kind, other).Add(float64(max(0, left.restarted)))
	c.excepted.WithLabelValues(kind, other).Add(float64(max(0, left.excepted)))
	c.disruptions.WithLabelValues(kind, other).Add(float64(max(0, left.disrupted)))
}

// replacedFor counts what an event tells of a pod, which may be nil.
func (c *Counts) replacedFor(kind string, job *v1beta1.GenericJob, e kernel.Event, pod *corev1.Pod, left *replacements) {
	switch {
	case e.Reason == v1beta1.ReasonRestarted && e.Warning && left.restarted > 0: // else no limit counts it
		left.restarted--
		c.restarts.WithLabelValues(kind, restartReason(job, pod)).Inc()
	case e.Reason == v1beta1.ReasonRestarted && !e.Warning && left.excepted > 0:
		left.excepted--
		c.excepted.WithLabelValues(kind, restartReason(job, pod)).Inc()
	case e.Reason == v1beta1.ReasonDisrupted && left.disrupted > 0:
		left.disrupted--
		c.disruptions.WithLabelValues(kind, disruptionReason(pod)).Inc()
	}
}

// CountCreatedPod counts a pod that the apiserver has stored.
func (c *Counts) CountCreatedPod(job *v1beta1.GenericJob) {
	if c != nil {
		c.created.WithLabelValues(c.kindOf(job)).Inc()
	}
}

// CountDeletion counts an action that has deleted a pod. It does not count other actions.
func (c *Counts) CountDeletion(job *v1beta1.GenericJob, a kernel.Action) {
	if how := howOf(a); c != nil && how != "" {
		c.deleted.WithLabelValues(c.kindOf(job), how).Inc()
	}
}

// CountFailedCalls counts the calls of a reconcile that failed.
func (c *Counts) CountFailedCalls(job *v1beta1.GenericJob, failed []kernel.Refusal) {
	if c == nil {
		return
	}
	for _, r := range failed {
		reason := r.Reason
		if objectOf(r.Action) == ObjectJob {
			reason = v1beta1.ReasonRefused
		}
		c.failed.WithLabelValues(c.kindOf(job), objectOf(r.Action), reason).Inc()
	}
}

// CountFailedCall counts a call that failed for a training job.
func (c *Counts) CountFailedCall(kind schema.GroupVersionKind, object, reason string) {
	if c != nil {
		c.failed.WithLabelValues(kind.Kind, object, reason).Inc()
	}
}

// CountStopped counts a reconcile that a conflict or the fence has stopped.
func (c *Counts) CountStopped(kind schema.GroupVersionKind, by string) {
	if c != nil {
		c.stopped.WithLabelValues(ControllerOf(kind), by).Inc()
	}
}

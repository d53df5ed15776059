package status

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// IsBlocked reports whether a job is said to be blocked for a reason.
func IsBlocked(s *v1beta1.GenericJobStatus, reason string) bool {
	c := Condition(s.Conditions, v1beta1.ConditionBlocked)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == reason
}

// Block sets Blocked to True. Running gets the same message, because kubectl shows that of Running. Ready becomes False.
func Block(s *v1beta1.GenericJobStatus, now time.Time, reason, message string) {
	Set(s, now, v1beta1.ConditionBlocked, true, reason, message)
	reportBlocked(s)
	SetReady(s, now)
}

// reportBlocked gives Running the message of Blocked, if the job does not run.
func reportBlocked(s *v1beta1.GenericJobStatus) {
	blocked, running := Condition(s.Conditions, v1beta1.ConditionBlocked), Condition(s.Conditions, v1beta1.ConditionRunning)
	if blocked != nil && running != nil && running.Status == metav1.ConditionFalse && s.CompletionTime == nil {
		running.Message = blocked.Message
	}
}

// refusalLasts reports whether this reconcile tries again what Blocked may say is refused.
func (w *writer) refusalLasts() bool {
	c := Condition(w.status.Conditions, v1beta1.ConditionBlocked)
	switch {
	case c == nil || w.Verdict.Course == verdict.None: // None: the status is unreadable, so nothing is carried out
		return false
	case c.Reason == v1beta1.ReasonRefused:
		return w.Changes
	default:
		return w.Creates
	}
}

// unblock removes the condition Blocked, unless it tells of a refusal that lasts.
func (w *writer) unblock() {
	if w.refusalLasts() {
		return
	}
	w.status.Conditions = slices.DeleteFunc(w.status.Conditions, func(c v1beta1.JobCondition) bool {
		return c.Type == v1beta1.ConditionBlocked
	})
}

// OftenRejected is after how many short lives in a row a rejected pod is told as a reason for Blocked.
const OftenRejected = 5

// stillRejected reports whether a replica whose pods were rejected has not run since.
func (w *writer) stillRejected() bool {
	if c := Condition(w.status.Conditions, v1beta1.ConditionBlocked); c == nil || c.Reason != v1beta1.ReasonPodRejected {
		return false
	}
	for _, t := range w.Roster.Types {
		for rank, pod := range t.Pods {
			if t.Streak(rank) >= OftenRejected && !t.HasFinished(rank) && (pod == nil || pod.Status.Phase != corev1.PodRunning) {
				return true
			}
		}
	}
	return false
}

// refusedScale says why a job keeps more replicas than its spec asks for: its rules name one of them. It is "" if the job keeps no more.
func (w *writer) refusedScale() string {
	for _, t := range w.Ledger.ReplicaTypes() {
		if asked := spec.Replicas(w.Job, t.ReplicaSpec); asked < t.N {
			return fmt.Sprintf("spec.replicaSpecs[%s].replicas is %d, but the job's rules name rank %d: it keeps %d. Set replicas to %d or more.",
				t.Type, asked, t.N-1, t.N, t.N)
		}
	}
	return ""
}

package metrics

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/status"
)

// What jobs wait for, beside the reasons of conditions.
const (
	// ReasonPodsNotReady: pods are on their way, or are started again.
	ReasonPodsNotReady = v1beta1.ReasonPodsNotReady
	// ReasonNoGenericJob: a training job has no GenericJob; its own status says why.
	ReasonNoGenericJob = "NoGenericJob"
)

var waitReasons = []string{
	// Blocked: somebody has to do something.
	v1beta1.ReasonInvalidSpec, v1beta1.ReasonInvalidDefinition, v1beta1.ReasonRevisionUnknown, v1beta1.ReasonNameConflict, v1beta1.ReasonCreateFailed, v1beta1.ReasonRefused, v1beta1.ReasonGangUnavailable,
	v1beta1.ReasonSchedulerSilent, v1beta1.ReasonScaleRefused, v1beta1.ReasonPodRejected, v1beta1.ReasonLedgerUnreadable, ReasonNoGenericJob,
	// A queue.
	v1beta1.ReasonQueued, v1beta1.ReasonEvicted,
	// Pods that cannot start.
	"Unschedulable", "SchedulingGated", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError",
	"CreateContainerError", "RunContainerError", "CrashLoopBackOff", ReasonPodsNotReady, other,
}

// Wait says for what a job waits, and since when; "" for a job that runs, is paused or is over. What blocks a job counts though it runs.
func Wait(job *v1beta1.GenericJob) (reason string, since time.Time) {
	s := &job.Status
	if s.CompletionTime != nil || job.DeletionTimestamp != nil {
		return "", since
	}
	if blocked := status.Condition(s.Conditions, v1beta1.ConditionBlocked); isTrue(blocked) {
		return WaitReason(blocked.Reason), blocked.LastTransitionTime.Time
	}
	running := status.Condition(s.Conditions, v1beta1.ConditionRunning)
	switch {
	case running == nil:
		return ReasonPodsNotReady, job.CreationTimestamp.Time
	case running.Status == metav1.ConditionTrue, running.Reason == v1beta1.ReasonPaused, running.Reason == v1beta1.ReasonPausing:
		return "", since
	case running.Reason == v1beta1.ReasonQueued, running.Reason == v1beta1.ReasonEvicted:
		return running.Reason, running.LastTransitionTime.Time
	}
	if c := status.Condition(s.Conditions, v1beta1.ConditionReplicaFailure); isTrue(c) && c.Reason != v1beta1.ReasonErrorInPod {
		return WaitReason(c.Reason), running.LastTransitionTime.Time
	}
	return ReasonPodsNotReady, running.LastTransitionTime.Time
}

// WaitReason returns the value of the label for a reason to wait.
func WaitReason(reason string) string { return oneOf(waitReasons, reason) }

// IsBlocked reports whether a job is blocked.
func IsBlocked(job *v1beta1.GenericJob) bool {
	return isTrue(status.Condition(job.Status.Conditions, v1beta1.ConditionBlocked))
}

func isTrue(c *v1beta1.JobCondition) bool { return c != nil && c.Status == metav1.ConditionTrue }

package metrics

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

// The values of labels. What is not among them is other.
const other = "Other"

var (
	restartReasons = []string{"Error", "OOMKilled", "Completed", "Evicted", "StartError", "ContainerCannotRun", other}

	// disruptionReasons are the reasons of the condition DisruptionTarget, and what pods say that have none. The value is Deleted if somebody deleted
	// them, Rejected if a node did not take them, NodeLost if it no longer answers.
	disruptionReasons = []string{
		"PreemptionByScheduler", "DeletionByTaintManager", "DeletionByDeviceTaintManager", "EvictionByEvictionAPI", "DeletionByPodGC", "TerminationByKubelet",
		"Evicted", "NodeShutdown", "NodeLost", "Rejected", "Deleted", other,
	}

	deletionHows = []string{"Stop", "Delete", "Force"}

	// creationRefusals are why a create fails. A change or a deletion fails as Refused.
	creationRefusals = []string{v1beta1.ReasonCreateFailed, v1beta1.ReasonCreateInvalid, v1beta1.ReasonNameConflict}
	failureReasons   = slices.Concat(creationRefusals, []string{v1beta1.ReasonRefused})
)

// What failed calls are about. Group is a PodGroup or Workload. GenericJob is that of a training job, or its ConfigMap. Other is what else
// a training job has, or its own status or deletion.
const (
	ObjectPod        = "Pod"
	ObjectService    = "Service"
	ObjectGroup      = "Group"
	ObjectJob        = "Job"
	ObjectGenericJob = "GenericJob"
	ObjectOther      = other
)

// What stops a reconcile.
const (
	ByConflict = "conflict"
	ByFence    = "fence"
)

// ControllerOf returns the name by which controller-runtime knows the controller of a kind.
func ControllerOf(kind schema.GroupVersionKind) string {
	if kind.GroupKind() == (schema.GroupKind{Group: v1beta1.GroupVersion.Group, Kind: v1beta1.KindGenericJob}) {
		return strings.ToLower(kind.Kind)
	}
	return strings.ToLower(kind.GroupKind().String()) // two groups may have a kind of one name
}

func oneOf(known []string, reason string) string {
	if slices.Contains(known, reason) {
		return reason
	}
	return other
}

// restartReason says how the pod of a replica ended that is restarted; pod may be nil.
func restartReason(job *v1beta1.GenericJob, pod *corev1.Pod) string {
	if pod == nil {
		return other
	}
	if r := spec.OfType(job, pod.Labels[v1beta1.LabelReplicaType]); r != nil {
		return endReason(podstate.Pod{Pod: pod, Template: &r.Template})
	}
	return other
}

func endReason(pod podstate.Pod) string {
	switch record := pod.Failure(); {
	case record.Reason != "":
		return oneOf(restartReasons, record.Reason)
	case record.ExitCode == nil && pod.Status.Phase != corev1.PodFailed: // policy Always
		return "Completed"
	default:
		return "Error"
	}
}

// disruptionReason says what ended a pod from outside; pod may be nil.
func disruptionReason(pod *corev1.Pod) string {
	if pod == nil {
		return other
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return oneOf(disruptionReasons, c.Reason)
		}
	}
	switch reason := pod.Status.Reason; {
	case reason == "Terminated", reason == "Shutdown", reason == "NodeShutdown":
		return "NodeShutdown"
	case podstate.IsRejection(reason):
		return "Rejected"
	case reason == "Preempting":
		return "TerminationByKubelet"
	case reason != "":
		return oneOf(disruptionReasons, reason)
	case pod.DeletionTimestamp != nil:
		return "Deleted"
	default:
		return other
	}
}

// objectOf returns what an action is about.
func objectOf(a kernel.Action) string {
	switch {
	case a.Pod != nil || a.Verb == kernel.CreatePod:
		return ObjectPod
	case a.Service != nil:
		return ObjectService
	case a.Object != nil:
		return ObjectGroup
	default:
		return ObjectJob
	}
}

// howOf returns how an action deletes a pod; "" if it does not.
func howOf(a kernel.Action) string {
	switch a.Verb {
	case kernel.StopPod:
		return "Stop"
	case kernel.DeletePod:
		return "Delete"
	case kernel.ForceDeletePod:
		return "Force"
	default:
		return ""
	}
}

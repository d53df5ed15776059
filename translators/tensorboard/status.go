package tensorboard

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Reasons of a TensorBoard's state, beside NameConflict, CreateFailed and CreateInvalid.
const (
	// ReasonReady: it can be opened.
	ReasonReady = "DependentReady"
	// ReasonNotReady: it does not serve yet, or no longer.
	ReasonNotReady = "DependentNotReady"
	// ReasonSuspended: spec.tensorboardSpec.suspend is set.
	ReasonSuspended = "Suspended"
	// ReasonMissing: it is gone, and is not created again because the job has finished.
	ReasonMissing = "DependentMissing"
	// ReasonUnreadable: some of the logs cannot be read.
	ReasonUnreadable = "LogLocationUnreadable"
)

// What the operator did to a TensorBoard.
const (
	ActionNone   = "NOP"
	ActionCreate = "Create"
	ActionUpdate = "Update"
)

// Seen is what a reconcile has found of a TensorBoard.
type Seen struct {
	// Deployment and Service are nil if there is none.
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	// Pods are the pods of the Deployment. They are not needed while it is Available.
	Pods []corev1.Pod
	// Action is what was done in this reconcile.
	Action string
}

// Available reports whether a Deployment serves what its spec asks for.
func Available(d *appsv1.Deployment) bool {
	return d != nil && d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas > 0 && d.Status.AvailableReplicas > 0
}

// Status returns the state of a TensorBoard. The same Seen always has the same state, so a TensorBoard in which nothing changes costs no write.
func (b Board) Status(seen Seen) *v1beta1.DependentStatus {
	s := newStatus(b.Deployment)
	s.Action = seen.Action
	switch {
	case seen.Deployment == nil:
		return withReason(s, corev1.EventTypeNormal, ReasonMissing, "There is no Deployment "+s.Name+", and none is made for a job that has finished. To see its logs, start a TensorBoard of your own, or run the job again.")
	case seen.Service == nil:
		s.Dependent = referenceTo(seen.Deployment)
		return withReason(s, corev1.EventTypeNormal, ReasonMissing, "There is no Service "+s.Name+", and none is made for a job that has finished. Open it with: kubectl port-forward -n "+b.Deployment.Namespace+" deployment/"+s.Name+" 6006, at http://localhost:6006")
	}
	s.Dependent = referenceTo(seen.Deployment)
	if *b.Deployment.Spec.Replicas == 0 {
		return withReason(s, corev1.EventTypeNormal, ReasonSuspended, "It has no pod, as spec.tensorboardSpec.suspend asks for. Set it to false to have it back.")
	}
	if Available(seen.Deployment) {
		s.Ready = true
		return withReason(s, corev1.EventTypeNormal, ReasonReady, fmt.Sprintf("TensorBoard [%s] is ready. Open it with: kubectl port-forward -n %s service/%s %d:%d, at http://localhost:%d",
			s.Name, b.Deployment.Namespace, s.Name, port, servicePort, port))
	}
	return unavailable(s, seen)
}

// Unreadable returns the state of a TensorBoard for which Build returned an error.
func Unreadable(owner metav1.Object, err error) *v1beta1.DependentStatus {
	s := &v1beta1.DependentStatus{Name: Name(owner), Action: ActionNone}
	return withReason(s, corev1.EventTypeWarning, ReasonUnreadable, err.Error()+". Until then what is there stays as it is.")
}

// Refused returns the state of a TensorBoard that the apiserver refuses, or whose name is taken.
func (b Board) Refused(reason, message string) *v1beta1.DependentStatus {
	s := newStatus(b.Deployment)
	s.Action = ActionNone
	switch reason {
	case v1beta1.ReasonNameConflict:
		message += ": it is left alone, as it may be somebody else's. Delete it, and the TensorBoard is made."
	case v1beta1.ReasonCreateInvalid:
		message += ". Correct spec.tensorboardSpec."
	default:
		message += ". The operator keeps trying."
	}
	return withReason(s, corev1.EventTypeWarning, reason, message)
}

func newStatus(d *appsv1.Deployment) *v1beta1.DependentStatus {
	return &v1beta1.DependentStatus{Name: d.Name}
}

func referenceTo(d *appsv1.Deployment) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, UID: d.UID}
}

func withReason(s *v1beta1.DependentStatus, kind, reason, note string) *v1beta1.DependentStatus {
	s.Type, s.Reason, s.Note = kind, reason, note
	return s
}

// unavailable says why a Deployment does not serve, in the words of its conditions, of the scheduler or of the kubelet.
func unavailable(s *v1beta1.DependentStatus, seen Seen) *v1beta1.DependentStatus {
	for _, c := range seen.Deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return withReason(s, corev1.EventTypeWarning, ReasonNotReady, "Its pod cannot be created: "+c.Message)
		}
	}
	pod := newest(seen.Pods)
	if pod == nil {
		return withReason(s, corev1.EventTypeNormal, ReasonNotReady, "It waits for its pod.")
	}
	if message, ok := unscheduled(pod); ok {
		reason := ReasonNotReady
		if strings.Contains(message, "persistentvolumeclaim") {
			reason = ReasonUnreadable
		}
		return withReason(s, corev1.EventTypeWarning, reason, fmt.Sprintf("Pod %s is not scheduled: %s", pod.Name, message))
	}
	for _, name := range []string{component, fetchName} {
		for _, c := range pod.Status.ContainerStatuses {
			if c.Name == name && explain(s, pod.Name, c) {
				return s
			}
		}
	}
	return withReason(s, corev1.EventTypeNormal, ReasonNotReady, fmt.Sprintf("Pod %s is being started. If that lasts, kubectl describe pod %s says what it waits for: a volume, for example.", pod.Name, pod.Name))
}

// unscheduled says why the scheduler finds no node for a pod, if that is so.
func unscheduled(pod *corev1.Pod) (message string, ok bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message, true
		}
	}
	return "", false
}

// newest returns the newest pod that is neither Terminating nor Failed; nil if there is none.
func newest(pods []corev1.Pod) *corev1.Pod {
	var best *corev1.Pod
	for i := range pods {
		p := &pods[i]
		switch {
		case p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed:
		case best == nil, best.CreationTimestamp.Before(&p.CreationTimestamp):
			best = p
		}
	}
	return best
}

// explain says why a container is not ready, and reports whether there was anything to say. Its words do not change while the trouble lasts, because
// each change would be a write. So a container that keeps ending is described by its last end, and not by what it does now. And the two reasons
// between which the kubelet alternates, if it cannot pull an image, have the same words.
func explain(s *v1beta1.DependentStatus, pod string, c corev1.ContainerStatus) bool {
	if c.Ready {
		return false
	}
	reason := ReasonNotReady
	if c.Name == fetchName {
		reason = ReasonUnreadable
	}
	ended := c.LastTerminationState.Terminated
	if c.State.Terminated != nil {
		ended = c.State.Terminated
	}
	waiting := c.State.Waiting
	switch {
	case ended != nil:
		withReason(s, corev1.EventTypeWarning, reason, fmt.Sprintf("Container %s of pod %s ended with exit code %d, and is started again: %s%s",
			c.Name, pod, ended.ExitCode, tail(ended.Message), advice(ended)))
	case waiting != nil && slices.Contains(v1beta1.PullReasons, waiting.Reason):
		withReason(s, corev1.EventTypeWarning, ReasonNotReady, fmt.Sprintf("The image %s cannot be pulled: correct spec.tensorboardSpec.image, or the pull secret; kubectl describe pod %s says more.", c.Image, pod))
	case waiting != nil && waiting.Message != "":
		withReason(s, corev1.EventTypeWarning, reason, fmt.Sprintf("Container %s of pod %s cannot start: %s: %s", c.Name, pod, waiting.Reason, waiting.Message))
	case c.State.Running != nil && c.Name == fetchName:
		withReason(s, corev1.EventTypeWarning, reason, fmt.Sprintf("Some logs cannot be fetched; kubectl logs %s -c %s says which. It goes on trying.", pod, fetchName))
	case c.State.Running != nil:
		withReason(s, corev1.EventTypeNormal, reason, fmt.Sprintf("Pod %s runs, and TensorBoard does not answer yet.", pod))
	default:
		return false
	}
	return true
}

// tail returns the end of a message, where a program says why it ended.
func tail(message string) string {
	message = strings.TrimSpace(message)
	if len(message) > 500 {
		message = "..." + strings.ToValidUTF8(message[len(message)-500:], "")
	}
	return message
}

func advice(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason == "OOMKilled":
		return " (out of memory: raise spec.tensorboardSpec.resources)"
	case strings.Contains(t.Message, "executable file not found"):
		return " (the image must have the commands tensorboard and python3: set spec.tensorboardSpec.image)"
	}
	return ""
}

package kubeflow

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// conditionList is what the conditions are made from.
type conditionList struct {
	*kind
	job       client.Object
	status    *v1beta1.GenericJobStatus
	shown     []kubeflow.JobCondition // the conditions that the job has
	isRunning bool                    // Kubeflow would call the job running; see countsAsRunning
	begun     bool                    // the containers of some pod have started
	out       []kubeflow.JobCondition // the conditions that it gets
}

// conditions returns the conditions in the order of a job's life. But the one that holds now comes last, because kubectl shows that as the job's
// state.
func (l *conditionList) conditions() []kubeflow.JobCondition {
	state := l.state()
	l.copyIfTrue(v1beta1.ConditionReplicaFailure, kubeflow.JobReplicaFailure)
	l.set(kubeflow.JobCreated, true, kubeflow.ReasonCreated, " is created."+l.missingObject(state), l.job.GetCreationTimestamp())
	if state == kubeflow.JobRestarting {
		l.set(state, true, kubeflow.ReasonRestarting, l.because(" is restarting", v1beta1.ConditionReplicaFailure), l.now())
	}
	l.copyIfTrue(v1beta1.ConditionBlocked, kubeflow.JobBlocked)
	if pause := conditionOf(l.status, v1beta1.ConditionPaused); state == kubeflow.JobSuspended {
		l.set(state, true, kubeflow.ReasonSuspended, " is suspended.", pause.LastTransitionTime)
	} else if pause != nil {
		l.set(kubeflow.JobSuspended, false, kubeflow.ReasonResumed, " is resumed.", pause.LastTransitionTime)
	}
	switch state {
	case kubeflow.JobRunning:
		l.set(state, true, kubeflow.ReasonRunning, " is running.", l.now())
	case kubeflow.JobSucceeded:
		l.setNotRunning(kubeflow.ReasonSucceeded, " has succeeded.")
		l.set(state, true, kubeflow.ReasonSucceeded, " has succeeded.", l.now())
	case kubeflow.JobFailed:
		l.setNotRunning(kubeflow.ReasonFailed, " has failed.")
		l.add(kubeflow.JobCondition{
			Type: state, Status: corev1.ConditionTrue, Reason: l.whyFailed(), Message: l.name + " " + l.job.GetName() + l.because(" has failed", v1beta1.ConditionFailed),
		}, l.now())
	case kubeflow.JobSuspended:
		l.setNotRunning(kubeflow.ReasonSuspended, " is suspended.")
	default:
	}
	return currentLast(l.out)
}

// state returns the type of the condition that holds now.
func (l *conditionList) state() kubeflow.JobConditionType {
	pause := conditionOf(l.status, v1beta1.ConditionPaused)
	switch s := l.status; {
	case s.Phase == v1beta1.JobSucceeded:
		return kubeflow.JobSucceeded
	case s.Phase == v1beta1.JobFailed:
		return kubeflow.JobFailed
	case pause != nil && pause.Status == metav1.ConditionTrue:
		return kubeflow.JobSuspended
	case l.isRunning:
		return kubeflow.JobRunning
	case s.BackoffCount+s.DisruptionCount > 0:
		return kubeflow.JobRestarting
	default:
		return kubeflow.JobCreated
	}
}

// missingObject says what a user has to create before the first pod can start. Only the kubelet knows whether it exists. Once a pod has started, it does.
func (l *conditionList) missingObject(state kubeflow.JobConditionType) string {
	if l.missingMessage == "" || l.begun || state != kubeflow.JobCreated {
		return ""
	}
	return fmt.Sprintf(l.missingMessage, l.job.GetNamespace())
}

// allWorkersRan reports whether all workers run, or have run. It stays true for a job that was shown as running, even while a worker is replaced.
func (l *conditionList) allWorkersRan(specs map[string]*kubeflow.ReplicaSpec, counts map[string]*kubeflow.ReplicaStatus) bool {
	if phaseOf(&kubeflow.JobStatus{Conditions: l.shown}) == v1beta1.JobRunning {
		return true
	}
	for key, spec := range specs {
		c := counts[kubeflow.TFWorker]
		if strings.EqualFold(key, kubeflow.TFWorker) && spec != nil && c != nil && c.Active+c.Succeeded < ptr.Deref(spec.Replicas, 1) {
			return false
		}
	}
	return true
}

// whyFailed returns the reason of the condition Failed. An MPIJob has the reason of a batch Job, in which the MPI operator runs the launcher.
func (l *conditionList) whyFailed() string {
	c := conditionOf(l.status, v1beta1.ConditionFailed)
	switch {
	case !l.batchJob || c == nil:
		return l.name + kubeflow.ReasonFailed
	case c.Reason == v1beta1.ReasonFailed || c.Reason == v1beta1.ReasonSuccessUnreachable: // of the launcher: no other replica decides
		return batchv1.JobReasonBackoffLimitExceeded
	default:
		return c.Reason
	}
}

// now returns the time of the GenericJob's status.
func (l *conditionList) now() metav1.Time {
	switch s := l.status; {
	case s.CompletionTime != nil:
		return *s.CompletionTime
	case s.LastUpdateTime != nil:
		return metav1.NewTime(s.LastUpdateTime.Time)
	default:
		return l.job.GetCreationTimestamp()
	}
}

// setNotRunning sets Running to False, if the job has that condition.
func (l *conditionList) setNotRunning(reason, message string) {
	if slices.ContainsFunc(l.shown, func(c kubeflow.JobCondition) bool { return c.Type == kubeflow.JobRunning }) {
		l.set(kubeflow.JobRunning, false, reason, message, l.now())
	}
}

// because adds to words the message of a condition of the GenericJob, if the condition is True.
func (l *conditionList) because(words string, t v1beta1.JobConditionType) string {
	if c := conditionOf(l.status, t); c != nil && c.Status == metav1.ConditionTrue && c.Message != "" {
		return words + ": " + inKubeflowsWords(c.Message)
	}
	return words + "."
}

// copyIfTrue adds a condition of the GenericJob as it is, if it is True. Kubeflow has none like it. It has no lastTransitionTime: Flyte takes the condition
// with the newest one for the state of the job, and knows Kubeflow's alone.
func (l *conditionList) copyIfTrue(from v1beta1.JobConditionType, to kubeflow.JobConditionType) {
	if c := conditionOf(l.status, from); c != nil && c.Status == metav1.ConditionTrue {
		l.add(kubeflow.JobCondition{Type: to, Status: corev1.ConditionTrue, Reason: c.Reason, Message: inKubeflowsWords(c.Message)}, l.now())
		l.out[len(l.out)-1].LastTransitionTime = metav1.Time{}
	}
}

// set adds one of Kubeflow's conditions.
func (l *conditionList) set(t kubeflow.JobConditionType, holds bool, reason, words string, at metav1.Time) {
	status := corev1.ConditionFalse
	if holds {
		status = corev1.ConditionTrue
	}
	l.add(kubeflow.JobCondition{Type: t, Status: status, Reason: l.name + reason, Message: l.name + " " + l.job.GetName() + words}, at)
}

// add adds a condition. One that has not changed keeps its times.
func (l *conditionList) add(c kubeflow.JobCondition, at metav1.Time) {
	c.LastTransitionTime, c.LastUpdateTime = at, at
	for _, s := range l.shown {
		if s.Type != c.Type || s.Status != c.Status {
			continue
		}
		c.LastTransitionTime = s.LastTransitionTime
		if s.Reason == c.Reason && s.Message == c.Message {
			c.LastUpdateTime = s.LastUpdateTime
		}
	}
	l.out = append(l.out, c)
}

// inKubeflowsWords replaces the names of GenericJob's fields in a message by those of Kubeflow's kinds.
func inKubeflowsWords(message string) string {
	return strings.NewReplacer(
		"spec.runMode.pause.enabled", "spec.runPolicy.suspend",
		"spec.activeDeadlineSeconds", "spec.runPolicy.activeDeadlineSeconds",
	).Replace(message)
}

// currentLast moves the last condition that is True to the end.
func currentLast(list []kubeflow.JobCondition) []kubeflow.JobCondition {
	for i, c := range slices.Backward(list) {
		if c.Status == corev1.ConditionTrue {
			return append(slices.Delete(list, i, i+1), c)
		}
	}
	return list
}

func conditionOf(s *v1beta1.GenericJobStatus, t v1beta1.JobConditionType) *v1beta1.JobCondition {
	i := slices.IndexFunc(s.Conditions, func(c v1beta1.JobCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}

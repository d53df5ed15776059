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

// mirror writes the status of a job, in Kubeflow's words, from that of its GenericJob. Cleans is true if pods that still run are deleted when the job
// ends.
func (k *kind) mirror(job client.Object, specs map[string]*kubeflow.ReplicaSpec, cleans bool, to *kubeflow.JobStatus, s v1beta1.GenericJobStatus) {
	if k.batchJob {
		s = withLauncher(job.GetName(), s)
	}
	counts := k.counts(job.GetName(), specs, &s)
	if s.Phase == v1beta1.JobSucceeded && cleans {
		counts = concluded(to, counts, &s)
	}
	if k.batchJob && cleans && s.CompletionTime != nil && counts[kubeflow.TFWorker] != nil {
		*counts[kubeflow.TFWorker] = kubeflow.ReplicaStatus{} // the MPI operator counts no worker then, however it has ended
	}
	to.ReplicaStatuses = counts
	to.StartTime = startTime(&s)
	to.CompletionTime = s.CompletionTime.DeepCopy()
	to.UnstartedSpec = s.UnstartedSpec
	if s.ObservedGeneration != 0 {
		to.ObservedGeneration = s.ObservedGeneration
	}
	p := &conditionList{kind: k, job: job, status: &s, shown: to.Conditions, leads: countsAsRunning(specs, counts), begun: begun(counts)}
	p.leads = p.leads && (!k.batchJob || p.allRun(specs, counts))
	to.Conditions = p.conditions()
}

// startTime returns when the job began, or was last resumed.
func startTime(s *v1beta1.GenericJobStatus) *metav1.Time {
	c := conditionOf(s, v1beta1.ConditionPaused)
	if s.StartTime == nil || c == nil || c.Status == metav1.ConditionTrue || !s.StartTime.Before(&c.LastTransitionTime) ||
		s.CompletionTime != nil && !c.LastTransitionTime.Before(s.CompletionTime) { // the end of the job ended the pause
		return s.StartTime.DeepCopy()
	}
	return c.LastTransitionTime.DeepCopy()
}

func conditionOf(s *v1beta1.GenericJobStatus, t v1beta1.JobConditionType) *v1beta1.JobCondition {
	i := slices.IndexFunc(s.Conditions, func(c v1beta1.JobCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}

// conditionList is what the conditions are made from.
type conditionList struct {
	*kind
	job    client.Object
	status *v1beta1.GenericJobStatus
	shown  []kubeflow.JobCondition // the conditions that the job has
	leads  bool                    // Kubeflow would call the job running; see leads
	begun  bool                    // the containers of some pod have started
	out    []kubeflow.JobCondition // the conditions that it gets
}

// conditions returns the conditions in the order of a job's life. But the one that holds now comes last, because kubectl shows that as the job's state.
func (p *conditionList) conditions() []kubeflow.JobCondition {
	state := p.state()
	p.show(v1beta1.ConditionReplicaFailure, kubeflow.JobReplicaFailure)
	p.set(kubeflow.JobCreated, true, kubeflow.ReasonCreated, " is created."+p.needed(state), p.job.GetCreationTimestamp())
	if state == kubeflow.JobRestarting {
		p.set(state, true, kubeflow.ReasonRestarting, p.because(" is restarting", v1beta1.ConditionReplicaFailure), p.now())
	}
	p.show(v1beta1.ConditionBlocked, kubeflow.JobBlocked)
	if pause := conditionOf(p.status, v1beta1.ConditionPaused); state == kubeflow.JobSuspended {
		p.set(state, true, kubeflow.ReasonSuspended, " is suspended.", pause.LastTransitionTime)
	} else if pause != nil {
		p.set(kubeflow.JobSuspended, false, kubeflow.ReasonResumed, " is resumed.", pause.LastTransitionTime)
	}
	switch state {
	case kubeflow.JobRunning:
		p.set(state, true, kubeflow.ReasonRunning, " is running.", p.now())
	case kubeflow.JobSucceeded:
		p.stopped(kubeflow.ReasonSucceeded, " has succeeded.")
		p.set(state, true, kubeflow.ReasonSucceeded, " has succeeded.", p.now())
	case kubeflow.JobFailed:
		p.stopped(kubeflow.ReasonFailed, " has failed.")
		p.add(kubeflow.JobCondition{
			Type: state, Status: corev1.ConditionTrue, Reason: p.whyFailed(), Message: p.name + " " + p.job.GetName() + p.because(" has failed", v1beta1.ConditionFailed),
		}, p.now())
	case kubeflow.JobSuspended:
		p.stopped(kubeflow.ReasonSuspended, " is suspended.")
	default:
	}
	return currentLast(p.out)
}

// state returns the type of the condition that holds now.
func (p *conditionList) state() kubeflow.JobConditionType {
	pause := conditionOf(p.status, v1beta1.ConditionPaused)
	switch s := p.status; {
	case s.Phase == v1beta1.JobSucceeded:
		return kubeflow.JobSucceeded
	case s.Phase == v1beta1.JobFailed:
		return kubeflow.JobFailed
	case pause != nil && pause.Status == metav1.ConditionTrue:
		return kubeflow.JobSuspended
	case p.leads:
		return kubeflow.JobRunning
	case s.BackoffCount+s.DisruptionCount > 0:
		return kubeflow.JobRestarting
	default:
		return kubeflow.JobCreated
	}
}

// needed says what a user has to create before the first pod can start. Only the kubelet knows whether it exists. Once a pod has started, it does.
func (p *conditionList) needed(state kubeflow.JobConditionType) string {
	if p.missingMessage == "" || p.begun || state != kubeflow.JobCreated {
		return ""
	}
	return fmt.Sprintf(p.missingMessage, p.job.GetNamespace())
}

// allRun reports whether all workers run, or have run. It stays true for a job that was shown as running, even while a worker is replaced.
func (p *conditionList) allRun(specs map[string]*kubeflow.ReplicaSpec, counts map[string]*kubeflow.ReplicaStatus) bool {
	if phaseOf(&kubeflow.JobStatus{Conditions: p.shown}) == v1beta1.JobRunning {
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
func (p *conditionList) whyFailed() string {
	c := conditionOf(p.status, v1beta1.ConditionFailed)
	switch {
	case !p.batchJob || c == nil:
		return p.name + kubeflow.ReasonFailed
	case c.Reason == v1beta1.ReasonFailed || c.Reason == v1beta1.ReasonSuccessUnreachable: // of the launcher: no other replica decides
		return batchv1.JobReasonBackoffLimitExceeded
	default:
		return c.Reason
	}
}

// now returns the time of the GenericJob's status.
func (p *conditionList) now() metav1.Time {
	switch s := p.status; {
	case s.CompletionTime != nil:
		return *s.CompletionTime
	case s.LastUpdateTime != nil:
		return metav1.NewTime(s.LastUpdateTime.Time)
	default:
		return p.job.GetCreationTimestamp()
	}
}

// stopped sets Running to False, if the job has that condition.
func (p *conditionList) stopped(reason, message string) {
	if slices.ContainsFunc(p.shown, func(c kubeflow.JobCondition) bool { return c.Type == kubeflow.JobRunning }) {
		p.set(kubeflow.JobRunning, false, reason, message, p.now())
	}
}

// because adds to words the message of a condition of the GenericJob, if the condition is True.
func (p *conditionList) because(words string, t v1beta1.JobConditionType) string {
	if c := conditionOf(p.status, t); c != nil && c.Status == metav1.ConditionTrue && c.Message != "" {
		return words + ": " + translate(c.Message)
	}
	return words + "."
}

// show adds a condition of the GenericJob as it is, if it is True. Kubeflow has none like it. It has no lastTransitionTime: Flyte takes the condition with
// the newest one for the state of the job, and knows Kubeflow's alone.
func (p *conditionList) show(from v1beta1.JobConditionType, to kubeflow.JobConditionType) {
	if c := conditionOf(p.status, from); c != nil && c.Status == metav1.ConditionTrue {
		p.add(kubeflow.JobCondition{Type: to, Status: corev1.ConditionTrue, Reason: c.Reason, Message: translate(c.Message)}, p.now())
		p.out[len(p.out)-1].LastTransitionTime = metav1.Time{}
	}
}

// set adds one of Kubeflow's conditions.
func (p *conditionList) set(t kubeflow.JobConditionType, holds bool, reason, words string, at metav1.Time) {
	status := corev1.ConditionFalse
	if holds {
		status = corev1.ConditionTrue
	}
	p.add(kubeflow.JobCondition{Type: t, Status: status, Reason: p.name + reason, Message: p.name + " " + p.job.GetName() + words}, at)
}

// add adds a condition. One that has not changed keeps its times.
func (p *conditionList) add(c kubeflow.JobCondition, at metav1.Time) {
	c.LastTransitionTime, c.LastUpdateTime = at, at
	for _, s := range p.shown {
		if s.Type != c.Type || s.Status != c.Status {
			continue
		}
		c.LastTransitionTime = s.LastTransitionTime
		if s.Reason == c.Reason && s.Message == c.Message {
			c.LastUpdateTime = s.LastUpdateTime
		}
	}
	p.out = append(p.out, c)
}

// translate replaces the names of GenericJob's fields in a message by those of Kubeflow's kinds.
func translate(message string) string {
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

// phaseOf reads a phase from the conditions of a job.
func phaseOf(s *kubeflow.JobStatus) v1beta1.JobPhase {
	phase := v1beta1.JobPhase("")
	for _, c := range s.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case kubeflow.JobSucceeded:
			return v1beta1.JobSucceeded
		case kubeflow.JobFailed:
			return v1beta1.JobFailed
		case kubeflow.JobRunning:
			phase = v1beta1.JobRunning
		case kubeflow.JobSuspended:
			phase = v1beta1.JobPaused
		default:
			if phase == "" {
				phase = v1beta1.JobPending
			}
		}
	}
	return phase
}

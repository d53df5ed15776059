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

// mirror shows the state of the job's GenericJob in Kubeflow's words. Cleans reports whether replicas that still run are deleted
// at the job's end.
func (k *kind) mirror(job client.Object, specs map[string]*kubeflow.ReplicaSpec, cleans bool, to *kubeflow.JobStatus, s v1beta1.GenericJobStatus) {
	if k.batch {
		s = withLauncher(job.GetName(), s)
	}
	counts := k.counts(job.GetName(), specs, &s)
	if s.Phase == v1beta1.JobSucceeded && cleans {
		counts = concluded(to, counts, &s)
	}
	if k.batch && cleans && s.CompletionTime != nil && counts[kubeflow.TFWorker] != nil {
		*counts[kubeflow.TFWorker] = kubeflow.ReplicaStatus{} // the MPI operator counts no worker then, however it has ended
	}
	to.ReplicaStatuses = counts
	to.StartTime = startTime(&s)
	to.CompletionTime = s.CompletionTime.DeepCopy()
	to.UnstartedSpec = s.UnstartedSpec
	if s.ObservedGeneration != 0 {
		to.ObservedGeneration = s.ObservedGeneration
	}
	p := &picture{kind: k, job: job, status: &s, shown: to.Conditions, leads: leads(specs, counts), begun: begun(counts)}
	p.leads = p.leads && (!k.batch || p.allRun(specs, counts))
	to.Conditions = p.conditions()
}

// startTime is when the job began, or was last resumed.
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

// picture is what the conditions are made of.
type picture struct {
	*kind
	job    client.Object
	status *v1beta1.GenericJobStatus
	shown  []kubeflow.JobCondition
	leads  bool
	begun  bool // the containers of some pod have started
	out    []kubeflow.JobCondition
}

// conditions are in the order of a job's life, but that which holds now comes last: kubectl shows it as the job's state.
func (p *picture) conditions() []kubeflow.JobCondition {
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

// state is the condition that says what the job is now.
func (p *picture) state() kubeflow.JobConditionType {
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

// needed is what a user has to make before the first pod can start. Only the kubelet knows whether it is there; once a pod has started, it is.
func (p *picture) needed(state kubeflow.JobConditionType) string {
	if p.needs == "" || p.begun || state != kubeflow.JobCreated {
		return ""
	}
	return fmt.Sprintf(p.needs, p.job.GetNamespace())
}

// allRun reports whether the job's workers run, or have run: one that is replaced later does not make another job of it.
func (p *picture) allRun(specs map[string]*kubeflow.ReplicaSpec, counts map[string]*kubeflow.ReplicaStatus) bool {
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

// whyFailed is the reason of the condition Failed. That of an MPIJob is of the batch Job which the MPI operator makes of its launcher.
func (p *picture) whyFailed() string {
	c := conditionOf(p.status, v1beta1.ConditionFailed)
	switch {
	case !p.batch || c == nil:
		return p.name + kubeflow.ReasonFailed
	case c.Reason == v1beta1.ReasonFailed || c.Reason == v1beta1.ReasonSuccessUnreachable: // of the launcher: no other replica decides
		return batchv1.JobReasonBackoffLimitExceeded
	default:
		return c.Reason
	}
}

// now is when the status came about that is shown.
func (p *picture) now() metav1.Time {
	switch s := p.status; {
	case s.CompletionTime != nil:
		return *s.CompletionTime
	case s.LastUpdateTime != nil:
		return metav1.NewTime(s.LastUpdateTime.Time)
	default:
		return p.job.GetCreationTimestamp()
	}
}

// stopped says of a job that was shown to run that it does not any more.
func (p *picture) stopped(reason, message string) {
	if slices.ContainsFunc(p.shown, func(c kubeflow.JobCondition) bool { return c.Type == kubeflow.JobRunning }) {
		p.set(kubeflow.JobRunning, false, reason, message, p.now())
	}
}

// because adds to words what a condition of the GenericJob says, if it holds.
func (p *picture) because(words string, t v1beta1.JobConditionType) string {
	if c := conditionOf(p.status, t); c != nil && c.Status == metav1.ConditionTrue && c.Message != "" {
		return words + ": " + translate(c.Message)
	}
	return words + "."
}

// show shows a condition of the GenericJob that holds as it is. Kubeflow has none like it. It has no lastTransitionTime: Flyte takes the condition with the
// newest one for the state of the job, and knows Kubeflow's alone.
func (p *picture) show(from v1beta1.JobConditionType, to kubeflow.JobConditionType) {
	if c := conditionOf(p.status, from); c != nil && c.Status == metav1.ConditionTrue {
		p.add(kubeflow.JobCondition{Type: to, Status: corev1.ConditionTrue, Reason: c.Reason, Message: translate(c.Message)}, p.now())
		p.out[len(p.out)-1].LastTransitionTime = metav1.Time{}
	}
}

// set shows a condition of Kubeflow's.
func (p *picture) set(t kubeflow.JobConditionType, is bool, reason, words string, at metav1.Time) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	p.add(kubeflow.JobCondition{Type: t, Status: status, Reason: p.name + reason, Message: p.name + " " + p.job.GetName() + words}, at)
}

// add adds a condition. What has not changed keeps its times.
func (p *picture) add(c kubeflow.JobCondition, at metav1.Time) {
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

// translate names the fields of a message as this API calls them.
func translate(message string) string {
	return strings.NewReplacer(
		"spec.runMode.pause.enabled", "spec.runPolicy.suspend",
		"spec.activeDeadlineSeconds", "spec.runPolicy.activeDeadlineSeconds",
	).Replace(message)
}

// currentLast puts the last condition that holds at the end.
func currentLast(list []kubeflow.JobCondition) []kubeflow.JobCondition {
	for i, c := range slices.Backward(list) {
		if c.Status == corev1.ConditionTrue {
			return append(slices.Delete(list, i, i+1), c)
		}
	}
	return list
}

// phaseOf reads a phase from the conditions that a job shows.
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

package status

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// The words of conditions. Those that TensorStack's platform shows too are its own.
const (
	initializedMessage = "The job has been initialized successfully."
	allRunningMessage  = "All pods are running normally or have completed successfully."
	notFinishedMessage = "The job is still running."
	resumedMessage     = "The job is not paused."
)

// order is the order of conditions in the status.
var order = []v1beta1.JobConditionType{
	v1beta1.ConditionInitialized, v1beta1.ConditionRunning, v1beta1.ConditionFailed, v1beta1.ConditionCompleted,
	v1beta1.ConditionReplicaFailure, v1beta1.ConditionPaused, v1beta1.ConditionBlocked,
}

// Condition is the condition of a type; nil without it.
func Condition(list []v1beta1.JobCondition, t v1beta1.JobConditionType) *v1beta1.JobCondition {
	i := slices.IndexFunc(list, func(c v1beta1.JobCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Set sets a condition in its place in the order. The transition time changes only with the status.
func Set(s *v1beta1.GenericJobStatus, now time.Time, t v1beta1.JobConditionType, value bool, reason, message string) {
	c := v1beta1.JobCondition{
		Type: t, Status: metav1.ConditionFalse, Reason: text.Cut(reason, text.MaxReason), Message: text.Cut(message, text.Max), LastTransitionTime: metav1.NewTime(now),
	}
	if value {
		c.Status = metav1.ConditionTrue
	}
	if have := Condition(s.Conditions, t); have != nil {
		if have.Status == c.Status {
			c.LastTransitionTime = have.LastTransitionTime
		}
		*have = c
		return
	}
	s.Conditions = append(s.Conditions, c)
	slices.SortStableFunc(s.Conditions, func(a, b v1beta1.JobCondition) int {
		return slices.Index(order, a.Type) - slices.Index(order, b.Type)
	})
}

// set sets a condition of the status that this pass makes.
func (p *page) set(t v1beta1.JobConditionType, value bool, reason, message string) {
	Set(&p.status, p.Now, t, value, reason, message)
}

// observeConditions derives the conditions from the verdict and the pods.
func (p *page) observeConditions(v view) {
	switch p.Verdict.Course {
	case verdict.None, verdict.Rest:
		p.unblock() // an unreadable ledger was repaired
	case verdict.Succeed:
		p.concludeConditions(false)
		p.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, allRunningMessage)
		p.unblock()
	case verdict.Fail:
		p.concludeConditions(true)
		p.observeFailure(v)
		p.unblock()
	case verdict.Pause:
		p.goOnConditions(false, p.Verdict.Reason, p.Verdict.Message)
		p.set(v1beta1.ConditionPaused, true, p.Verdict.Reason, p.Verdict.Message)
		p.unblock()
	case verdict.Hold:
		p.goOnConditions(false, v1beta1.ReasonPodsNotReady, p.Verdict.Message)
		p.set(v1beta1.ConditionBlocked, true, p.Verdict.Reason, p.Verdict.Message)
	case verdict.Run:
		p.runConditions(v)
	}
}

// concludeConditions are those of a job that has just finished. Completed is True on failure too: it means "over".
func (p *page) concludeConditions(failed bool) {
	reason, message := p.Verdict.Reason, p.Verdict.Message
	if Condition(p.status.Conditions, v1beta1.ConditionInitialized) == nil {
		p.set(v1beta1.ConditionInitialized, !failed, reason, message)
	}
	p.set(v1beta1.ConditionRunning, false, reason, message)
	p.set(v1beta1.ConditionFailed, failed, reason, message)
	p.set(v1beta1.ConditionCompleted, true, reason, message)
	if Condition(p.status.Conditions, v1beta1.ConditionPaused) != nil {
		p.set(v1beta1.ConditionPaused, false, reason, message)
	}
}

// goOnConditions are those of a job that has not finished. Each is set once: setting it back and forth would move its
// transition time, and so write the status, in every pass.
func (p *page) goOnConditions(running bool, reason, message string) {
	p.set(v1beta1.ConditionInitialized, true, v1beta1.ReasonNone, initializedMessage)
	p.set(v1beta1.ConditionRunning, running, reason, message)
	p.set(v1beta1.ConditionCompleted, false, v1beta1.ReasonNotFinished, notFinishedMessage)
}

func (p *page) runConditions(v view) {
	switch {
	case !v.allRun:
		p.goOnConditions(false, v1beta1.ReasonPodsNotReady, v.waiting)
	case v.still != "":
		p.goOnConditions(true, v1beta1.ReasonNone, v.still)
	default:
		p.goOnConditions(true, v1beta1.ReasonNone, allRunningMessage)
	}
	p.observeFailure(v)
	if Condition(p.status.Conditions, v1beta1.ConditionPaused) != nil {
		p.set(v1beta1.ConditionPaused, false, v1beta1.ReasonResumed, resumedMessage)
	}
	switch {
	case p.Rejected != "":
		p.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonPodRejected, p.Rejected)
	case p.Creates:
		p.unblock()
	case p.refuseScale():
	case p.stillRejected():
	default:
		p.unblock()
	}
}

// observeFailure keeps ReplicaFailure true while a pod cannot start or a replica has failed for good, and says what went
// wrong last.
func (p *page) observeFailure(v view) {
	failedForGood := slices.ContainsFunc(p.Ledger.Types(), func(a *ledger.Account) bool { return a.Failed() > 0 })
	switch {
	case len(p.Failures) > 0:
		p.set(v1beta1.ConditionReplicaFailure, true, v1beta1.ReasonErrorInPod, summary(p.Failures))
	case v.problem != "":
		p.set(v1beta1.ConditionReplicaFailure, true, v.problemReason, v.problem)
	case v.allRun && !failedForGood:
		p.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, allRunningMessage)
	case Condition(p.status.Conditions, v1beta1.ConditionReplicaFailure) == nil:
		p.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, "No pod has failed.")
	}
}

// LastFailure is what is known of the failure that ends a job, given the failures of this pass.
func LastFailure(job *v1beta1.GenericJob, failures []string) string {
	if len(failures) > 0 {
		return summary(failures)
	}
	if c := Condition(job.Status.Conditions, v1beta1.ConditionReplicaFailure); c != nil && c.Status == metav1.ConditionTrue {
		return c.Message
	}
	return ""
}

// summary is the first of many failures, with their number: a job of thousands of pods loses them by the hundred.
func summary(failures []string) string {
	if n := len(failures) - 1; n > 0 {
		return fmt.Sprintf("%s (and %d more)", failures[0], n)
	}
	return failures[0]
}

// refusalLasts says whether the condition Blocked tells of a refusal that may go on, as there still is to do what was
// refused. Whether it does is told after the pass.
func (p *page) refusalLasts() bool {
	c := Condition(p.status.Conditions, v1beta1.ConditionBlocked)
	switch {
	case c == nil || p.Verdict.Course == verdict.None: // of which None comes of no pass that acts
		return false
	case c.Reason == v1beta1.ReasonRefused:
		return p.LetsGo
	default:
		return p.Creates
	}
}

// unblock drops the Blocked condition, if it does not tell of a refusal that lasts.
func (p *page) unblock() {
	if p.refusalLasts() {
		return
	}
	p.status.Conditions = slices.DeleteFunc(p.status.Conditions, func(c v1beta1.JobCondition) bool {
		return c.Type == v1beta1.ConditionBlocked
	})
}

// OftenRejected is how many pods of a replica in a row must be rejected before that is told as what blocks the job.
const OftenRejected = 5

// stillRejected says whether a replica whose pods were rejected has not run since.
func (p *page) stillRejected() bool {
	if c := Condition(p.status.Conditions, v1beta1.ConditionBlocked); c == nil || c.Reason != v1beta1.ReasonPodRejected {
		return false
	}
	for _, t := range p.Roster.Types {
		for rank, pod := range t.Pods {
			if t.Streak(rank) >= OftenRejected && !t.Finished(rank) && (pod == nil || pod.Status.Phase != corev1.PodRunning) {
				return true
			}
		}
	}
	return false
}

// refuseScale says that a job cannot be scaled below a rank that its rules name, if that is asked for.
func (p *page) refuseScale() bool {
	for _, t := range p.Ledger.Tasks() {
		if asked := spec.Replicas(t.ReplicaSpec); asked < t.N {
			p.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonScaleRefused, fmt.Sprintf(
				"spec.replicaSpecs[%s].replicas is %d, but the job's rules name rank %d: it keeps %d. Set replicas to %d or more.",
				t.Type, asked, t.N-1, t.N, t.N))
			return true
		}
	}
	return false
}

// events are those that a change of the status deserves: that the job has begun, which goes without saying in a write that
// says that it runs, or has succeeded; what of its templates has no effect; its restarts; and what has become true, or is true for another reason now.
func (p *page) events() []Event {
	var list []Event
	isNews := p.status.Phase != v1beta1.JobRunning && p.status.Phase != v1beta1.JobSucceeded
	if p.Job.Status.StartTime == nil && p.status.StartTime != nil && isNews {
		list = append(list, NewEvent(false, v1beta1.ReasonStarted, initializedMessage))
	}
	list = append(list, p.replacedHosts()...)
	list = append(list, p.Restarts...)
	for _, c := range p.status.Conditions {
		before := Condition(p.Job.Status.Conditions, c.Type)
		isNew := before == nil || before.Status != c.Status || before.Reason != c.Reason
		if c.Status == metav1.ConditionTrue && isNew && p.deservesEvent(c.Type) {
			list = append(list, eventOf(c))
		}
	}
	return list
}

func eventOf(c v1beta1.JobCondition) Event {
	switch c.Type {
	case v1beta1.ConditionRunning:
		return NewEvent(false, v1beta1.ReasonRunning, c.Message) // the condition has no reason
	case v1beta1.ConditionFailed, v1beta1.ConditionBlocked, v1beta1.ConditionReplicaFailure:
		return NewEvent(true, c.Reason, c.Message)
	default:
		return NewEvent(false, c.Reason, c.Message)
	}
}

// deservesEvent says whether a condition that has become true is told by an event.
func (p *page) deservesEvent(t v1beta1.JobConditionType) bool {
	switch t {
	case v1beta1.ConditionInitialized:
		return false
	case v1beta1.ConditionReplicaFailure:
		return len(p.Restarts) == 0 // their events say it already
	case v1beta1.ConditionCompleted:
		return p.status.Phase == v1beta1.JobSucceeded
	default:
		return true
	}
}

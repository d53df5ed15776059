package kernel

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The words of conditions. Those that TensorStack's platform shows too are its own.
const (
	initializedMessage = "The job has been initialized successfully."
	allRunningMessage  = "All pods are running normally or have completed successfully."
	notFinishedMessage = "The job is still running."
	succeededMessage   = "The job has finished successfully."
	pausedMessage      = "The job is paused: its pods are deleted or being deleted. Set spec.runMode.pause.enabled to false to go on."
	resumedMessage     = "The job is not paused."
)

func failedMessage(rule, why string) string {
	return joinSentences("The job is failed with rule: "+rule, why)
}

func unreachableMessage(why string) string {
	return joinSentences("The job is failed: every success rule needs a replica that failed for good", why)
}

func deadlineMessage(seconds int64) string {
	return fmt.Sprintf("The job was active for longer than spec.activeDeadlineSeconds, which is %d. Raise it, or find out what the job waited for.", seconds)
}

func gangMessage(kind string) string {
	return fmt.Sprintf("The cluster does not know the kind %s, which spec.scheduler needs: install the scheduler, and the job starts by itself; or pause the job and remove spec.scheduler.", kind)
}

func joinSentences(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, ". ")
}

// order is the order of conditions in the status.
var order = []v1beta1.JobConditionType{
	v1beta1.ConditionInitialized, v1beta1.ConditionRunning, v1beta1.ConditionFailed, v1beta1.ConditionCompleted,
	v1beta1.ConditionReplicaFailure, v1beta1.ConditionPaused, v1beta1.ConditionBlocked,
}

func conditionOf(list []v1beta1.JobCondition, t v1beta1.JobConditionType) *v1beta1.JobCondition {
	i := slices.IndexFunc(list, func(c v1beta1.JobCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// setCondition sets a condition in its place in the order. The transition time changes only with the status.
func setCondition(s *v1beta1.GenericJobStatus, now metav1.Time, t v1beta1.JobConditionType, value bool, reason, message string) {
	c := v1beta1.JobCondition{
		Type: t, Status: metav1.ConditionFalse, Reason: Cut(reason, maxReason), Message: Cut(message, MaxText), LastTransitionTime: now,
	}
	if value {
		c.Status = metav1.ConditionTrue
	}
	if have := conditionOf(s.Conditions, t); have != nil {
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
func (p *pass) set(t v1beta1.JobConditionType, value bool, reason, message string) {
	setCondition(&p.status, metav1.NewTime(p.Now), t, value, reason, message)
}

// observeConditions derives the conditions from the verdict and the pods.
func (p *pass) observeConditions(v view) {
	switch p.verdict.course {
	case rest:
		p.unblock() // an unreadable ledger was repaired
	case succeed:
		p.concludeConditions(false)
		p.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, allRunningMessage)
		p.unblock()
	case fail:
		p.concludeConditions(true)
		p.observeFailure(v)
		p.unblock()
	case pause:
		p.goOnConditions(false, v1beta1.ReasonPaused, pausedMessage)
		p.set(v1beta1.ConditionPaused, true, v1beta1.ReasonPaused, pausedMessage)
		p.unblock()
	case hold:
		p.goOnConditions(false, v1beta1.ReasonPodsNotReady, p.verdict.message)
		p.set(v1beta1.ConditionBlocked, true, p.verdict.reason, p.verdict.message)
	case run:
		p.runConditions(v)
	}
}

// concludeConditions are those of a job that has just finished. Completed is True on failure too: it means "over".
func (p *pass) concludeConditions(failed bool) {
	reason, message := p.verdict.reason, p.verdict.message
	if conditionOf(p.status.Conditions, v1beta1.ConditionInitialized) == nil {
		p.set(v1beta1.ConditionInitialized, !failed, reason, message)
	}
	p.set(v1beta1.ConditionRunning, false, reason, message)
	p.set(v1beta1.ConditionFailed, failed, reason, message)
	p.set(v1beta1.ConditionCompleted, true, reason, message)
	if conditionOf(p.status.Conditions, v1beta1.ConditionPaused) != nil {
		p.set(v1beta1.ConditionPaused, false, reason, message)
	}
}

// goOnConditions are those of a job that has not finished. Each is set once: setting it back and forth would move its
// transition time, and so write the status, in every pass.
func (p *pass) goOnConditions(running bool, reason, message string) {
	p.set(v1beta1.ConditionInitialized, true, v1beta1.ReasonNone, initializedMessage)
	p.set(v1beta1.ConditionRunning, running, reason, message)
	p.set(v1beta1.ConditionCompleted, false, v1beta1.ReasonNotFinished, notFinishedMessage)
}

func (p *pass) runConditions(v view) {
	if v.allRun {
		p.goOnConditions(true, v1beta1.ReasonNone, allRunningMessage)
	} else {
		p.goOnConditions(false, v1beta1.ReasonPodsNotReady, v.waiting)
	}
	p.observeFailure(v)
	if conditionOf(p.status.Conditions, v1beta1.ConditionPaused) != nil {
		p.set(v1beta1.ConditionPaused, false, v1beta1.ReasonResumed, resumedMessage)
	}
	switch {
	case slices.ContainsFunc(p.actions, func(a Action) bool { return a.Verb.Creates() }):
		// If one of them is refused, it is told after this pass.
	case p.refuseScale():
	default:
		p.unblock()
	}
}

// observeFailure keeps ReplicaFailure true while a pod cannot start or a replica has failed for good, and says what went
// wrong last.
func (p *pass) observeFailure(v view) {
	failedForGood := slices.ContainsFunc(p.tasks, func(t *task) bool { return t.failed.Len() > 0 })
	switch {
	case len(p.failures) > 0:
		p.set(v1beta1.ConditionReplicaFailure, true, v1beta1.ReasonErrorInPod, summary(p.failures))
	case v.problem != "":
		p.set(v1beta1.ConditionReplicaFailure, true, v.problemReason, v.problem)
	case v.allRun && !failedForGood:
		p.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, allRunningMessage)
	case conditionOf(p.status.Conditions, v1beta1.ConditionReplicaFailure) == nil:
		p.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, "No pod has failed.")
	}
}

// lastFailure is what is known of the failure that ends the job.
func (p *pass) lastFailure() string {
	if len(p.failures) > 0 {
		return summary(p.failures)
	}
	if c := conditionOf(p.Job.Status.Conditions, v1beta1.ConditionReplicaFailure); c != nil && c.Status == metav1.ConditionTrue {
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

// unblock drops the Blocked condition.
func (p *pass) unblock() {
	p.status.Conditions = slices.DeleteFunc(p.status.Conditions, func(c v1beta1.JobCondition) bool {
		return c.Type == v1beta1.ConditionBlocked
	})
}

// refuseScale says that a job cannot be scaled below a rank that its rules name, if that is asked for.
func (p *pass) refuseScale() bool {
	for _, t := range p.tasks {
		if asked := effectiveReplicas(t.spec); asked < t.n {
			p.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonScaleRefused, fmt.Sprintf(
				"spec.replicaSpecs[%s].replicas is %d, but the job's rules name rank %d: it keeps %d. Set replicas to %d or more.",
				t.name, asked, t.n-1, t.n, t.n))
			return true
		}
	}
	return false
}

// reportBroken says that the ledger cannot be read. Doing nothing is the only safe thing: the operator wrote it, and
// someone has changed it since.
func (p *pass) reportBroken() {
	if p.status.CompletionTime == nil { // final is final
		p.status.Phase = v1beta1.JobUnknown
	}
	p.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonLedgerUnreadable, p.broken+". The operator does nothing for this job until that is repaired: restore the status, or delete the job.")
}

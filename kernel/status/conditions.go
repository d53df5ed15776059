package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// The words of conditions. TensorStack's platform shows some of these, too; they are its words.
const (
	initializedMessage = "The job has been initialized successfully."
	allRunningMessage  = "All pods are running normally or have completed successfully."
	notFinishedMessage = "The job is still running."
	notRunningMessage  = "The job has not finished."
	debugMessage       = "All pods run in debug mode, in which they do not train: log in with kubectl exec. Set spec.runMode.debug.enabled to false to go on. They run so since "
	pausingMessage     = "The job is being paused: its pods are being deleted."
	pausedMessage      = "The job is paused: no unfinished replica has a pod. Set spec.runMode.pause.enabled to false to go on."
	heldMessage        = "The job stays paused, though spec.runMode.pause.enabled is false: it continues once what the condition Blocked names is corrected."
	noPodMessage       = "The job is paused: no unfinished replica has a pod."
	editedMessage      = "The spec was edited before code of the job was seen to start: pods of the earlier spec are made again."
	resumedMessage     = "The job is not paused."
)

// conditionOrder is the order of conditions in the status.
var conditionOrder = []v1beta1.JobConditionType{
	v1beta1.ConditionInitialized, v1beta1.ConditionRunning, v1beta1.ConditionFailed, v1beta1.ConditionSucceeded,
	v1beta1.ConditionCompleted, v1beta1.ConditionReplicaFailure, v1beta1.ConditionPaused, v1beta1.ConditionBlocked,
	v1beta1.ConditionReady, v1beta1.ConditionReconciling, v1beta1.ConditionStalled,
}

// Condition returns the condition of a type; nil without it.
func Condition(list []v1beta1.JobCondition, t v1beta1.JobConditionType) *v1beta1.JobCondition {
	i := slices.IndexFunc(list, func(c v1beta1.JobCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Set sets a condition at its position in the order. The transition time changes only with the status.
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
		return slices.Index(conditionOrder, a.Type) - slices.Index(conditionOrder, b.Type)
	})
}

// set sets a condition of the status that this reconcile makes.
func (p *writer) set(t v1beta1.JobConditionType, value bool, reason, message string) {
	Set(&p.status, p.Now, t, value, reason, message)
}

// deriveConditions derives the conditions from the verdict and the pods.
func (p *writer) deriveConditions(v view) {
	p.forgetEarlierSpec()
	switch p.Verdict.Course {
	case verdict.None, verdict.AlreadyFinished:
		p.unblock() // an unreadable ledger was repaired
	case verdict.Succeed:
		p.concludeConditions(false, v)
		p.unblock()
	case verdict.Fail:
		p.concludeConditions(true, v)
		p.unblock()
	case verdict.Pause:
		p.pauseConditions()
	case verdict.Queue:
		p.queueConditions()
	case verdict.Block:
		p.goOnConditions(false, v1beta1.ReasonPodsNotReady, p.Verdict.Message)
		if p.status.Phase == v1beta1.JobPaused { // the user has done what pausedMessage asks for
			p.set(v1beta1.ConditionPaused, true, v1beta1.ReasonPaused, heldMessage)
		}
		p.set(v1beta1.ConditionBlocked, true, p.Verdict.Reason, p.Verdict.Message)
	case verdict.Run:
		p.runConditions(v)
	}
	reportBlocked(&p.status)
}

// concludeConditions sets the conditions of a job that has just finished. Completed is True after a failure, too: it means "over".
func (p *writer) concludeConditions(failed bool, v view) {
	reason, message := p.Verdict.Reason, p.Verdict.Message+p.leftovers()
	if Condition(p.status.Conditions, v1beta1.ConditionInitialized) == nil {
		p.set(v1beta1.ConditionInitialized, !failed, reason, message)
	}
	p.set(v1beta1.ConditionRunning, false, reason, message)
	p.set(v1beta1.ConditionFailed, failed, reason, message)
	p.set(v1beta1.ConditionSucceeded, !failed, reason, message)
	p.set(v1beta1.ConditionCompleted, true, reason, message)
	if Condition(p.status.Conditions, v1beta1.ConditionPaused) != nil {
		p.set(v1beta1.ConditionPaused, false, reason, message)
	}
	p.concludeFailure(failed, v)
}

// leftovers says how many pods a finished job leaves running, and why.
func (p *writer) leftovers() string {
	if spec.CleanUp(p.Job) != v1beta1.CleanUpNone {
		return ""
	}
	n := 0
	for t, rank := range p.Roster.Replicas() {
		pod := t.Pods[rank]
		if pod != nil && !t.Auxiliary && p.Roster.State(t, rank) == podstate.Alive && !t.Pod(rank).HasEnded() {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return " One pod was left as it was, for cleanUpPolicy is None: with Unfinished it would have been deleted."
	default:
		return fmt.Sprintf(" %d pods were left as they were, for cleanUpPolicy is None: with Unfinished they would have been deleted.", n)
	}
}

// goOnConditions sets the conditions of a job that has not finished. Call it once in a reconcile. A condition that is set back and forth gets another
// transition time, and the status would be written in every reconcile.
func (p *writer) goOnConditions(running bool, reason, message string) {
	p.set(v1beta1.ConditionInitialized, true, v1beta1.ReasonNone, initializedMessage)
	p.set(v1beta1.ConditionRunning, running, reason, message)
	message = notFinishedMessage
	if p.status.Phase != v1beta1.JobRunning {
		message = notRunningMessage
	}
	p.set(v1beta1.ConditionCompleted, false, v1beta1.ReasonNotFinished, message)
}

// pauseConditions sets the conditions of a job that is to be paused. It is paused once no unfinished replica has a pod.
func (p *writer) pauseConditions() {
	paused, reason, message := p.status.Phase == v1beta1.JobPaused, v1beta1.ReasonPausing, pausingMessage
	if paused {
		reason, message = v1beta1.ReasonPaused, pausedMessage
	}
	p.goOnConditions(false, reason, message)
	if paused || Condition(p.status.Conditions, v1beta1.ConditionPaused) != nil { // its time is that of the last pause or resume
		p.set(v1beta1.ConditionPaused, paused, reason, message)
	}
	if paused {
		p.pauseFailure()
	}
	p.blockIfInvalid()
}

// queueConditions sets the conditions of a job that waits in a queue.
func (p *writer) queueConditions() {
	p.goOnConditions(false, p.Verdict.Reason, p.Verdict.Message)
	p.endPause()
	p.blockIfInvalid()
}

// blockIfInvalid blocks a job whose pods are stopped, if its spec cannot run, either.
func (p *writer) blockIfInvalid() {
	if p.Verdict.Reason == v1beta1.ReasonInvalidSpec {
		p.set(v1beta1.ConditionBlocked, true, p.Verdict.Reason, p.Verdict.Message)
	} else {
		p.unblock()
	}
}

// endPause sets Paused to False, if the job was paused.
func (p *writer) endPause() {
	if Condition(p.status.Conditions, v1beta1.ConditionPaused) != nil {
		p.set(v1beta1.ConditionPaused, false, v1beta1.ReasonResumed, resumedMessage)
	}
}

// runConditions sets the conditions of a job whose verdict is to run.
func (p *writer) runConditions(v view) {
	switch {
	case v.allRun && p.Awaits != "":
		p.goOnConditions(false, v1beta1.ReasonPodsNotReady, p.barrierMessage(v))
	case v.allRun:
		p.goOnConditions(true, v1beta1.ReasonNone, p.running(v))
	case p.keepsBack(v):
		p.goOnConditions(false, p.Verdict.Reason, p.Verdict.Message)
	default:
		p.goOnConditions(false, v1beta1.ReasonPodsNotReady, v.waiting+v.waits.beside(v.waitingReason)+following(". ", failedForGood(p.Ledger))+following(". ", v.lost.String()))
	}
	p.deriveFailure(v)
	p.endPause()
	p.deriveBlocked(v)
}

// barrierMessage returns the message of a job whose replicas wait at the barrier: since when nothing trains, why, and whom they wait for.
func (p *writer) barrierMessage(v view) string {
	out := v.lost.String()
	if s := p.status.InPlace; s != nil && s.BarrierTime != nil {
		out += " Nothing trains since " + text.Time(s.BarrierTime.Time)
		if f := p.First; f != nil && f.JobAttempt == p.status.JobAttempt-1 {
			out += ", because " + f.Summary
		}
		out += "."
	}
	return strings.TrimSpace(fmt.Sprintf("%s The replicas begin again together, in their pods, attempt %d%s", out, p.status.JobAttempt, awaiting(p.Awaits)))
}

// awaiting returns the end of a message that tells whom or what replicas wait for.
func awaiting(whom string) string { return ": waiting for " + whom + "." }

// NamesAwaited reports whether a message tells that replicas wait for this.
func NamesAwaited(message, whom string) bool { return strings.HasSuffix(message, awaiting(whom)) }

// debugging returns the message of a job whose pods all run in debug mode, with the time since when they do.
func (p *writer) debugging() string {
	c := Condition(p.status.Conditions, v1beta1.ConditionRunning)
	if c != nil && c.Status == metav1.ConditionTrue && strings.HasPrefix(c.Message, debugMessage) {
		return c.Message
	}
	return debugMessage + text.Time(p.Now) + "."
}

// deriveBlocked says what keeps the job from having its pods.
func (p *writer) deriveBlocked(v view) {
	switch scale := p.refusedScale(); {
	case p.Rejected != "":
		p.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonPodRejected, p.Rejected)
	case p.Creates:
		p.unblock()
	case p.refusalLasts(): // ReportRefusals tells it after this reconcile: another message here would alternate with it for ever
	case scale != "":
		p.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonScaleRefused, scale)
	case p.stillRejected(): // what Blocked says stays true
	case p.Silent != "":
		p.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonSchedulerSilent, p.Silent)
	case p.keepsBack(v):
		p.set(v1beta1.ConditionBlocked, true, p.Verdict.Reason, p.Verdict.Message)
	default:
		p.unblock()
	}
}

// keepsBack reports whether the verdict says why pods are missing. Pods that exist wait for something else.
func (p *writer) keepsBack(v view) bool { return p.Verdict.Message != "" && v.anyMissing }

// running returns the message of a job whose unfinished replicas all run.
func (p *writer) running(v view) string {
	failed := failedForGood(p.Ledger)
	switch {
	case v.lost.first != nil:
		return v.lost.String()
	case v.still != "":
		return v.still
	case strings.HasPrefix(p.status.Mode, spec.ModeDebug):
		return p.debugging()
	case failed != "":
		return failed + ". The others run or have completed successfully."
	default:
		return allRunningMessage
	}
}

// following returns text with first before it, or "" if text is empty.
func following(first, text string) string {
	if text == "" {
		return ""
	}
	return first + text
}

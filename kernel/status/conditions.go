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
	staysPausedMessage = "The job stays paused, though spec.runMode.pause.enabled is false: it continues once what the condition Blocked names is corrected."
	noPodMessage       = "The job is paused: no unfinished replica has a pod."
	editedMessage      = "The spec was edited before code of the job was seen to start: pods of the earlier spec are made again."
	resumedMessage     = "The job is not paused."
)

// conditionTypes are the types of conditions, as the status lists them.
var conditionTypes = []v1beta1.JobConditionType{
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

// Set sets a condition at its place in that list. The transition time changes only with the status.
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
		return slices.Index(conditionTypes, a.Type) - slices.Index(conditionTypes, b.Type)
	})
}

// set sets a condition of the status that this reconcile makes.
func (w *writer) set(t v1beta1.JobConditionType, value bool, reason, message string) {
	Set(&w.status, w.Now, t, value, reason, message)
}

// deriveConditions derives the conditions from the verdict and the pods.
func (w *writer) deriveConditions(v view) {
	w.forgetEarlierSpec()
	switch w.Verdict.Course {
	case verdict.None, verdict.AlreadyFinished:
		w.unblock() // an unreadable ledger was repaired
	case verdict.Succeed:
		w.concludeConditions(false, v)
		w.unblock()
	case verdict.Fail:
		w.concludeConditions(true, v)
		w.unblock()
	case verdict.Pause:
		w.pauseConditions()
	case verdict.Queue:
		w.queueConditions()
	case verdict.Block:
		w.goOnConditions(false, v1beta1.ReasonPodsNotReady, w.Verdict.Message)
		if w.status.Phase == v1beta1.JobPaused { // the user has done what pausedMessage asks for
			w.set(v1beta1.ConditionPaused, true, v1beta1.ReasonPaused, staysPausedMessage)
		}
		w.set(v1beta1.ConditionBlocked, true, w.Verdict.Reason, w.Verdict.Message)
	case verdict.Run:
		w.runConditions(v)
	}
	reportBlocked(&w.status)
}

// concludeConditions sets the conditions of a job that has just finished. Completed is True after a failure, too: it means "over".
func (w *writer) concludeConditions(failed bool, v view) {
	reason, message := w.Verdict.Reason, w.Verdict.Message+w.leftovers()
	if Condition(w.status.Conditions, v1beta1.ConditionInitialized) == nil {
		w.set(v1beta1.ConditionInitialized, !failed, reason, message)
	}
	w.set(v1beta1.ConditionRunning, false, reason, message)
	w.set(v1beta1.ConditionFailed, failed, reason, message)
	w.set(v1beta1.ConditionSucceeded, !failed, reason, message)
	w.set(v1beta1.ConditionCompleted, true, reason, message)
	if Condition(w.status.Conditions, v1beta1.ConditionPaused) != nil {
		w.set(v1beta1.ConditionPaused, false, reason, message)
	}
	w.concludeFailure(failed, v)
}

// leftovers says how many pods a finished job leaves running, and why.
func (w *writer) leftovers() string {
	if spec.CleanUp(w.Job) != v1beta1.CleanUpNone {
		return ""
	}
	n := 0
	for t, rank := range w.Roster.Replicas() {
		pod := t.Pods[rank]
		if pod != nil && !t.Auxiliary && w.Roster.State(t, rank) == podstate.Alive && !t.Pod(rank).HasEnded() {
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
func (w *writer) goOnConditions(running bool, reason, message string) {
	w.set(v1beta1.ConditionInitialized, true, v1beta1.ReasonNone, initializedMessage)
	w.set(v1beta1.ConditionRunning, running, reason, message)
	message = notFinishedMessage
	if w.status.Phase != v1beta1.JobRunning {
		message = notRunningMessage
	}
	w.set(v1beta1.ConditionCompleted, false, v1beta1.ReasonNotFinished, message)
}

// pauseConditions sets the conditions of a job that is to be paused. It is paused once no unfinished replica has a pod.
func (w *writer) pauseConditions() {
	paused, reason, message := w.status.Phase == v1beta1.JobPaused, v1beta1.ReasonPausing, pausingMessage
	if paused {
		reason, message = v1beta1.ReasonPaused, pausedMessage
	}
	w.goOnConditions(false, reason, message)
	if paused || Condition(w.status.Conditions, v1beta1.ConditionPaused) != nil { // its time is that of the last pause or resume
		w.set(v1beta1.ConditionPaused, paused, reason, message)
	}
	if paused {
		w.pauseFailure()
	}
	w.blockIfInvalid()
}

// queueConditions sets the conditions of a job that waits in a queue.
func (w *writer) queueConditions() {
	w.goOnConditions(false, w.Verdict.Reason, w.Verdict.Message)
	w.endPause()
	w.blockIfInvalid()
}

// blockIfInvalid blocks a job whose pods are stopped, if its spec cannot run, either.
func (w *writer) blockIfInvalid() {
	if w.Verdict.Reason == v1beta1.ReasonInvalidSpec {
		w.set(v1beta1.ConditionBlocked, true, w.Verdict.Reason, w.Verdict.Message)
	} else {
		w.unblock()
	}
}

// endPause sets Paused to False, if the job was paused.
func (w *writer) endPause() {
	if Condition(w.status.Conditions, v1beta1.ConditionPaused) != nil {
		w.set(v1beta1.ConditionPaused, false, v1beta1.ReasonResumed, resumedMessage)
	}
}

// runConditions sets the conditions of a job whose verdict is to run.
func (w *writer) runConditions(v view) {
	switch {
	case v.allRun && w.Awaits != "":
		w.goOnConditions(false, v1beta1.ReasonPodsNotReady, w.barrierMessage(v))
	case v.allRun:
		w.goOnConditions(true, v1beta1.ReasonNone, w.running(v))
	case w.NoFlavor != "":
		w.goOnConditions(false, v1beta1.ReasonGangUnavailable, w.NoFlavor)
	default:
		w.goOnConditions(false, v1beta1.ReasonPodsNotReady, v.waiting+v.waits.beside(v.waitingReason)+following(". ", failedForGood(w.Ledger))+following(". ", v.lost.String()))
	}
	w.deriveFailure(v)
	w.endPause()
	w.deriveBlocked()
}

// barrierMessage returns the message of a job whose replicas wait at the barrier: since when nothing trains, why, and whom they wait for.
func (w *writer) barrierMessage(v view) string {
	out := v.lost.String()
	if s := w.status.InPlace; s != nil && s.BarrierTime != nil {
		out += " Nothing trains since " + text.Time(s.BarrierTime.Time)
		if f := w.First; f != nil && f.JobAttempt == w.status.JobAttempt-1 {
			out += ", because " + f.Summary
		}
		out += "."
	}
	return strings.TrimSpace(fmt.Sprintf("%s The replicas begin again together, in their pods, attempt %d%s", out, w.status.JobAttempt, awaiting(w.Awaits)))
}

// awaiting returns the end of a message that tells whom or what replicas wait for.
func awaiting(whom string) string { return ": waiting for " + whom + "." }

// NamesAwaited reports whether a message tells that replicas wait for this.
func NamesAwaited(message, whom string) bool { return strings.HasSuffix(message, awaiting(whom)) }

// debugging returns the message of a job whose pods all run in debug mode, with the time since when they do.
func (w *writer) debugging() string {
	c := Condition(w.status.Conditions, v1beta1.ConditionRunning)
	if c != nil && c.Status == metav1.ConditionTrue && strings.HasPrefix(c.Message, debugMessage) {
		return c.Message
	}
	return debugMessage + text.Time(w.Now) + "."
}

// deriveBlocked says what keeps the job from having its pods.
func (w *writer) deriveBlocked() {
	switch scale := w.refusedScale(); {
	case w.Rejected != "":
		w.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonPodRejected, w.Rejected)
	case w.Creates:
		w.unblock()
	case w.refusalLasts(): // RecordRefusals tells it after this reconcile: another message here would alternate with it for ever
	case scale != "":
		w.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonScaleRefused, scale)
	case w.stillRejected(): // what Blocked says stays true
	case w.Silent != "":
		w.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonSchedulerSilent, w.Silent)
	case w.NoFlavor != "":
		w.set(v1beta1.ConditionBlocked, true, v1beta1.ReasonGangUnavailable, w.NoFlavor)
	default:
		w.unblock()
	}
}

// running returns the message of a job whose unfinished replicas all run.
func (w *writer) running(v view) string {
	failed := failedForGood(w.Ledger)
	switch {
	case v.lost.first != nil:
		return v.lost.String()
	case v.still != "":
		return v.still
	case strings.HasPrefix(w.status.Mode, spec.ModeDebug):
		return w.debugging()
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

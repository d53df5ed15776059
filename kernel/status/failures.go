package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Failure is a failure that a reconcile has found.
type Failure struct {
	// Why says what failed, and how; Then what comes of it.
	Why, Then string
	Excepted  bool // a rule of spec.failurePolicy restarts it, and does not count it
	v1beta1.ReplicaFailure
}

// maxFailures is how many failures a status keeps, as the CRD says.
const maxFailures = 5

// keepFailures keeps the last failures in the status. Of many in one reconcile it keeps the first, because the cause is among them. The last hang
// that counts is kept, too: later hangs of other replicas may belong to it (see kernel/hang.go).
func (w *writer) keepFailures() {
	list := slices.Clone(w.status.Failures)
	kept := slices.Clone(w.Failures[:min(len(w.Failures), maxFailures)])
	for _, f := range slices.Backward(w.Failures[len(kept):]) {
		if podstate.IsHang(&f.ReplicaFailure) && !f.Excepted {
			kept[len(kept)-1] = f
			break
		}
	}
	for _, f := range kept {
		list = append(list, f.ReplicaFailure)
	}
	w.status.Failures = list[max(0, len(list)-maxFailures):]
}

// deriveFailure keeps ReplicaFailure true while a pod cannot start or a replica has failed for good, and says what went
// wrong last.
func (w *writer) deriveFailure(v view) {
	switch {
	case len(w.Failures) > 0:
		w.set(v1beta1.ConditionReplicaFailure, true, v1beta1.ReasonErrorInPod, w.failure())
	case v.problem != "":
		w.set(v1beta1.ConditionReplicaFailure, true, v.problemReason, v.problem)
	case v.allRun && v.lost.first == nil && failedForGood(w.Ledger) == "":
		w.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, allRunningMessage)
	case v.allRun && failedForGood(w.Ledger) == "", Condition(w.status.Conditions, v1beta1.ConditionReplicaFailure) == nil:
		w.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, "No pod has failed.")
	}
}

// forgetEarlierSpec removes from ReplicaFailure why a pod cannot start, if an edit has come since. The operator makes that pod again, perhaps after
// the job has queued.
func (w *writer) forgetEarlierSpec() {
	c := Condition(w.status.Conditions, v1beta1.ConditionReplicaFailure)
	if !w.Ledger.IsEdited() || c == nil || c.Status != metav1.ConditionTrue || c.Reason == v1beta1.ReasonErrorInPod {
		return
	}
	if failed := failedForGood(w.Ledger); failed != "" {
		w.set(v1beta1.ConditionReplicaFailure, true, v1beta1.ReasonErrorInPod, failed)
		return
	}
	w.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, "No pod has failed.")
}

// pauseFailure sets ReplicaFailure of a paused job. A pod that could not start is gone; a replica that has failed stays in the message.
func (w *writer) pauseFailure() {
	c := Condition(w.status.Conditions, v1beta1.ConditionReplicaFailure)
	if c != nil && (c.Status == metav1.ConditionFalse || c.Reason != v1beta1.ReasonErrorInPod) {
		w.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, noPodMessage)
	}
}

// concludeFailure sets ReplicaFailure of a job that has just finished. What failed for good stays in the message.
func (w *writer) concludeFailure(failed bool, v view) {
	c := Condition(w.status.Conditions, v1beta1.ConditionReplicaFailure)
	switch forGood := failedForGood(w.Ledger); {
	case forGood != "" && len(w.Failures) == 0 && c != nil && c.Status == metav1.ConditionTrue:
	case forGood != "" || failed:
		w.deriveFailure(v)
	default:
		w.set(v1beta1.ConditionReplicaFailure, false, v1beta1.ReasonNone, allRunningMessage)
	}
}

// maxNamed is how many replicas a message names.
const maxNamed = 5

// failedForGood says how many replicas have failed for good, and which; "" if none has.
func failedForGood(l *ledger.Ledger) string {
	failed, all := 0, 0
	var names []string
	for _, a := range l.Accounts() {
		if a.Auxiliary { // it only serves those that are counted
			continue
		}
		all += a.N
		failed += a.FailedCount()
		for rank := 0; rank < a.N && len(names) < maxNamed; rank++ {
			if a.HasFailed(rank) {
				names = append(names, fmt.Sprintf("%s-%d", a.Type, rank))
			}
		}
	}
	if failed == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d replicas failed for good: %s", failed, all, strings.Join(names, ", "))
	if more := failed - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// reportEnd completes the message of a job's end with the failure that ends it.
func (w *writer) reportEnd() {
	v := &w.Verdict
	if !v.ByFailure {
		return
	}
	message := w.lastFailure()
	if v.Message != "" {
		message += ". " + v.Message
	}
	v.Message = message + "."
}

// lastFailure returns what is known of the failure that ends a job: the failure of this reconcile, or the last one that was told.
func (w *writer) lastFailure() string {
	if len(w.Failures) > 0 {
		return w.failure()
	}
	if c := Condition(w.Job.Status.Conditions, v1beta1.ConditionReplicaFailure); c != nil && c.Status == metav1.ConditionTrue {
		return c.Message
	}
	return failedForGood(w.Ledger)
}

// failure says what has failed in this reconcile: the first failure, and how many more. A job of thousands of pods loses them by the hundred. If the
// job ends, and all its failures follow from one that was told before, it says that one.
func (w *writer) failure() string {
	f := &w.Failures[0]
	if w.Verdict.EndsJob() && w.followsStored() {
		return clauses(w.First.Summary, f.Then)
	}
	told := clauses(f.Why, f.Then)
	if n := len(w.Failures) - 1; n > 0 && (w.First == nil || f.Why != w.First.Summary) { // the summary counts them
		return fmt.Sprintf("%s (and %d more)", told, n)
	}
	return told
}

// clauses returns a sentence about a failure: why it came, and what follows from it.
func clauses(why, then string) string {
	if then == "" {
		return why
	}
	return why + "; " + then
}

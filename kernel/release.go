package kernel

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// release takes the finalizer off a pod.
func (t *todo) release(pod *corev1.Pod, reason string) {
	if podstate.HasFinalizer(pod) {
		t.do(ReleasePod, pod, reason)
	}
}

// releaseAll releases every pod of a job that is being deleted: its ledger goes with it.
func releaseAll(job *v1beta1.GenericJob, pods []*corev1.Pod) []Action {
	var t todo
	for _, pod := range slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }) {
		if metav1.IsControlledBy(pod, job) {
			t.release(pod, "the job is being deleted")
		}
	}
	return t.actions
}

// releaseOrphans releases pods of an earlier job of this name.
func releaseOrphans(w World) []Action { return ReleaseOrphans(w.Orphans) }

// ReleaseOrphans releases pods whose job is gone.
func ReleaseOrphans(pods []*corev1.Pod) []Action {
	var t todo
	for _, pod := range pods {
		t.release(pod, "its job is gone")
	}
	return t.actions
}

// releaseUnclaimed releases pods that are no replica's, once somebody deletes them or the job is over: nobody records how they end.
func (a *acting) releaseUnclaimed() {
	for _, pod := range a.replicas.Unclaimed {
		if pod.DeletionTimestamp != nil || a.verdict.IsOver() {
			a.release(pod, "its labels are no replica's")
		}
	}
}

// withoutReleases returns the actions without those that release some pods, or end what runs in them.
func withoutReleases(actions []Action, of []*corev1.Pod) []Action {
	kept := map[*corev1.Pod]bool{}
	for _, pod := range of {
		kept[pod] = true
	}
	return slices.DeleteFunc(actions, func(a Action) bool { return (a.Verb == ReleasePod || a.Verb == EndPod) && kept[a.Pod] })
}

// releaseFinished lets go of the pod of a replica whose outcome is in the ledger. A pod that has not ended is one of these:
//   - The cache shows an old state of it.
//   - It is a second pod, created by a late call of an operator that has been replaced. The operator stops it. A stop requires the resourceVersion
//     that was seen, so it does nothing in the first case.
//   - Code was run again in the pod, and the wrapper may hold the end. The pod stays, with its logs.
func (a *acting) releaseFinished(pod podstate.Pod, reason string) {
	switch {
	case pod.HasEnded() || pod.DeletionTimestamp != nil:
	case pod.Exits() > 0 || podstate.NumbersOf(pod.Pod).WasStartedOver() || a.judge.UntilStranded(pod) == 0:
		a.stopWaiting(pod, reason)
		return
	default:
		a.do(StopPod, pod.Pod, "its replica has finished, with another pod")
		return
	}
	a.releaseKept(pod, reason)
}

// releaseKept takes the finalizer off a pod that stays, and ends the containers that admission has added, if those of the template have ended.
func (a *acting) releaseKept(pod podstate.Pod, reason string) {
	mayReport, until := a.addedMayReport(pod)
	a.wakeAfter(until)
	if !mayReport {
		a.endAdded(pod) // if the release is carried out first, this meets a conflict, and the next reconcile tries again
	}
	a.release(pod.Pod, reason)
}

// timeToReport is how long containers that admission has added may run on once those of the template have ended. They may still have to send what they
// have collected. The collector of a Katib trial notices the end within a second, and reports the metrics then.
const timeToReport = 10 * time.Second

// addedMayReport reports whether to leave the containers alone that admission has added to a pod, because they may still report. Until is how much
// longer they may. If the node's clock is so far ahead that nobody knows the time, nothing waits.
func (a *acting) addedMayReport(pod podstate.Pod) (may bool, until time.Duration) {
	left := timeToReport - a.Now.Sub(pod.EndedAt())
	if !pod.OnlyAddedRun() || isToldToEnd(pod) || left <= 0 || left > 2*timeToReport {
		return false, 0
	}
	return true, left
}

// endAdded ends the containers that admission has added to a pod, if all of the template's have ended.
func (a *acting) endAdded(pod podstate.Pod) {
	if pod.OnlyAddedRun() && !isToldToEnd(pod) {
		a.do(EndPod, pod.Pod, "all containers of its template have ended")
	}
}

// isToldToEnd reports whether a pod has the deadline that EndPod gives it, or a shorter one.
func isToldToEnd(pod podstate.Pod) bool {
	deadline := pod.Spec.ActiveDeadlineSeconds
	return deadline != nil && *deadline <= 1
}

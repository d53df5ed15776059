package kernel

import (
	"cmp"
	"slices"

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

// withoutReleases returns the actions without those that release some pods, or end what runs in them.
func withoutReleases(actions []Action, of []*corev1.Pod) []Action {
	kept := map[*corev1.Pod]bool{}
	for _, pod := range of {
		kept[pod] = true
	}
	return slices.DeleteFunc(actions, func(a Action) bool { return (a.Verb == ReleasePod || a.Verb == EndPod) && kept[a.Pod] })
}

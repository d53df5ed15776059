package kernel

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/roster"
)

// expire deletes a finished job when its time to live is over. A job that a training job owns is left to that one: it would only be made again.
func (a *acting) expire() {
	ttl := a.Job.Spec.TTLSecondsAfterFinished
	if ttl == nil || metav1.GetControllerOf(a.Job) != nil {
		return
	}
	since := a.Now
	if at := a.Job.Status.CompletionTime; at != nil {
		since = at.Time
	}
	if left := since.Add(time.Duration(*ttl) * time.Second).Sub(a.Now); left > 0 {
		a.wakeAfter(left)
		return
	}
	a.actions = append(a.actions, Action{Verb: DeleteJob, Reason: "ttlSecondsAfterFinished is over"})
}

// keepsLogs reports whether the code of a pod has failed whose wrapper waits: the pod is ended where it is, and stays with its logs.
func (a *acting) keepsLogs(t *roster.Type, rank int, pod ending.Pod) bool {
	return t.Order(rank) != nil && (t.HasFailed(rank) || a.watchWaiting(t, rank, pod) && pod.Exits() > t.Exits(rank, pod.UID))
}

package kernel

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// expire deletes a finished job when its time to live is over. It leaves alone a job that another object controls, and which goes with that. A training
// job would only create it again, and has a time to live of its own; a workflow may still want to read it.
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

package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
)

// silence is how long a scheduler may say nothing of a pod, not even that no node fits, before the job is Blocked (SchedulerSilent). It has to be
// concluded from silence, because no object shows whether a scheduler runs.
const silence = 2 * time.Minute

// silentScheduler returns a message about a scheduler that has said nothing of any waiting pod of a replica type, and when to look again. It never
// names Kubernetes' own scheduler, which every cluster has, and which may be slow if thousands of pods wait.
func silentScheduler(job *v1beta1.GenericJob, replicas *roster.Roster, now time.Time) (message string, recheckAfter time.Duration) {
	if job.Spec.Scheduler != nil && slices.ContainsFunc(replicas.Types, func(t roster.Type) bool { return slices.ContainsFunc(t.Pods, podstate.IsGated) }) {
		return "", 0 // some pods are gated, the gang waits for them, and no scheduler says so of the other pods
	}
	for i := range replicas.Types {
		t := &replicas.Types[i]
		pod := podstate.Unheard(t.Pods)
		if pod == nil {
			continue
		}
		scheduler := build.SchedulerOf(job, &t.Template)
		if scheduler == corev1.DefaultSchedulerName {
			continue
		}
		if left := pod.CreationTimestamp.Add(silence).Sub(now); left > 0 {
			recheckAfter = soonest(recheckAfter, left)
			continue
		}
		return status.SilentScheduler(pod.Name, scheduler), 0
	}
	return "", recheckAfter
}

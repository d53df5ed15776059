package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
)

// silence is the grace period before the job is reported Blocked (SchedulerSilent). For so long a scheduler has said nothing of a pod, not
// even that no node fits. No object shows whether a scheduler runs.
const silence = 2 * time.Minute

// silentScheduler names a scheduler that has said nothing of any pod of a replica type that waits for a node; and when to look again. The scheduler
// of Kubernetes itself, which every cluster has, is never named: it may be slow where thousands of pods wait.
func silentScheduler(job *v1beta1.GenericJob, replicas *roster.Roster, now time.Time) (message string, again time.Duration) {
	if job.Spec.Scheduler != nil && slices.ContainsFunc(replicas.Types, func(t roster.Type) bool { return slices.ContainsFunc(t.Pods, ending.Gated) }) {
		return "", 0 // a gang waits for those that are gated, and no scheduler says so of the others
	}
	for i := range replicas.Types {
		t := &replicas.Types[i]
		pod := ending.Unheard(t.Pods)
		if pod == nil {
			continue
		}
		scheduler := build.SchedulerOf(job, &t.Template)
		if scheduler == corev1.DefaultSchedulerName {
			continue
		}
		if left := pod.CreationTimestamp.Add(silence).Sub(now); left > 0 {
			again = soonest(again, left)
			continue
		}
		return status.SilentScheduler(pod.Name, scheduler), 0
	}
	return "", again
}

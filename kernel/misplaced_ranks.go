package kernel

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/kueue"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
)

// misplacedRanks says which pods Kueue has not placed in the order of their ranks; "" if there are none. It looks for them while the job does not
// run, and the user hears of them when all pods run. The user does not hear of them again after a restart that leaves these pods as they are.
func misplacedRanks(w World, l *ledger.Ledger, replicas *roster.Roster) string {
	c := status.Condition(w.Job.Status.Conditions, v1beta1.ConditionRunning)
	if l.Kueue() == nil || w.Kueue.Workload == nil || c != nil && c.Status == metav1.ConditionTrue {
		return ""
	}
	for i := range replicas.Types {
		t := &replicas.Types[i]
		if a, b := kueue.Misplaced(w.Kueue.Workload, t.Type, t.Pods); b != nil && (isNew(w.Job, c, a) || isNew(w.Job, c, b)) {
			return status.MisplacedRanks(t.Type, a, b)
		}
	}
	return ""
}

// isNew reports whether a pod was created since all replicas last ran. The condition notRunning tells since when they do not. Both times are stored in
// whole seconds.
func isNew(job *v1beta1.GenericJob, notRunning *v1beta1.JobCondition, pod *corev1.Pod) bool {
	return job.Status.Phase != v1beta1.JobRunning || notRunning == nil ||
		!pod.CreationTimestamp.Time.Before(notRunning.LastTransitionTime.Truncate(time.Second))
}

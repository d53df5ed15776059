package simulator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// restartsWritten checks that no more restarts are counted than code has ended of its own accord: a disruption spends none. Where pods came
// too late, what they did is in no account.
func (t *truth) restartsWritten(is *v1beta1.GenericJob) {
	if len(t.late)+len(t.raced) > 0 {
		return
	}
	rec := t.recordOf(is.UID)
	ends := rec.scaledAway
	for _, r := range rec.replicas {
		ends += r.ends()
	}
	if counted := int(is.Status.BackoffCount + is.Status.ExceptedCount); counted > ends {
		t.violated("a restart was made up", "%d are counted or excepted, and code has ended %d times", counted, ends)
	}
}

// countedBesideReboot checks that a status counts no failure if its writer has seen that a node had rebooted under a replica of the same attempt. With
// restartScope Job the others fail because they lose that one. Under policy Always successes are counted, too, and these follow from nothing.
func (t *truth) countedBesideReboot(was, is *v1beta1.GenericJob) {
	counted := is.Status.BackoffCount + is.Status.ExceptedCount - was.Status.BackoffCount - was.Status.ExceptedCount
	always := func(r v1beta1.ReplicaSpec) bool {
		return r.RestartPolicy != nil && r.RestartPolicy.Policy == v1beta1.RestartAlways
	}
	if counted <= 0 || was.Spec.RestartScope != v1beta1.RestartScopeJob || t.recordOf(is.UID).unsettled || slices.ContainsFunc(was.Spec.ReplicaSpecs, always) {
		return
	}
	for _, p := range t.life.writer.rebooted {
		has := ledgerHas(&was.Status, p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank))
		if p.Status.Phase == corev1.PodRunning && isCurrent(was, p) && !isUnwanted(p) && !auxiliary(was, p) && !has {
			t.violated("a failure beside a reboot was counted", "%d are counted or excepted, and the node of %s has rebooted", counted, p.Name)
		}
	}
}

package simulator

import "github.com/genericjob/genericjob/apis/batch/v1beta1"

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

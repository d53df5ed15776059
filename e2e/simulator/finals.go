package simulator

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// failure is an end of code after which all of a job restart together, or would: that it failed, or, under Always, any.
type failure struct {
	replicaType string
	rank        int
	at          time.Time // in whole seconds, as the kubelet tells
	final       bool      // the replica must not be run again because of it
}

func (f failure) name() string { return fmt.Sprintf("%s-%d", f.replicaType, f.rank) }

// noteFailure keeps a failure, by the job attempt. Code 0 is none, except under Always.
func (r *record) noteFailure(job *v1beta1.GenericJob, p *corev1.Pod, attempt int32, code int32, at time.Time) {
	if code == 0 && policyIn(job, p) != v1beta1.RestartAlways {
		return
	}
	if r.failures == nil {
		r.failures = map[int32][]failure{}
	}
	settled := code != 137 && code != 143 // others may still mean that it was told to stop
	r.failures[attempt] = append(r.failures[attempt], failure{
		p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank), at, settled && policyIn(job, p) == v1beta1.RestartNever,
	})
}

// restartsOverFinals checks a restart of the whole job for a failure. It must forget no earlier one that Never makes final. How many failures an
// operator sees at once must not matter.
func (t *truth) restartsOverFinals(was, is *v1beta1.GenericJob) {
	rec := t.recordOf(is.UID)
	if is.Status.JobAttempt == was.Status.JobAttempt || is.Status.BackoffCount == was.Status.BackoffCount || rec.unsettled ||
		is.Spec.RestartStrategy == v1beta1.RestartInPlace {
		return
	}
	list := rec.failures[was.Status.JobAttempt]
	for i, f := range list {
		first := !slices.ContainsFunc(slices.Delete(slices.Clone(list), i, i+1), func(o failure) bool { return !f.at.Before(o.at) })
		if r := rec.replicas[f.name()]; f.final && first && r.doubts+r.disruptions == 0 && !ledgerHas(&is.Status, f.replicaType, f.rank) {
			t.violated("policy Never is overruled by a later failure", "%s failed at %s", f.name(), f.at.Format(time.TimeOnly))
		}
	}
}

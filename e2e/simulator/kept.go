package simulator

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/status"
)

// This file has rules that name a rank. A job that is scaled below such a rank keeps it, because its rule must stay able to hold.

// rankOf draws the rank that a rule names: mostly 0.
func rankOf(t *Tape, r *v1beta1.ReplicaSpec) int32 {
	if *r.Replicas > 1 && t.spare(3, 3) {
		return 1
	}
	return 0
}

// namedReplicas returns how many replicas of a type the job's success rules need. It is found apart from the operator's code.
func namedReplicas(job *v1beta1.GenericJob, replicaType string) (n int32) {
	for _, rule := range job.Spec.SuccessRules {
		for _, rank := range rule[replicaType] {
			n = max(n, rank.IntVal+1)
		}
	}
	return n
}

// cannotRun reports whether a job is told to be blocked because a rule names a rank that it does not have. Then it obeys no edit until that is
// corrected.
func cannotRun(job *v1beta1.GenericJob) bool {
	lacks := func(r v1beta1.ReplicaSpec) bool { return int32(replicasOf(&r)) < namedReplicas(job, r.Type) }
	return status.IsBlocked(&job.Status, v1beta1.ReasonInvalidSpec) && slices.ContainsFunc(job.Spec.ReplicaSpecs, lacks)
}

// askForNamed has a user correct the number of replicas, if a rule names a rank above it.
func askForNamed(o client.Object) {
	job, plain := o.(*v1beta1.GenericJob)
	if !plain {
		return
	}
	for i := range job.Spec.ReplicaSpecs {
		r := &job.Spec.ReplicaSpecs[i]
		*r.Replicas = max(*r.Replicas, namedReplicas(job, r.Type))
	}
}

// namedWritten checks that a job keeps the ranks that its rules name. A job that is paused, or whose spec cannot run, waits for another spec. The
// first status after that, or of a generation, may still count what the spec asks for.
func (t *truth) namedWritten(was, is *v1beta1.GenericJob) {
	old, s := &was.Status, &is.Status
	waits := is.Spec.RunMode.Pauses() || status.IsBlocked(old, v1beta1.ReasonInvalidSpec) || status.IsBlocked(s, v1beta1.ReasonInvalidSpec)
	if waits || s.StartTime == nil || s.CompletionTime != nil || s.ObservedGeneration != old.ObservedGeneration {
		return
	}
	for _, row := range s.Tasks {
		if need := namedReplicas(is, row.Type); int32(len(row.Replicas)) < need {
			t.violated("a rank that a rule names is left", "%s has %d replicas of type %s, and its rules name %d", keyOf(is), len(row.Replicas), row.Type, need)
		}
	}
}

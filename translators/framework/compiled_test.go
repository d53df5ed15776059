package framework

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A number that is left out stays left out: a spec that differs would be written again and again.
func TestAScaledSpecGoesBackToTheNumbersThatWereCompiled(t *testing.T) {
	job := &v1beta1.GenericJob{Spec: v1beta1.GenericJobSpec{ReplicaSpecs: []v1beta1.ReplicaSpec{{Type: "chief"}, {Type: "worker", Replicas: new(int32(2))}}}}
	before := job.Spec.DeepCopy()
	is := func(want *v1beta1.GenericJobSpec, wantElastic bool, why string) {
		spec, elastic := WithCompiledReplicas(job)
		require.Equal(t, want, spec, why)
		require.Equal(t, wantElastic, elastic, why)
	}
	is(before, true, "an earlier version has compiled it, and nobody knows")
	AnnotateCompiled(job, 1, false)
	is(before, false, "as compiled")
	job.Spec.Replicas, job.Spec.ReplicaSpecs[0].Replicas, job.Spec.ReplicaSpecs[1].Replicas = new(int32(7)), new(int32(3)), new(int32(4))
	is(before, false, "scaled by somebody else")
	require.EqualValues(t, 7, *job.Spec.Replicas, "the job itself is as it was")

	job.Annotations[v1beta1.AnnotationCompiledGeneration] = "2"
	is(&job.Spec, true, "an earlier version has compiled it since, which writes no numbers")
	AnnotateCompiled(job, 2, true)
	is(&job.Spec, true, "as compiled, elastic")
	AnnotateCompiled(job, 2, false)
	job.Annotations[v1beta1.AnnotationCompiledReplicas] = "{"
	is(&job.Spec, true, "somebody has written something else")
}

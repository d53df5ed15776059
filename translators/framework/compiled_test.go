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
	require.Equal(t, before, WithCompiledReplicas(job), "an earlier version has compiled it")
	AnnotateCompiled(job, 1)
	require.Equal(t, before, WithCompiledReplicas(job))
	job.Spec.Replicas, job.Spec.ReplicaSpecs[0].Replicas, job.Spec.ReplicaSpecs[1].Replicas = new(int32(7)), new(int32(3)), new(int32(4))
	require.Equal(t, before, WithCompiledReplicas(job))
	require.EqualValues(t, 7, *job.Spec.Replicas, "the job itself is as it was")

	job.Annotations[v1beta1.AnnotationCompiledGeneration] = "2"
	require.Equal(t, &job.Spec, WithCompiledReplicas(job), "an earlier version has compiled it since, which writes no numbers")
	AnnotateCompiled(job, 2)
	job.Annotations[v1beta1.AnnotationCompiledReplicas] = "{"
	require.Equal(t, &job.Spec, WithCompiledReplicas(job), "somebody has written something else")
}

package v1beta1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A user of a plain job, which says nothing of spec.replicas, scales it as everything else in Kubernetes.
func TestKubectlScalesAJobOfOneType(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	job := good[v1beta1.KindGenericJob]().(*v1beta1.GenericJob)
	job.Spec = v1beta1.GenericJobSpec{ReplicaSpecs: job.Spec.ReplicaSpecs[:1]}
	job = inPhase(t, c, ns, job, v1beta1.JobRunning)
	kubectl(t, "scale", "gj/"+job.Name, "-n", ns, "--replicas=4")
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	require.EqualValues(t, 4, *job.Spec.Replicas)
}

package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// creations are the notes of the events of one reason about a job.
func (c *cluster) creations(job client.Object, reason string) []string {
	c.t.Helper()
	var found []string
	for _, e := range c.told(job) {
		if note, is := strings.CutPrefix(e, "Normal "+reason+": "); is {
			found = append(found, note)
		}
	}
	return found
}

// Clients of Kubeflow's kinds wait for these events to know which pods there are.
func TestKubeflowsJobsAreToldOfEachPodAndService(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.pytorch("job", pair)
	c.awaitState("job", kubeflowv1.JobRunning)
	created := func(want ...string) {
		t.Helper()
		c.until(fmt.Sprint(want), func() bool { return len(c.creations(job, "SuccessfulCreatePod")) == len(want) })
		require.ElementsMatch(t, want, c.creations(job, "SuccessfulCreatePod"))
	}
	three := []string{"Created pod: job-master-0", "Created pod: job-worker-0", "Created pod: job-worker-1"}
	created(three...)
	c.until("one Service", func() bool { return len(c.creations(job, "SuccessfulCreateService")) > 0 })
	require.Equal(t, []string{"Created service: job"}, c.creations(job, "SuccessfulCreateService"))
	c.finish(c.job("job"), "worker-0", 1)
	created(append(three, "Created pod: job-worker-0")...)
	require.Empty(t, c.creations(c.job("job"), "SuccessfulCreatePod"), "the GenericJob is no kind of Kubeflow's")
}

func TestALargeJobIsToldOfItsPodsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	other := c.train("other", chiefAndTwo)
	job := c.pytorch("job", "pytorchReplicaSpecs: {Worker: {replicas: 100, "+pytorchPod+"}}")
	c.until("told of all", func() bool {
		total := 0
		for _, note := range c.creations(job, "SuccessfulCreatePod") {
			n := 1
			_, _ = fmt.Sscanf(note, "Created %d pods: ", &n)
			total += n
		}
		return total == 100
	})
	require.LessOrEqual(t, len(c.creations(job, "SuccessfulCreatePod")), 21, "not of each")
	c.awaitTraining("other", v1beta1.JobRunning)
	require.Empty(t, c.creations(other, "SuccessfulCreatePod"), "other kinds do not pay for it")
}

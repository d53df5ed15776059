package controllers_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Six restarts gave three events, and `kubectl describe` of the training job, which is what its user made, showed none of them.
func TestEachRestartOfAReconcileHasItsEventWhereUsersLook(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	training := c.trainTorch("six", "torchrunConfig: {enabled: true}\nrunPolicy: {backoffLimit: 9, restartScope: Replica}\nreplicaSpecs: [{type: node, replicas: 6, template: POD}]")
	job := c.awaitGenericJob(training)
	c.awaitPhase("six", v1beta1.JobRunning)
	c.awaitEvent(training, "Normal Running")
	pods := c.pods(job)
	stop() // so that one reconcile sees all that comes
	for rank := range 6 {
		c.finish(job, fmt.Sprintf("node-%d", rank), 3)
	}
	c.operate(operation{})
	job = c.await("six", func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount == 6 })
	for rank := range 6 {
		pod := fmt.Sprintf("Warning Restarted: Pod[%s]", pods[fmt.Sprintf("node-%d", rank)].Name)
		c.awaitEvent(training, pod, "exited with error code 3", "of 9)")
	}
	phases := slices.DeleteFunc(c.told(training), func(e string) bool { return !strings.HasPrefix(e, "Normal Running") })
	require.Len(t, phases, 1, "a phase is told once, by the training job's own reconciler")
	require.Empty(t, c.told(job), "what happens is told once")
}

package controllers_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// heard is how often an event of a reason about a job was emitted.
func (c *cluster) heard(job client.Object, reason string) int {
	c.t.Helper()
	list := &eventsv1.EventList{}
	require.NoError(c.t, c.List(c.ctx, list, client.InNamespace(c.ns)))
	n := 0
	for _, e := range list.Items {
		switch {
		case e.Regarding.UID != job.GetUID() || e.Reason != reason:
		case e.Series != nil:
			n += int(e.Series.Count)
		default:
			n++
		}
	}
	return n
}

// Only the log knew that a policy kept a finished training job from being deleted.
func TestARefusedDeleteOfAFinishedTrainingJobIsToldOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{code: http.StatusForbidden}
	n.breakWhere(func(k call) bool { return k.verb == "DELETE" && strings.Contains(k.path, "/pytorchjobs") })
	c.operate(operation{network: n})
	job := c.pytorch("job", "pytorchReplicaSpecs: {Master: {"+pytorchPod+"}}, runPolicy: {ttlSecondsAfterFinished: 0}")
	c.awaitState("job", kubeflowv1.JobRunning)
	c.finish(c.job("job"), "master-0", 0)
	c.awaitEvent(job, "Warning Refused", "delete PyTorchJob "+c.ns+"/job", "The operator keeps trying")
	c.until("it is tried again", func() bool { return len(n.seen("DELETE", "/pytorchjobs")) > 3 })
	require.Equal(t, 1, c.heard(job, "Refused"))
	n.breakWhere(nil)
	c.until("it is deleted", func() bool { return c.gone(job) })
}

func TestARefusedAutoscalerIsToldOnceAndTheJobTrainsOn(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{code: http.StatusForbidden}
	n.breakWhere(func(k call) bool { return strings.Contains(k.path, "/horizontalpodautoscalers") })
	c.operate(operation{network: n})
	job := c.pytorch("job", "pytorchReplicaSpecs: {Worker: {replicas: 2, "+pytorchPod+"}}, elasticPolicy: {minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}")
	c.awaitEvent(job, "Warning CreateFailed", "create HorizontalPodAutoscaler "+c.ns+"/job")
	c.awaitState("job", kubeflowv1.JobRunning)
	c.until("it is tried again", func() bool { return len(n.seen("POST", "/horizontalpodautoscalers")) > 3 })
	require.Equal(t, 1, c.heard(job, "CreateFailed"))
}

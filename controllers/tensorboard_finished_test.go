package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

// declareOver finishes a training job as far as its own status goes.
func (c *cluster) declareOver(name string) {
	c.t.Helper()
	job := c.training(name)
	job.Status.Phase = v1beta1.JobSucceeded
	require.NoError(c.t, c.Status().Update(c.ctx, job))
}

// The time to live replaced the time of the next look, so that a board that did not work was left alone for a week.
func TestATimeToLivePostponesNoLookAtATensorBoard(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.train("over", withBoard+"\nrunPolicy: {ttlSecondsAfterFinished: 604800}")
	_, _, result := c.lookAtBoard("over")
	require.Equal(t, 15*time.Second, result.RequeueAfter)
	job := c.training("over")
	job.Status.Phase, job.Status.CompletionTime = v1beta1.JobSucceeded, &metav1.Time{Time: c.began}
	require.NoError(t, c.Status().Update(c.ctx, job))
	_, _, result = c.lookAtBoard("over")
	require.Equal(t, 15*time.Second, result.RequeueAfter)
	c.editBoard("over", "")
	_, _, result = c.lookAtBoard("over")
	require.Greater(t, result.RequeueAfter, 6*24*time.Hour, "then nothing is left but the time to live")
}

func TestTensorBoardIsNotMadeForAFinishedJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := c.train("over", withBoard)
	stale := job.DeepCopy()
	c.declareOver("over")
	state, writes, result := c.lookAtBoard("over")
	require.Empty(t, writes)
	require.Zero(t, result.RequeueAfter)
	require.Equal(t, tensorboard.ReasonMissing, state.Reason)
	calls, _ := c.reconcileOver(stale)
	for _, call := range calls {
		require.Equal(t, "PUT", call.verb, "the cache has not seen the end yet: %s", call.path)
	}
	d, s := c.board(job)
	require.Nil(t, d)
	require.Nil(t, s)
}

// With caches and watches, the operator sees the Deployment's state without a look at it, and makes again what is
// deleted. All of it stays when the job is over.
func TestTensorBoardOutlivesItsJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	job := c.train("mnist", withBoard)
	c.until("Deployment", func() bool { d, _ := c.board(job); return d != nil })
	d, s := c.board(job)
	require.NoError(t, c.Delete(c.ctx, d))
	require.NoError(t, c.Delete(c.ctx, s))
	c.until("others", func() bool {
		d2, s2 := c.board(job)
		return d2 != nil && s2 != nil && d2.UID != d.UID && s2.UID != s.UID
	})
	ready := func() bool { b := c.training("mnist").Status.TensorBoard; return b != nil && b.Ready }
	d, s = c.board(job)
	c.serve(job, 1)
	c.until("ready", ready)
	gj := c.awaitGenericJob(job)
	require.NotContains(t, c.pods(gj), "-", "its pods are none of the job's")
	c.finish(gj, "chief-0", 0)
	c.awaitTraining("mnist", v1beta1.JobSucceeded)
	require.True(t, ready())
	d2, s2 := c.board(job)
	require.Equal(t, []string{string(d.UID), string(s.UID)}, []string{string(d2.UID), string(s2.UID)})
	require.Empty(t, n.seen("PATCH", "/deployments/"))
	n.forget() // a cache that lags behind has asked for one of them twice, perhaps
	require.NoError(t, c.Delete(c.ctx, d2))
	c.until("told that it is gone", func() bool { return c.training("mnist").Status.TensorBoard.Reason == tensorboard.ReasonMissing })
	require.Empty(t, n.seen("POST", "/deployments"))
}

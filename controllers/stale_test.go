package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// newStill is a cluster without an operator and with a kubelet that does nothing: the test makes each reconcile itself.
func newStill(t *testing.T) *cluster {
	c := newCluster(t)
	c.be(func(k *kubelet) { k.idle = true })
	return c
}

const twoWorkers = "replicaSpecs: [{type: worker, replicas: 2, template: POD, restartPolicy: {limit: 3}}]"

func TestFence(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("fence", twoWorkers)
	c.settle("fence")
	before := c.look("fence").job
	done := c.now(job, "worker-0", 0)
	c.settle("fence")
	require.Equal(t, "0", c.job("fence").Status.Ledger[0].Succeeded)
	c.unlock(done)
	// The pod cache knows that the pod is gone, the job cache does not know yet that it had succeeded.
	stale := c.look("fence")
	stale.job = before
	stale.now = before.Status.LastUpdateTime.Time // the view is fresh: no status is written, so no lock is met
	p := c.reconcile("fence", stale)
	require.NoError(t, p.err)
	require.Empty(t, p.calls)
	require.NotZero(t, p.result.RequeueAfter)
	require.Equal(t, []string{"worker-1"}, c.names(job))
}

func TestFenceKnowsAJobThatIsGoneOrAnother(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	c.submit("again", twoWorkers)
	c.reconcile("again", c.young("again")) // its pods
	old := c.young("again")                // no status is due: a write would meet the lock before the fence
	old.pods = nil
	require.NoError(t, c.Delete(c.ctx, old.job))
	p := c.reconcile("again", old)
	require.NoError(t, p.err)
	require.Empty(t, p.calls)
	c.submit("again", twoWorkers)
	p = c.reconcile("again", old)
	require.NoError(t, p.err)
	require.Empty(t, p.calls)
}

func TestAStatusConflictStopsTheReconcile(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("conflict", twoWorkers)
	c.settle("conflict")
	before := c.look("conflict").job
	c.edit("conflict", func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = v1beta1.CleanUpAll })
	failed := c.now(job, "worker-0", 1)
	stale := c.look("conflict")
	stale.job = before
	p := c.reconcile("conflict", stale)
	require.NoError(t, p.err)
	require.NotZero(t, p.result.RequeueAfter)
	require.Len(t, p.calls, 1, "the status write that met the lock, and nothing after it: %v", p.calls)
	require.Empty(t, p.events)
	require.Equal(t, failed.UID, c.pods(job)["worker-0"].UID)
	require.Contains(t, c.pods(job)["worker-0"].Finalizers, v1beta1.FinalizerTracking)
}

func TestCreateMeetsAPod(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(*cluster, corev1.Pod)
		blocked bool
	}{
		"of ours, which the cache lacks": {func(*cluster, corev1.Pod) {}, false},
		"of ours that is terminating":    {func(c *cluster, pod corev1.Pod) { c.remove(pod) }, false},
		"of somebody else": {func(c *cluster, pod corev1.Pod) {
			c.unlock(pod)
			ofStranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, Spec: pod.Spec}
			ofStranger.Spec.NodeName = ""
			require.NoError(c.t, c.Create(c.ctx, ofStranger))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newStill(t)
			job := c.submit("meet", twoWorkers)
			c.settle("meet")
			v := c.look("meet")
			pod := c.pods(job)["worker-0"]
			tc.prepare(c, pod)
			v.pods = v.pods[1:]
			there := &corev1.Pod{}
			require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(&pod), there))
			p := c.reconcile("meet", v)
			require.NoError(t, p.err)
			after := &corev1.Pod{}
			require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(&pod), after))
			require.Equal(t, there.ResourceVersion, after.ResourceVersion, "nobody has touched it")
			have := condition(c.job("meet"), v1beta1.ConditionBlocked)
			if !tc.blocked {
				require.Empty(t, have.Type)
				return
			}
			require.Equal(t, v1beta1.ReasonNameConflict, have.Reason)
			require.Contains(t, have.Message, pod.Name)
			require.Contains(t, have.Message, "Delete it, and the job goes on")
			require.Len(t, p.events, 1)
			require.Contains(t, p.events[0], "Warning NameConflict")
			require.NotZero(t, p.result.RequeueAfter)
		})
	}
}

func TestAPodOfTheSameNameWithAnotherUIDIsNotTouched(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("uid", "cleanUpPolicy: All\nsuccessRules: [{worker: [0]}]\n"+twoWorkers)
	c.settle("uid")
	c.now(job, "worker-0", 0)
	old := c.look("uid")
	for _, pod := range c.pods(job) {
		c.unlock(pod)
		other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels,
			Finalizers: []string{v1beta1.FinalizerTracking, "example.com/mine"},
		}, Spec: pod.Spec}
		require.NoError(t, c.Create(c.ctx, other))
	}
	p := c.reconcile("uid", old)
	require.NoError(t, p.err)
	require.NotEmpty(t, p.calls)
	require.Equal(t, v1beta1.JobSucceeded, c.job("uid").Status.Phase)
	for _, pod := range c.pods(job) {
		require.Nil(t, pod.DeletionTimestamp)
		require.Len(t, pod.Finalizers, 2)
	}
}

func TestStopPodLeavesAPodThatHasChanged(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("stop", twoWorkers)
	c.settle("stop")
	old := c.look("stop").pods
	c.now(job, "worker-0", 0)
	c.edit("stop", mode(false, true))
	v := c.look("stop")
	v.pods = old
	p := c.reconcile("stop", v)
	require.NoError(t, p.err)
	require.NotZero(t, p.result.RequeueAfter, "what has changed may be in what the cache does not keep: no event tells of it")
	require.LessOrEqual(t, p.result.RequeueAfter, time.Second)
	finished, stopped := c.pods(job)["worker-0"], c.pods(job)["worker-1"]
	require.Nil(t, finished.DeletionTimestamp)
	require.NotContains(t, finished.Annotations, v1beta1.AnnotationStopped)
	require.NotNil(t, stopped.DeletionTimestamp)
	require.Contains(t, stopped.Annotations, v1beta1.AnnotationStopped)
	v = c.look("stop")
	v.now = time.Now().Add(time.Second) // the success decides nothing: it waits for the view
	c.reconcile("stop", v)
	require.Equal(t, "0", c.job("stop").Status.Ledger[0].Succeeded)
}

func TestReleaseLeavesOtherFinalizersAlone(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("release", twoWorkers)
	c.settle("release")
	pod := c.pods(job)["worker-0"]
	pod.Finalizers = append([]string{"example.com/first"}, append(pod.Finalizers, "example.com/last")...)
	require.NoError(t, c.Update(c.ctx, &pod))
	c.now(job, "worker-0", 0)
	v := c.look("release")
	v.now = time.Now().Add(time.Second) // the success decides nothing: it waits for the view
	c.reconcile("release", v)
	require.Equal(t, []string{"example.com/first", "example.com/last"}, c.pods(job)["worker-0"].Finalizers)
}

// Users wait for the ends of jobs, and for pods that they delete, but not for finalizers.
func TestReleasesComeAfterTheEndUnlessSomebodyWaits(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	for name, deleted := range map[string]bool{"last": false, "waited-for": true} {
		job := c.submit(name, twoWorkers)
		c.settle(name)
		c.now(job, "worker-0", 0)
		c.now(job, "worker-1", 0)
		if pod := c.pods(job)["worker-0"]; deleted {
			require.NoError(t, c.Delete(c.ctx, &pod))
		}
		require.NoError(t, c.reconcile(name, c.look(name)).err)
		require.Equal(t, v1beta1.JobSucceeded, c.job(name).Status.Phase)
		held := 0
		for _, pod := range c.pods(job) {
			held += len(pod.Finalizers)
		}
		if deleted {
			require.Zero(t, held)
			continue
		}
		require.Equal(t, 2, held)
		require.NoError(t, c.reconcile(name, c.look(name)).err)
		require.Empty(t, c.pods(job)["worker-0"].Finalizers)
		require.Empty(t, c.pods(job)["worker-1"].Finalizers)
	}
}

func TestTheSweepReadsLive(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("sweep", twoWorkers)
	c.settle("sweep")
	v := c.look("sweep")
	first := v.job
	v.job = nil // the cache does not have the job yet
	p := c.reconcile("sweep", v)
	require.NoError(t, p.err)
	require.Empty(t, p.calls, "the job is alive")

	require.NoError(t, c.Delete(c.ctx, c.job("sweep")))
	second := c.submit("sweep", twoWorkers)
	c.reconcile("sweep", c.look("sweep")) // releases the pods of the first
	for _, pod := range c.pods(job) {
		require.Empty(t, pod.Finalizers)
	}
	c.reconcile("sweep", c.look("sweep"))
	require.Len(t, c.pods(second), 2)
	v = c.look("sweep")
	v.job = first // the cache still has the first job, and already the pods of the second
	p = c.reconcile("sweep", v)
	require.NoError(t, p.err)
	require.Empty(t, p.calls)
	for _, pod := range c.pods(second) {
		require.NotEmpty(t, pod.Finalizers)
	}
}

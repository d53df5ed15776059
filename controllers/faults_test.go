package controllers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

func TestNothingIsDestroyedBeforeTheStatusIsWritten(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	job := c.submit("first", twoWorkers)
	c.awaitPhase("first", v1beta1.JobRunning)
	n.breakWhere(func(k call) bool { return k.verb == "PUT" && strings.HasSuffix(k.path, "/status") })
	before := len(n.seen("PUT", "/status"))
	failed := c.pods(job)["worker-0"]
	c.finish(job, "worker-0", 1)
	c.until("several status writes are refused", func() bool { return len(n.seen("PUT", "/status")) > before+3 })
	require.Empty(t, n.seen("PATCH", failed.Name))
	require.Empty(t, n.seen("DELETE", failed.Name))
	require.NotContains(t, strings.Join(c.told(job), "\n"), "Restarted", "an event speaks of what is written")
	n.breakWhere(nil)
	c.finishAttempt(job, "worker-0", "1", 0)
	c.finish(job, "worker-1", 0)
	job = c.awaitPhase("first", v1beta1.JobSucceeded)
	require.Equal(t, int32(1), job.Status.BackoffCount)
}

func TestAFailedDeleteIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	job := c.submit("clean", "cleanUpPolicy: All\n"+twoWorkers)
	c.awaitPhase("clean", v1beta1.JobRunning)
	var uids []string
	for _, pod := range c.pods(job) {
		uids = append(uids, string(pod.UID))
	}
	n.breakWhere(func(k call) bool { return k.verb == "DELETE" })
	c.finish(job, "worker-0", 0)
	c.finish(job, "worker-1", 0)
	c.awaitPhase("clean", v1beta1.JobSucceeded)
	c.until("several deletes fail", func() bool { return len(n.seen("DELETE", "/pods/")) > 6 })
	require.Len(t, c.pods(job), 2)
	n.breakWhere(nil)
	c.until("clean", func() bool { return len(c.pods(job)) == 0 })
	for _, k := range n.seen("DELETE", "/pods/") {
		require.True(t, strings.Contains(k.body, uids[0]) || strings.Contains(k.body, uids[1]), "a delete names the pod's UID")
	}
}

func TestAFailedCreateIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	n.breakWhere(func(k call) bool { return k.verb == "POST" && strings.HasSuffix(k.path, "/pods") })
	c.operate(operation{network: n})
	c.submit("create", "replicaSpecs: [{type: worker, replicas: 60, template: POD}]")
	c.until("several reconciles", func() bool { return len(n.seen("POST", "/pods")) > 2 })
	require.Less(t, len(n.seen("POST", "/pods")), few, "few creates in a reconcile while the first fail")
	n.breakWhere(nil)
	c.awaitPhase("create", v1beta1.JobRunning)
}

func TestARefusedReleaseIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{code: http.StatusConflict}
	c.operate(operation{network: n})
	isRelease := func(k call) bool { return k.verb == "PATCH" && strings.Contains(k.body, "finalizers") }
	deleted := c.submit("deleted", "cleanUpPolicy: None\n"+twoWorkers)
	done := c.submit("done", "cleanUpPolicy: None\n"+twoWorkers)
	c.awaitPhase("deleted", v1beta1.JobRunning)
	c.awaitPhase("done", v1beta1.JobRunning)
	n.breakWhere(isRelease)
	require.NoError(t, c.Delete(c.ctx, deleted))
	c.finish(done, "worker-0", 0)
	c.finish(done, "worker-1", 0)
	c.awaitPhase("done", v1beta1.JobSucceeded)
	c.until("the releases of both jobs' pods are refused, and no event comes any more", func() bool {
		return len(n.seen("PATCH", "/deleted-")) > 4 && len(n.seen("PATCH", "/done-")) > 4
	})
	n.breakWhere(nil)
	c.until("nothing is held", func() bool { return free(c, deleted) && free(c, done) })
}

func TestARestartOfTheOperatorLosesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const replicas, failures = 5, 2
	c.be(func(k *kubelet) {
		k.script = func(pod *corev1.Pod) int32 {
			if pod.Labels[v1beta1.LabelAttempt] == fmt.Sprint(failures) {
				return 0
			}
			return 1
		}
	})
	c.submit("stubborn", fmt.Sprintf("service: {}\nreplicaSpecs: [{type: worker, replicas: %d, template: POD, restartPolicy: {limit: %d}}]", replicas, failures))
	finished := func() bool { return c.job("stubborn").Status.CompletionTime != nil }
	for i := 0; !finished(); i++ {
		n := &network{}
		var writes atomic.Int32
		most := int32(1 + i%5)
		n.breakWhere(func(call) bool { return writes.Add(1) > most }) // a crash: after so many calls none gets through
		stop := c.operate(operation{network: n})
		c.until("a crash, or the end", func() bool { return writes.Load() > most || finished() })
		stop()
	}
	c.operate(operation{})
	job := c.awaitPhase("stubborn", v1beta1.JobSucceeded)
	require.Equal(t, int32(replicas*failures), job.Status.BackoffCount)
	require.Zero(t, job.Status.DisruptionCount)
	c.be(func(k *kubelet) {
		require.Len(t, k.ran, replicas)
		for name, attempts := range k.ran {
			require.Equal(t, []string{"0", "1", "2"}, attempts, name)
		}
	})
	c.until("no pod is held", func() bool {
		for _, pod := range c.pods(job) {
			if len(pod.Finalizers) > 0 {
				return false
			}
		}
		return true
	})
}

// The garbage collector may take the pods' owner away before the operator has looked.
func TestPodsThatAreOrphanedFirstAreLetGo(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	job := c.submit("orphaning", twoWorkers)
	c.awaitPhase("orphaning", v1beta1.JobRunning)
	stop()
	require.NoError(t, c.Delete(c.ctx, job, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	for name := range c.pods(job) {
		c.until("nobody owns "+name, func() bool {
			pod := c.pods(job)[name]
			pod.OwnerReferences = nil
			return c.Update(c.ctx, &pod) == nil
		})
	}
	c.until("the job is gone", func() bool {
		if c.gone(job) {
			return true
		}
		have := c.job("orphaning")
		have.Finalizers = nil
		return c.Update(c.ctx, have) == nil && c.gone(job)
	})
	c.operate(operation{})
	c.until("the pods are let go", func() bool { return free(c, job) })
	require.Len(t, c.pods(job), 2, "they run on")
}

func TestDeletingAJobLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			c := c.in(t)
			name := strings.ToLower(string(policy))
			c.submit(name, "service: {}\n"+twoWorkers)
			c.awaitPhase(name, v1beta1.JobRunning)
			job := c.job(name)
			job.Finalizers = append(job.Finalizers, "example.com/slow")
			c.until("a finalizer", func() bool {
				job = c.job(name)
				job.Finalizers = []string{"example.com/slow"}
				return c.Update(c.ctx, job) == nil
			})
			require.NoError(t, c.Delete(c.ctx, job))
			c.until("the pods are let go while the job is being deleted", func() bool { return free(c, job) })
			pod := c.pods(job)["worker-0"]
			c.remove(pod)
			c.until("the pod is gone", func() bool { _, there := c.pods(job)["worker-0"]; return !there })
			c.finishes(name + "-healthy")
			require.NotContains(t, c.names(job), "worker-0", "a job that is being deleted makes no pod")
			c.until("the job is gone", func() bool {
				if c.gone(job) {
					return true
				}
				have := c.job(name)
				have.Finalizers = nil
				return c.Update(c.ctx, have) == nil && c.gone(job)
			})
			c.until("all is gone", func() bool { return len(c.pods(job)) == 0 })
		})
	}
}

func free(c *cluster, job *v1beta1.GenericJob) bool {
	for _, pod := range c.pods(job) {
		if len(pod.Finalizers) > 0 {
			return false
		}
	}
	return true
}

func TestAJobDeletedWhileTheOperatorWasAway(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	old := c.submit("away", twoWorkers)
	lonely := c.submit("lonely", twoWorkers)
	c.awaitPhase("away", v1beta1.JobRunning)
	c.awaitPhase("lonely", v1beta1.JobRunning)
	stop()
	require.NoError(t, c.Delete(c.ctx, old))
	require.NoError(t, c.Delete(c.ctx, lonely))
	c.until("the garbage collector has come", func() bool { return c.pods(old)["worker-0"].DeletionTimestamp != nil })
	job := c.submit("away", twoWorkers) // the same name again
	c.operate(operation{})
	c.until("the pods of both are gone", func() bool { return len(c.pods(old)) == 0 && len(c.pods(lonely)) == 0 })
	c.awaitPhase("away", v1beta1.JobRunning)
	c.finish(job, "worker-0", 0)
	c.finish(job, "worker-1", 0)
	job = c.awaitPhase("away", v1beta1.JobSucceeded)
	require.Zero(t, job.Status.DisruptionCount)
}

func TestAQuietJobCostsNoWrites(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	job := c.submit("quiet", "service: {ports: [{port: 80}]}\nreplicaSpecs: [{type: worker, replicas: 10, template: POD}]")
	c.awaitPhase("quiet", v1beta1.JobRunning)
	done := c.submit("done", "ttlSecondsAfterFinished: 3600\nreplicaSpecs: [{type: worker, template: POD}]")
	c.finish(done, "worker-0", 0)
	c.awaitPhase("done", v1beta1.JobSucceeded)
	c.until("it is free", func() bool { return free(c, done) })
	c.await("quiet", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "10/10" })
	// Scaled below a rank that its rules name: it is told once.
	c.submit("kept", "failureRules: [{worker: [1]}]\n"+twoWorkers)
	c.awaitPhase("kept", v1beta1.JobRunning)
	c.edit("kept", func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Replicas = ptr.To[int32](1) })
	c.awaitCondition("kept", v1beta1.ConditionBlocked, v1beta1.ReasonScaleRefused)
	c.finishes("settled")

	writes := func() []call {
		return slices.Concat(n.seen("", "/quiet"), n.seen("", "/done"), n.seen("", "/kept"))
	}
	before, version := writes(), c.job("quiet").ResourceVersion
	touch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"touched":"yes"}}}`))
	for _, j := range []*v1beta1.GenericJob{job, done} {
		for _, pod := range c.pods(j) {
			require.NoError(t, c.Patch(c.ctx, &pod, touch))
		}
	}
	c.finishes("marker-1") // its reconciles come after those that the touches caused
	require.Equal(t, version, c.job("quiet").ResourceVersion)
	require.NoError(t, c.Patch(c.ctx, c.job("quiet"), touch))
	require.NoError(t, c.Patch(c.ctx, c.job("done"), touch))
	require.NoError(t, c.Patch(c.ctx, c.job("kept"), touch))
	c.finishes("marker-2")
	require.Equal(t, before, writes())
	require.NotEmpty(t, before, "the network sees the operator's writes")
}

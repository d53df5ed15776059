package controllers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

func solo(restartPolicy string) string {
	return "replicaSpecs: [{type: main, template: POD, restartPolicy: " + restartPolicy + "}]"
}

func TestRestartPolicies(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	tests := map[string]struct {
		policy   string
		codes    []int32 // of the attempts, in order
		want     v1beta1.JobPhase
		restarts int32
	}{
		"default is OnFailure without restarts":  {`{}`, []int32{1}, v1beta1.JobFailed, 0},
		"OnFailure restarts limit times":         {`{policy: OnFailure, limit: 2}`, []int32{1, 2, 3}, v1beta1.JobFailed, 2},
		"OnFailure may succeed in the end":       {`{policy: OnFailure, limit: 2}`, []int32{1, 0}, v1beta1.JobSucceeded, 1},
		"Never does not restart within a limit":  {`{policy: Never, limit: 5}`, []int32{1}, v1beta1.JobFailed, 0},
		"Always restarts after success too":      {`{policy: Always, limit: 1}`, []int32{0, 0}, v1beta1.JobSucceeded, 1},
		"Always fails when its limit is spent":   {`{policy: Always, limit: 1}`, []int32{0, 9}, v1beta1.JobFailed, 1},
		"ExitCode restarts on its default codes": {`{policy: ExitCode, limit: 9}`, []int32{138, 1}, v1beta1.JobFailed, 1},
		"ExitCode restarts on the codes listed":  {`{policy: ExitCode, limit: 9, exitCodes: [3]}`, []int32{3, 138}, v1beta1.JobFailed, 1},
	}
	for name, tc := range tests {
		job := strings.ToLower(strings.ReplaceAll(name, " ", "-"))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			c.submit(job, solo(tc.policy))
			for attempt, code := range tc.codes {
				c.finishAttempt(c.job(job), "main-0", string(rune('0'+attempt)), code)
			}
			have := c.awaitPhase(job, tc.want)
			require.Equal(t, tc.restarts, have.Status.Tasks[0].RestartCount)
			require.Equal(t, tc.restarts, have.Status.BackoffCount)
			if tc.restarts > 0 && tc.codes[0] != 0 {
				c.awaitEvent(have, "Warning Restarted", "it is replaced (restart 1 of ")
			}
		})
	}
}

func TestBackoffLimitIsSharedAndExact(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.submit("shared", "backoffLimit: 2\nreplicaSpecs: [{type: worker, replicas: 2, template: POD}]")
	c.finishAttempt(job, "worker-0", "0", 1)
	c.finishAttempt(job, "worker-1", "0", 1)
	c.finishAttempt(job, "worker-1", "1", 1)
	job, told := c.awaitCondition("shared", v1beta1.ConditionFailed, v1beta1.ReasonFailed)
	require.Equal(t, int32(2), job.Status.BackoffCount)
	require.Contains(t, told.Message, "no restarts are left")
}

func TestRestartScopeJobReplacesAllReplicas(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("ring", "restartScope: Job\nbackoffLimit: 1\nreplicaSpecs: [{type: worker, replicas: 3, template: POD}]")
	job := c.awaitPhase("ring", v1beta1.JobRunning)
	first := c.pods(job)
	c.finish(job, "worker-2", 0)
	c.await("ring", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })
	c.finish(job, "worker-1", 1)
	for _, replica := range []string{"worker-0", "worker-1", "worker-2"} {
		c.finishAttempt(job, replica, "1", 0)
	}
	job = c.awaitPhase("ring", v1beta1.JobSucceeded)
	require.Equal(t, int32(1), job.Status.JobAttempt)
	require.Equal(t, int32(1), job.Status.BackoffCount)
	for replica, pod := range c.pods(job) {
		require.NotEqual(t, first[replica].UID, pod.UID)
		require.Equal(t, first[replica].Name, pod.Name)
	}
	c.awaitEvent(job, "Warning Restarted", "all replicas are replaced, attempt 1")
}

func TestADeletedPodIsReplacedWithoutSpendingALimit(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("drained", "replicaSpecs: [{type: worker, replicas: 2, template: POD}]")
	job := c.awaitPhase("drained", v1beta1.JobRunning)
	old := c.pods(job)["worker-0"]
	c.remove(old)
	c.finishAttempt(job, "worker-0", "1", 0)
	c.finish(job, "worker-1", 0)
	job = c.awaitPhase("drained", v1beta1.JobSucceeded)
	require.Equal(t, int32(1), job.Status.DisruptionCount)
	require.Zero(t, job.Status.BackoffCount)
	require.NotEqual(t, old.UID, c.pods(job)["worker-0"].UID)
	c.awaitEvent(job, "Normal Disrupted", old.Name)
}

func TestASuccessOutlivesItsPod(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	c.submit("once", "replicaSpecs: [{type: worker, replicas: 2, template: POD}]")
	job := c.awaitPhase("once", v1beta1.JobRunning)
	stop()
	// Nobody watches while the pod succeeds and is deleted: only its finalizer keeps the outcome.
	done := c.pods(job)["worker-0"]
	c.finish(job, "worker-0", 0)
	c.remove(done)
	c.until("the pod is kept", func() bool { return c.pods(job)["worker-0"].DeletionTimestamp != nil })
	c.operate(operation{})
	job = c.await("once", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })
	c.until("the pod is let go", func() bool { _, there := c.pods(job)["worker-0"]; return !there })
	c.finish(job, "worker-1", 0)
	job = c.awaitPhase("once", v1beta1.JobSucceeded)
	require.NotContains(t, c.names(job), "worker-0", "it was not run again")
	require.Equal(t, v1beta1.TaskLedger{Type: "worker", Succeeded: "0-1"}, job.Status.Ledger[0])
}

func TestNeverIsNotRestartedAfterADisruption(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("atmostonce", solo(`{policy: Never}`))
	job := c.awaitPhase("atmostonce", v1beta1.JobRunning)
	c.remove(c.pods(job)["main-0"])
	_, told := c.awaitCondition("atmostonce", v1beta1.ConditionFailed, v1beta1.ReasonFailed)
	require.Contains(t, told.Message, "restart policy is Never")
}

func TestAPodOnADeadNodeIsReplacedByForce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{settings: kernel.Settings{ForceReplaceAfter: time.Second}})
	c.submit("dead", `replicaSpecs:
- {type: main, template: {spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: busybox}]}}}`)
	job := c.awaitPhase("dead", v1beta1.JobRunning)
	c.be(func(k *kubelet) { k.stuck = true })
	old := c.pods(job)["main-0"]
	c.remove(old)
	c.until("another pod", func() bool {
		pod, there := c.pods(job)["main-0"]
		return there && pod.UID != old.UID
	})
	require.Equal(t, int32(1), c.job("dead").Status.DisruptionCount)
}

func TestAPodThatHangsOnANodeThatAnswersIsNotDoubled(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	healthy := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-that-answers"}}
	require.NoError(t, c.Create(c.ctx, healthy))
	healthy.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	require.NoError(t, c.Status().Update(c.ctx, healthy))
	c.be(func(k *kubelet) { k.Node = healthy.Name })
	c.operate(operation{settings: kernel.Settings{ForceReplaceAfter: time.Second}})
	c.submit("hangs", `replicaSpecs:
- {type: main, template: {spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: busybox}]}}}`)
	job := c.awaitPhase("hangs", v1beta1.JobRunning)
	c.be(func(k *kubelet) { k.stuck = true })
	old := c.pods(job)["main-0"]
	c.remove(old)
	c.await("hangs", func(j *v1beta1.GenericJob) bool {
		for _, condition := range j.Status.Conditions {
			if strings.Contains(condition.Message, "node node-that-answers answers, so it may still run") {
				return true
			}
		}
		return false
	})
	require.Equal(t, old.UID, c.pods(job)["main-0"].UID)
	require.Zero(t, c.job("hangs").Status.DisruptionCount)

	healthy.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
	require.NoError(t, c.Update(c.ctx, healthy))
	seconds := int64(3600)
	c.edit("hangs", func(s *v1beta1.GenericJobSpec) { s.ActiveDeadlineSeconds = &seconds }) // leads to a reconcile
	c.until("another pod", func() bool {
		pod, there := c.pods(job)["main-0"]
		return there && pod.UID != old.UID
	})
	require.Equal(t, int32(1), c.job("hangs").Status.DisruptionCount)
}

func TestEvictionIsNoFailure(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("evicted", solo(`{policy: OnFailure}`))
	job := c.awaitPhase("evicted", v1beta1.JobRunning)
	c.until("evicted", func() bool {
		pod := c.pods(job)["main-0"]
		pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: metav1.Now(),
		})
		return c.Status().Update(c.ctx, &pod) == nil
	})
	c.finishAttempt(job, "main-0", "1", 0)
	job = c.awaitPhase("evicted", v1beta1.JobSucceeded)
	require.Equal(t, int32(1), job.Status.DisruptionCount)
	require.Zero(t, job.Status.BackoffCount)
}

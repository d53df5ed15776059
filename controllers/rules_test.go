package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const chiefAndWorkers = `
replicaSpecs:
- {type: chief, template: POD}
- {type: worker, replicas: 2, template: POD}
`

func TestWithoutRulesAJobSucceedsOnceAllReplicasHave(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("plain", chiefAndWorkers)
	job := c.awaitPhase("plain", v1beta1.JobRunning)
	require.ElementsMatch(t, []string{"chief-0", "worker-0", "worker-1"}, c.names(job))
	require.Equal(t, "3/3", job.Status.Running)
	require.Equal(t, v1beta1.Aggregate{Running: 3}, job.Status.Aggregate)
	require.NotNil(t, job.Status.StartTime)
	c.awaitCondition("plain", v1beta1.ConditionInitialized, v1beta1.ReasonNone)
	c.awaitCondition("plain", v1beta1.ConditionRunning, v1beta1.ReasonNone)
	c.awaitEvent(job, "Normal Running")

	c.finish(job, "chief-0", 0)
	c.finish(job, "worker-1", 0)
	job = c.await("plain", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 2 })
	require.Equal(t, v1beta1.JobRunning, job.Status.Phase)
	c.finish(job, "worker-0", 0)
	job = c.awaitPhase("plain", v1beta1.JobSucceeded)
	c.awaitEvent(job, "Normal Succeeded")
	require.NotNil(t, job.Status.CompletionTime)
	require.Equal(t, metav1.ConditionTrue, condition(job, v1beta1.ConditionCompleted).Status)
	require.Equal(t, metav1.ConditionFalse, condition(job, v1beta1.ConditionFailed).Status)
	require.Equal(t, metav1.ConditionFalse, condition(job, v1beta1.ConditionRunning).Status)
	require.Equal(t, v1beta1.Aggregate{Succeeded: 3}, job.Status.Aggregate)
	task := job.Status.Tasks[1]
	require.Equal(t, "worker", task.Type)
	pods := c.pods(job)
	for i, name := range []string{"worker-0", "worker-1"} {
		require.Equal(t, v1beta1.ReplicaStatus{
			Name: pods[name].Name, UID: pods[name].UID, Phase: v1beta1.ReplicaSucceeded,
			Containers: []v1beta1.ContainerStatus{{Name: "main", State: "Terminated", ExitCode: ptr.To[int32](0)}},
		}, task.Replicas[i])
	}
	c.until("no pod is held", func() bool {
		for _, pod := range c.pods(job) {
			if len(pod.Finalizers) > 0 {
				return false
			}
		}
		return len(c.pods(job)) == 3 // cleanUpPolicy None keeps them
	})
}

func TestSuccessRules(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	t.Run("one rule of several is enough, and ranks may be strings", func(t *testing.T) {
		c := c.in(t)
		job := c.submit("either", `successRules: [{chief: [0], worker: ["0"]}, {worker: ["1"]}]`+chiefAndWorkers)
		c.awaitPhase("either", v1beta1.JobRunning)
		c.finish(job, "worker-1", 0)
		job = c.awaitPhase("either", v1beta1.JobSucceeded)
		require.Equal(t, v1beta1.Aggregate{Succeeded: 1, Running: 2}, job.Status.Aggregate)
	})
	t.Run("a rule needs all its ranks, an empty list means every rank", func(t *testing.T) {
		c := c.in(t)
		job := c.submit("every", `successRules: [{worker: []}]`+chiefAndWorkers)
		c.finish(job, "worker-1", 0)
		job = c.await("every", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })
		require.Nil(t, job.Status.CompletionTime)
		c.finish(job, "worker-0", 0)
		c.awaitPhase("every", v1beta1.JobSucceeded)
	})
	t.Run("when no rule can hold any more the job fails", func(t *testing.T) {
		c := c.in(t)
		job := c.submit("unreachable", `successRules: [{chief: [0], worker: [0]}, {worker: [0, 1]}]`+chiefAndWorkers)
		c.finish(job, "chief-0", 3)
		job = c.await("unreachable", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Failed == 1 })
		require.Nil(t, job.Status.CompletionTime, "the second rule can still hold")
		_, told := c.awaitCondition("unreachable", v1beta1.ConditionReplicaFailure, v1beta1.ReasonErrorInPod)
		require.Contains(t, told.Message, "exited with error code 3")
		c.finish(job, "worker-1", 4)
		job, told = c.awaitCondition("unreachable", v1beta1.ConditionFailed, v1beta1.ReasonSuccessUnreachable)
		require.Contains(t, told.Message, c.pods(job)["worker-1"].Name)
		require.Equal(t, v1beta1.JobFailed, job.Status.Phase)
	})
}

func TestFailurePolicy(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.submit("policy", `backoffLimit: 1
failurePolicy: {rules: [{match: {exitCodes: [17], types: [worker]}, action: Fail}, {name: again, match: {exitCodes: [5]}, action: Restart, counts: false}]}`+chiefAndWorkers)
	c.awaitPhase("policy", v1beta1.JobRunning)
	c.finish(job, "worker-0", 5)
	job = c.await("policy", func(j *v1beta1.GenericJob) bool {
		return j.Status.ExceptedCount == 1 && j.Status.Phase == v1beta1.JobRunning
	})
	require.Zero(t, job.Status.BackoffCount)
	c.finish(job, "worker-1", 17)
	job, told := c.awaitCondition("policy", v1beta1.ConditionFailed, v1beta1.ReasonFailurePolicy)
	require.Contains(t, told.Message, "exited with error code 17; rule 1 of failurePolicy fails the job. No restart is made")
	require.Equal(t, v1beta1.CauseUnknown, job.Status.FirstFailure.Cause.Kind)
}

func TestFailureRules(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.submit("rules", "successRules: [{chief: [0]}]\n"+`failureRules: [{chief: [0]}, {worker: ["0", 1]}]`+chiefAndWorkers)
	c.awaitPhase("rules", v1beta1.JobRunning)
	c.finish(job, "worker-0", 7)
	job = c.await("rules", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Failed == 1 })
	require.NotEqual(t, v1beta1.JobSucceeded, job.Status.Phase)
	c.finish(job, "worker-1", 8)
	job, told := c.awaitCondition("rules", v1beta1.ConditionFailed, v1beta1.ReasonFailed)
	require.Contains(t, told.Message, `The job is failed with rule: {"worker":["0",1]}`)
	require.Contains(t, told.Message, "exited with error code 8")
	require.Equal(t, metav1.ConditionTrue, condition(job, v1beta1.ConditionCompleted).Status, "Completed means over")
	require.Equal(t, v1beta1.Aggregate{Failed: 2, Running: 1}, job.Status.Aggregate)
	c.awaitEvent(job, "Warning Failed", `{"worker":["0",1]}`)
}

func TestCleanUpPolicy(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	for policy, left := range map[string][]string{
		"None": {"chief-0", "worker-0", "worker-1"}, "Unfinished": {"chief-0"}, "All": nil, "unfinished": {"chief-0"}, "all": nil,
	} {
		name := "clean-" + string([]byte(policy)[1:])
		if policy[0] >= 'a' {
			name += "-lower"
		}
		t.Run(policy, func(t *testing.T) {
			c := c.in(t)
			job := c.submit(name, "cleanUpPolicy: "+policy+"\nsuccessRules: [{chief: [0]}]"+chiefAndWorkers)
			c.awaitPhase(name, v1beta1.JobRunning)
			c.finish(job, "chief-0", 0)
			c.awaitPhase(name, v1beta1.JobSucceeded)
			c.until("clean", func() bool {
				for _, pod := range c.pods(job) {
					if len(pod.Finalizers) > 0 || pod.DeletionTimestamp != nil {
						return false
					}
				}
				return len(c.pods(job)) == len(left)
			})
			require.ElementsMatch(t, left, c.names(job))
		})
	}
}

func TestActiveDeadlineSeconds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("late", `activeDeadlineSeconds: 2`+chiefAndWorkers)
	job, told := c.awaitCondition("late", v1beta1.ConditionFailed, v1beta1.ReasonDeadlineExceeded)
	require.Contains(t, told.Message, "spec.activeDeadlineSeconds")
	require.Equal(t, v1beta1.JobFailed, job.Status.Phase)
	require.GreaterOrEqual(t, job.Status.CompletionTime.Sub(job.Status.StartTime.Time), 2*time.Second)
}

func TestTTLDeletesTheJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.submit("brief", "ttlSecondsAfterFinished: 1\nservice: {}\nreplicaSpecs: [{type: main, template: POD}]")
	c.finish(job, "main-0", 0)
	c.until("the job is gone", func() bool { return c.gone(job) })
	c.until("its pods are gone", func() bool { return len(c.pods(job)) == 0 })
	c.until("its Service is gone", func() bool {
		return c.gone(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "brief", Namespace: c.ns}})
	})
}

package controllers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// young is a view of a job as it is now, by a clock at which the job has just been created.
func (c *cluster) young(name string) view {
	c.t.Helper()
	v := c.look(name)
	v.now = v.job.CreationTimestamp.Time
	return v
}

// unseen is the status that the CRD gives a job which no operator has seen.
var unseen = v1beta1.GenericJobStatus{ObservedGeneration: v1beta1.Unobserved}

func TestTheFirstReconcileCreatesAndTheNextViewIsWritten(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("first", "service: {}\n"+twoWorkers)
	p := c.reconcile("first", c.young("first"))
	require.NoError(t, p.err)
	require.Len(t, p.calls, 3, "a Service and two pods: %v", p.calls)
	require.Empty(t, p.events)
	require.Equal(t, 2*time.Second, p.result.RequeueAfter)
	require.Equal(t, unseen, c.job("first").Status)
	require.Len(t, c.pods(job), 2)

	p = c.reconcile("first", c.young("first"))
	require.NoError(t, p.err)
	require.Empty(t, p.calls, "all is there, and nothing to tell yet")
	v := c.young("first")
	v.now = v.now.Add(2 * time.Second)
	p = c.reconcile("first", v)
	require.Len(t, p.calls, 1, "%v", p.calls)
	require.Contains(t, strings.Join(p.events, ""), "Normal Started")
	status := c.job("first").Status
	require.Equal(t, v1beta1.JobPending, status.Phase)
	require.EqualValues(t, 2, status.Aggregate.Creating)
	for _, pod := range c.pods(job) {
		require.False(t, status.StartTime.After(pod.CreationTimestamp.Time), "the job began with its pods")
	}
}

// A reconcile that postpones the first status meets no lock: the fence stands in for it.
func TestTheFirstReconcileIsFenced(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("fenced", twoWorkers)
	old := c.young("fenced")
	c.edit("fenced", mode(false, true))
	p := c.reconcile("fenced", old)
	require.NoError(t, p.err)
	require.Empty(t, p.calls)
	require.NotZero(t, p.result.RequeueAfter)

	// A reconcile that saw it pause wrote that down, and stops the pods that an earlier one may have made.
	c.reconcile("fenced", c.young("fenced"))
	require.Equal(t, v1beta1.JobPaused, c.job("fenced").Status.Phase)
	require.EqualValues(t, 1, c.job("fenced").Status.ModeGeneration)
	p = c.reconcile("fenced", old)
	require.NoError(t, p.err)
	require.Empty(t, p.calls)
	require.Empty(t, c.pods(job))
}

func TestARefusalOfTheFirstReconcileIsToldAtOnce(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	for _, name := range []string{"refused-worker-0", "refused-worker-1"} {
		require.NoError(t, c.Create(c.ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "busybox"}}},
		}))
	}
	job := c.submit("refused", "podNames: Plain\n"+twoWorkers)
	p := c.reconcile("refused", c.young("refused"))
	require.NoError(t, p.err)
	require.Len(t, p.events, 2)
	require.Contains(t, p.events[0], "Normal Started")
	require.Contains(t, p.events[1], "Warning NameConflict")
	status := c.job("refused").Status
	require.Equal(t, v1beta1.JobPending, status.Phase)
	require.NotNil(t, status.StartTime)
	require.Equal(t, v1beta1.ReasonNameConflict, condition(c.job("refused"), v1beta1.ConditionBlocked).Reason)
	require.Equal(t, metav1.ConditionTrue, condition(c.job("refused"), v1beta1.ConditionInitialized).Status)
	require.Empty(t, c.pods(job))
}

// A cache may lack the pods that an operator before has made, and that carry the name of the Service which it found gone.
func TestAServiceGetsNoOtherNameUnderPodsThatTheCacheLacks(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("web", "service: {}\n"+twoWorkers)
	young := c.young("web")
	c.reconcile("web", young)
	require.Len(t, c.pods(job), 2)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.ns}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	require.NoError(t, c.Delete(c.ctx, service))
	require.NoError(t, c.Create(c.ctx, service))
	p := c.reconcile("web", young)
	require.NoError(t, p.err)
	require.Empty(t, c.job("web").Status.ServiceName)
	require.Equal(t, v1beta1.ReasonNameConflict, condition(c.job("web"), v1beta1.ConditionBlocked).Reason)
}

func TestWhatTheApiserverCallsInvalidInTheFirstReconcileFailsTheJob(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	c.submit("invalid", "replicaSpecs: [{type: worker, template: {spec: {containers: [{name: Not_A_Name, image: busybox}]}}}]")
	p := c.reconcile("invalid", c.young("invalid"))
	require.NoError(t, p.err)
	require.Equal(t, v1beta1.JobPending, c.job("invalid").Status.Phase)
	c.reconcile("invalid", c.young("invalid"))
	job := c.job("invalid")
	require.Equal(t, v1beta1.JobFailed, job.Status.Phase)
	require.Equal(t, v1beta1.ReasonInvalidSpec, condition(job, v1beta1.ConditionFailed).Reason)
}

// The CRD lets users edit all of a job that has no phase. Then the pods of its first spec are replaced.
func TestAnEditBeforeTheFirstStatusReplacesPods(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("edited", twoWorkers)
	c.reconcile("edited", c.young("edited"))
	old := c.pods(job)
	require.Len(t, old, 2)
	c.edit("edited", func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Template.Spec.Containers[0].Image = "another" })
	p := c.reconcile("edited", c.young("edited"))
	require.NoError(t, p.err)
	require.EqualValues(t, 1, c.job("edited").Status.ModeGeneration)
	c.until("all pods are of the new spec", func() bool {
		c.reconcile("edited", c.look("edited"))
		pods := c.pods(job)
		for _, pod := range pods {
			if pod.Spec.Containers[0].Image != "another" {
				return false
			}
		}
		return len(pods) == 2
	})
	status := c.job("edited").Status
	require.Zero(t, status.BackoffCount+status.DisruptionCount)
}

// A GenericJob has no status while its first one is postponed: a training job says Pending meanwhile.
func TestATrainingJobIsPendingUntilTheFirstStatus(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	training := c.train("pending", chiefAndTwo)
	for range 3 {
		c.reconcileOver(training)
		c.reconcile("pending", c.young("pending"))
		require.Equal(t, unseen, c.job("pending").Status)
		training = c.training("pending")
		require.Equal(t, v1beta1.JobPending, training.Status.Phase)
	}
	c.settle("pending")
	c.reconcileOver(training)
	require.Len(t, c.training("pending").Status.Tasks, 2)
}

package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/build"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/status"
)

func t9k(queue string, priority int32) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{Queue: queue, Priority: priority}}
	})
}

// applied is the object that a decision applies.
func applied(t *testing.T, d kernel.Decision) *unstructured.Unstructured {
	t.Helper()
	for _, a := range d.Actions {
		if a.Verb == kernel.ApplyObject {
			return a.Object
		}
	}
	require.Fail(t, "nothing is applied", lines(d.Actions))
	return nil
}

func TestT9kGang(t *testing.T) {
	job := kt.Job(kt.Type("ps", 1), kt.Type("worker", 3), t9k("team", 7), kt.Begun)
	group := applied(t, plan(t, job, kt.Start))
	require.Equal(t, "scheduler.tensorstack.dev/v1beta1", group.GetAPIVersion())
	require.Equal(t, "PodGroup", group.GetKind())
	require.Equal(t, "job", group.GetName())
	require.Equal(t, map[string]any{"minMember": int64(4), "priority": int64(7), "queue": "team"}, group.Object["spec"])
	require.True(t, metav1.IsControlledBy(group, job))
	require.Nil(t, build.GangVersions(kt.Job(kt.Type("worker", 1))))
	require.NotContains(t, applied(t, plan(t, kt.Job(kt.Type("worker", 1), t9k("", 0)), kt.Start)).Object["spec"], "queue")

	pod := kt.Pod(job, "worker", 0)
	require.Equal(t, "t9k-scheduler", pod.Spec.SchedulerName)
	require.Equal(t, "job", pod.Labels["scheduler.tensorstack.dev/group-name"])
	require.Equal(t, "team", pod.Labels["scheduler.tensorstack.dev/queue"])
	require.Equal(t, "worker", pod.Labels["scheduler.tensorstack.dev/role"])
	require.Empty(t, kt.Pod(kt.Job(kt.Type("worker", 1)), "worker", 0).Spec.SchedulerName)

	change := func(edit func(*unstructured.Unstructured)) *unstructured.Unstructured {
		o := group.DeepCopy()
		edit(o)
		return o
	}
	set := func(value any, path ...string) *unstructured.Unstructured {
		return change(func(o *unstructured.Unstructured) {
			require.NoError(t, unstructured.SetNestedField(o.Object, value, path...))
		})
	}
	tests := map[string]struct {
		have  *unstructured.Unstructured
		apply bool
	}{
		"missing":           {set("x", "metadata", "name"), true},
		"as wanted":         {group, false},
		"with more":         {set("x", "spec", "topologyPolicy"), false},
		"another minMember": {set(int64(3), "spec", "minMember"), true},
		"another name":      {set("other", "metadata", "name"), true},
		"another's":         {change(func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) }), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := planWorld(t, kernel.World{Job: job, Now: kt.Start, Gang: kernel.GangObjects{Objects: []*unstructured.Unstructured{tc.have}}})
			require.Equal(t, tc.apply, d.Actions[0].Verb == kernel.ApplyObject)
			if tc.apply {
				require.Equal(t, "ApplyObject PodGroup job: the pods are scheduled by it", d.Actions[0].String())
			}
			require.Equal(t, kernel.CreatePod, d.Actions[len(d.Actions)-1].Verb)
		})
	}
}

func TestGangUnavailable(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), t9k("team", 0))
	missing := kernel.GangObjects{Missing: "PodGroup.scheduler.tensorstack.dev"}
	d := planWorld(t, kernel.World{Job: job, Now: kt.Start, Gang: missing})
	require.Empty(t, d.Actions, "no half-started job")
	require.Nil(t, d.Status.StartTime)
	require.Equal(t, v1beta1.JobPending, d.Status.Phase)
	blocked := condition(d.Status, v1beta1.ConditionBlocked)
	require.Equal(t, v1beta1.ReasonGangUnavailable, blocked.Reason)
	require.Contains(t, blocked.Message, "PodGroup.scheduler.tensorstack.dev")
	require.Contains(t, d.Events, kernel.Event{Warning: true, Reason: "GangUnavailable", Message: blocked.Message})

	job = after(job, d)
	require.Equal(t, job.Status, planWorld(t, kernel.World{Job: job, Now: kt.Start, Gang: missing}).Status)
	d = planWorld(t, kernel.World{Job: job, Now: kt.Start})
	require.Equal(t, []string{"ApplyObject", "CreatePod worker-0@0", "CreatePod worker-1@0"}, did(d))

	// A job without a gang does not care, and one that runs keeps its pods.
	plain := kt.Job(kt.Type("worker", 1))
	require.Equal(t, []string{"CreatePod worker-0@0"}, did(planWorld(t, kernel.World{Job: plain, Now: kt.Start, Gang: missing})))
	begun := kt.Job(kt.Type("worker", 2), t9k("team", 0), kt.Begun)
	d = planWorld(t, kernel.World{Job: begun, Now: kt.Start, Gang: missing, Pods: kt.Pods(begun, "worker", 1, kt.Running)})
	require.Empty(t, d.Actions)
}

func TestGangOfAJobThatIsBlockedKeepsItsAccounts(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2, kt.Policy(onFailure, 1)), t9k("team", 0), kt.Begun)
	pods := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Exited(1)), kt.Pod(job, "worker", 1, kt.Exited(0))}
	d := planWorld(t, kernel.World{Job: job, Now: kt.Start, Gang: kernel.GangObjects{Missing: "PodGroup"}, Pods: pods, Settings: kt.Settings})
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.Equal(t, "1", ledger(d.Status, "worker").Succeeded)
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0", "ReleasePod worker-1"}, did(d))
}

func TestSilentScheduler(t *testing.T) {
	heard := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node is free"}
	for name, c := range map[string]struct {
		job   *v1beta1.GenericJob
		first func(*corev1.Pod)
		age   time.Duration
		want  string // in the condition Blocked; "" = no such condition
		again time.Duration
	}{
		"too early":       {kt.Job(kt.Type("worker", 2), kt.Begun, schedulerName("mine")), nil, time.Minute, "", time.Minute},
		"silent":          {kt.Job(kt.Type("worker", 2), kt.Begun, schedulerName("mine")), nil, 2 * time.Minute, `"mine" has reported nothing`, 0},
		"it has said why": {kt.Job(kt.Type("worker", 2), kt.Begun, schedulerName("mine")), func(p *corev1.Pod) { p.Status.Conditions = append(p.Status.Conditions, heard) }, time.Hour, "", 0},
		"Kubernetes' own": {kt.Job(kt.Type("worker", 2), kt.Begun), nil, time.Hour, "", 0},
	} {
		pods := []*corev1.Pod{kt.Pod(c.job, "worker", 0), kt.Pod(c.job, "worker", 1)}
		for _, pod := range pods {
			pod.CreationTimestamp = metav1.NewTime(kt.Start)
			pod.Status.Conditions = nil
		}
		if c.first != nil {
			c.first(pods[0])
		}
		d := plan(t, c.job, kt.Start.Add(c.age), pods...)
		blocked := status.Condition(d.Status.Conditions, v1beta1.ConditionBlocked)
		require.Equal(t, c.want != "", blocked != nil, name)
		if blocked != nil {
			require.Contains(t, blocked.Message, c.want, name)
			require.Equal(t, v1beta1.ReasonSchedulerSilent, blocked.Reason)
		}
		require.Equal(t, c.again, d.RequeueAfter, name)
	}
}

func coscheduling(job *v1beta1.GenericJob) {
	job.Spec.Scheduler = &v1beta1.SchedulePolicy{Coscheduling: &v1beta1.Coscheduling{}}
}

func TestSilentSchedulerOfAGang(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), coscheduling, kt.Begun)
	pod := kt.Pod(job, "worker", 0)
	pod.CreationTimestamp = metav1.NewTime(kt.Start)
	w := kernel.World{Job: job, Pods: []*corev1.Pod{pod}, Now: kt.At(2 * time.Minute), Settings: kt.Settings}
	w.Gang.Objects = []*unstructured.Unstructured{applied(t, planWorld(t, w))}
	require.Contains(t, condition(planWorld(t, w).Status, v1beta1.ConditionBlocked).Message, `"scheduler-plugins-scheduler" has reported nothing`)
}

// A gang waits for a pod that is gated, but its scheduler tells nothing of that.
func TestAGateKeepsAGangWaiting(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Type("gated", 1), coscheduling, kt.Begun)
	gated := kt.Pod(job, "gated", 0)
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/licence"}, {Name: "example.com/data"}}
	gated.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked",
	}}
	pods := append(kt.Pods(job, "worker", 2), gated)
	for _, pod := range pods {
		pod.CreationTimestamp = metav1.NewTime(kt.Start)
	}
	d := plan(t, job, kt.At(time.Hour), pods...)
	require.Equal(t, "Waiting for replica gated-0: SchedulingGated: no scheduler looks at it before these scheduling gates are removed, by whom they are for: example.com/licence, example.com/data",
		condition(d.Status, v1beta1.ConditionRunning).Message)
	require.Equal(t, corev1.PodReasonSchedulingGated, condition(d.Status, v1beta1.ConditionReplicaFailure).Reason)
	require.Nil(t, status.Condition(d.Status.Conditions, v1beta1.ConditionBlocked), "its scheduler need not be silent")

	gated.Spec.SchedulingGates = gated.Spec.SchedulingGates[:1]
	gated.Spec.SchedulingGates[0].Name = "kueue.x-k8s.io/topology"
	d = plan(t, job, kt.At(time.Hour), pods...)
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, "gated-0: Kueue has not chosen its node yet")
	require.Equal(t, v1beta1.ReasonNone, condition(d.Status, v1beta1.ConditionReplicaFailure).Reason, "it is on its way")

	gated.Spec.SchedulingGates = nil
	d = plan(t, job, kt.At(time.Hour), pods[2])
	require.Equal(t, "Waiting for replica worker-0: its pod is not there yet", condition(d.Status, v1beta1.ConditionRunning).Message)
	d = plan(t, job, kt.At(time.Hour), append(kt.Pods(job, "worker", 2, kt.Running), gated)...)
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, "gated-0: its scheduling gates are gone, and no scheduler has said anything of it since")
}

func schedulerName(name string) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Template.Spec.SchedulerName = name })
}

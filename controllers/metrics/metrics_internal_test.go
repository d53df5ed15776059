package metrics

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// told are the series that are not 0, as name{label values}; of a histogram the sum.
func told(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum(); v != 0 {
				found[strings.TrimPrefix(f.GetName(), "genericjob_")+"{"+strings.Join(labels, " ")+"}"] = v
			}
		}
	}
	return found
}

// newJob is a job that was created an hour ago, with a status of now.
func newJob(change func(*v1beta1.GenericJobStatus)) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "j", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}}}
	job.Status.LastUpdateTime = &metav1.MicroTime{Time: now}
	change(&job.Status)
	return job
}

func condition(t v1beta1.JobConditionType, is metav1.ConditionStatus, reason string, age time.Duration) v1beta1.JobCondition {
	return v1beta1.JobCondition{Type: t, Status: is, Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-age))}
}

func ended(uid types.UID, change func(*corev1.PodStatus)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "j-worker-0", UID: uid, Labels: map[string]string{v1beta1.LabelReplicaType: "worker"}}}
	p.Status.Phase = corev1.PodFailed
	change(&p.Status)
	return p
}

func exited(code int32, reason string) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}}
	}
}

func replaced(reason string, uid types.UID) kernel.Event {
	return kernel.Event{Reason: reason, Warning: reason == v1beta1.ReasonRestarted, Replica: "worker-0", UID: uid}
}

func TestRestartsCountAsTheStatusSaysUnderTheReasonsThatItsPodsSay(t *testing.T) {
	c := New(tfjob)
	job := newJob(func(s *v1beta1.GenericJobStatus) {
		s.Phase, s.BackoffCount, s.DisruptionCount = v1beta1.JobRunning, 5, 2
	})
	before := &v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning, BackoffCount: 2, DisruptionCount: 1}
	c.CountStatusWrite(job, before, []kernel.Event{
		{Reason: v1beta1.ReasonRunning},
		replaced(v1beta1.ReasonRestarted, "a"), replaced(v1beta1.ReasonRestarted, "b"), replaced(v1beta1.ReasonDisrupted, "c"),
		replaced(v1beta1.ReasonDisrupted, "a"), // one more than the status says
	}, []*corev1.Pod{ended("a", exited(1, "")), ended("b", exited(137, "OOMKilled")), ended("c", func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"}}
	})})
	require.Equal(t, map[string]float64{
		"restarts_total{GenericJob Error}": 1, "restarts_total{GenericJob OOMKilled}": 1, "restarts_total{GenericJob Other}": 1,
		"disruptions_total{GenericJob PreemptionByScheduler}": 1,
	}, told(t, c))
	c.CountStatusWrite(job, &job.Status, []kernel.Event{replaced(v1beta1.ReasonRestarted, "a")}, nil)
	require.Len(t, told(t, c), 4, "what the status does not say is not counted")
}

func TestRestartsThatRulesExceptAreCountedApart(t *testing.T) {
	c := New(tfjob)
	job := newJob(func(s *v1beta1.GenericJobStatus) { s.Phase, s.BackoffCount, s.ExceptedCount = v1beta1.JobRunning, 1, 3 })
	counted, excepted := replaced(v1beta1.ReasonRestarted, "a"), replaced(v1beta1.ReasonRestarted, "b")
	excepted.Warning = false
	c.CountStatusWrite(job, &v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning, ExceptedCount: 1}, []kernel.Event{excepted, counted},
		[]*corev1.Pod{ended("a", exited(1, "")), ended("b", exited(137, "OOMKilled"))})
	require.Equal(t, map[string]float64{
		"restarts_total{GenericJob Error}": 1, "excepted_restarts_total{GenericJob OOMKilled}": 1, "excepted_restarts_total{GenericJob Other}": 1,
	}, told(t, c))
}

func TestReasonsThatNobodyKnowsAreNoNewSeries(t *testing.T) {
	for name, tc := range map[string]struct {
		pod               *corev1.Pod
		restart, disrupts string
	}{
		"gone":                  {nil, other, other},
		"an error":              {ended("", exited(3, "Error")), "Error", other},
		"success of an Always":  {ended("", func(s *corev1.PodStatus) { s.Phase = corev1.PodSucceeded }), "Completed", other},
		"a reason of somebody":  {ended("", exited(1, "x\xffy")), other, other},
		"a reason of its own":   {ended("", func(s *corev1.PodStatus) { s.Reason = "FancyNodeAgent" }), other, other},
		"of a node":             {ended("", func(s *corev1.PodStatus) { s.Reason = "OutOfexample.com/gpu" }), other, "Rejected"},
		"of a sysctl":           {ended("", func(s *corev1.PodStatus) { s.Reason = "SysctlForbidden" }), other, "Rejected"},
		"of a node that shuts":  {ended("", func(s *corev1.PodStatus) { s.Reason = "Terminated" }), other, "NodeShutdown"},
		"of a node that starts": {ended("", func(s *corev1.PodStatus) { s.Reason = "NodeLost" }), other, "NodeLost"},
		"a condition of its own": {ended("", func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "Whatever"}}
		}), "Error", other},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.restart, restartReason(newJob(func(*v1beta1.GenericJobStatus) {}), tc.pod))
			require.Equal(t, tc.disrupts, disruptionReason(tc.pod))
		})
	}
}

func TestAJobCountsUnderTheKindThatItsUserSubmitted(t *testing.T) {
	c := New(tfjob)
	owned := func(version, kind string) *v1beta1.GenericJob {
		job := newJob(func(*v1beta1.GenericJobStatus) {})
		job.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "j", UID: "u", Controller: new(true)}}
		return job
	}
	c.CountCreatedPod(owned("kubeflow.org/v1", "TFJob"))
	c.CountCreatedPod(owned("kubeflow.org/v1", "PyTorchJob")) // not served
	c.CountCreatedPod(owned("example.com/v1", "TFJob"))       // another's
	c.CountDeletion(owned("kubeflow.org/v1", "TFJob"), kernel.Action{Verb: kernel.ForceDeletePod})
	c.CountDeletion(owned("kubeflow.org/v1", "TFJob"), kernel.Action{Verb: kernel.DeleteJob})
	require.Equal(t, map[string]float64{
		"pods_created_total{TFJob}": 1, "pods_created_total{GenericJob}": 2, "pods_deleted_total{Force TFJob}": 1,
	}, told(t, c))
}

func TestAStartIsTheFirstTimeThatAllRun(t *testing.T) {
	begun := condition(v1beta1.ConditionInitialized, metav1.ConditionTrue, "-", time.Hour)
	for name, tc := range map[string]struct {
		before []v1beta1.JobCondition
		phase  v1beta1.JobPhase
		counts bool
	}{
		"at once":        {nil, "", true},
		"after a wait":   {[]v1beta1.JobCondition{begun, condition(v1beta1.ConditionRunning, metav1.ConditionFalse, "Queued", time.Hour)}, v1beta1.JobPending, true},
		"after eviction": {[]v1beta1.JobCondition{begun, condition(v1beta1.ConditionRunning, metav1.ConditionFalse, "Evicted", time.Minute)}, v1beta1.JobPending, false},
		"after a pause": {[]v1beta1.JobCondition{
			begun, condition(v1beta1.ConditionRunning, metav1.ConditionFalse, "-", time.Hour), condition(v1beta1.ConditionPaused, metav1.ConditionFalse, "Resumed", time.Minute),
		}, v1beta1.JobResuming, false},
		"by another clock": {[]v1beta1.JobCondition{begun, condition(v1beta1.ConditionRunning, metav1.ConditionFalse, "-", 2*time.Hour)}, v1beta1.JobPending, false},
		"goes on":          {[]v1beta1.JobCondition{begun, condition(v1beta1.ConditionRunning, metav1.ConditionFalse, "-", time.Hour)}, v1beta1.JobRunning, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := New()
			c.CountStatusWrite(newJob(func(s *v1beta1.GenericJobStatus) { s.Phase = v1beta1.JobRunning }), &v1beta1.GenericJobStatus{Phase: tc.phase, Conditions: tc.before}, nil, nil)
			want := map[string]float64{}
			if tc.counts {
				want["start_duration_seconds{GenericJob}"] = 3600
			}
			require.Equal(t, want, told(t, c))
		})
	}
}

func TestAnEndCountsOnce(t *testing.T) {
	c := New()
	job := newJob(func(s *v1beta1.GenericJobStatus) {
		s.Phase, s.CompletionTime = v1beta1.JobFailed, &metav1.Time{Time: now.Add(-time.Minute)}
	})
	c.CountStatusWrite(job, &v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning}, nil, nil)
	c.CountStatusWrite(job, &job.Status, nil, nil)
	require.Equal(t, map[string]float64{"completion_duration_seconds{GenericJob Failed}": 59 * 60}, told(t, c))
}

// Counts are optional: each method may be called where there are none, but for those that prometheus.Collector wants.
func TestWhereNothingIsCountedEachMethodMayBeCalled(t *testing.T) {
	var c *Counts
	calls := map[string]func(){
		"CountStatusWrite": func() {
			c.CountStatusWrite(newJob(func(*v1beta1.GenericJobStatus) {}), &v1beta1.GenericJobStatus{}, nil, nil)
		},
		"CountCreatedPod":  func() { c.CountCreatedPod(nil) },
		"CountDeletion":    func() { c.CountDeletion(nil, kernel.Action{Verb: kernel.StopPod}) },
		"CountFailedCalls": func() { c.CountFailedCalls(nil, []kernel.Refusal{{}}) },
		"CountFailedCall":  func() { c.CountFailedCall(tfjob, ObjectOther, "") },
		"CountStopped":     func() { c.CountStopped(tfjob, ByFence) },
		"CountEnd":         func() { c.CountEnd("", "", metav1.Time{}, now) },
		"AddKind":          func() { c.AddKind(tfjob) },
		"RemoveKind":       func() { c.RemoveKind(tfjob) },
	}
	for method := range reflect.TypeOf(c).Methods() {
		if name := method.Name; name != "Describe" && name != "Collect" {
			require.Contains(t, calls, name)
			require.NotPanics(t, calls[name], name)
		}
	}
}

func TestWhatAJobWaitsFor(t *testing.T) {
	idle := condition(v1beta1.ConditionRunning, metav1.ConditionFalse, v1beta1.ReasonPodsNotReady, 2*time.Minute)
	for name, tc := range map[string]struct {
		conditions []v1beta1.JobCondition
		reason     string
		age        time.Duration
	}{
		"new":    {nil, ReasonPodsNotReady, time.Hour},
		"runs":   {[]v1beta1.JobCondition{condition(v1beta1.ConditionRunning, metav1.ConditionTrue, "-", time.Minute)}, "", 0},
		"pauses": {[]v1beta1.JobCondition{condition(v1beta1.ConditionRunning, metav1.ConditionFalse, v1beta1.ReasonPausing, time.Minute)}, "", 0},
		"queues": {[]v1beta1.JobCondition{condition(v1beta1.ConditionRunning, metav1.ConditionFalse, v1beta1.ReasonQueued, time.Minute)}, v1beta1.ReasonQueued, time.Minute},
		"waits":  {[]v1beta1.JobCondition{idle}, ReasonPodsNotReady, 2 * time.Minute},
		"cannot be placed": {[]v1beta1.JobCondition{idle, condition(v1beta1.ConditionReplicaFailure, metav1.ConditionTrue, "Unschedulable", time.Second)},
			"Unschedulable", 2 * time.Minute},
		"restarts": {[]v1beta1.JobCondition{idle, condition(v1beta1.ConditionReplicaFailure, metav1.ConditionTrue, v1beta1.ReasonErrorInPod, time.Second)},
			ReasonPodsNotReady, 2 * time.Minute},
		"for something of its own": {[]v1beta1.JobCondition{idle, condition(v1beta1.ConditionReplicaFailure, metav1.ConditionTrue, "MyScheduler", time.Second)},
			other, 2 * time.Minute},
		"is blocked": {[]v1beta1.JobCondition{idle, condition(v1beta1.ConditionBlocked, metav1.ConditionTrue, v1beta1.ReasonCreateFailed, time.Second)},
			v1beta1.ReasonCreateFailed, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			job := newJob(func(s *v1beta1.GenericJobStatus) { s.Conditions = tc.conditions })
			reason, since := Wait(job)
			require.Equal(t, tc.reason, reason)
			if reason != "" {
				require.Equal(t, tc.age, now.Sub(since))
			}
			job.Status.CompletionTime = &metav1.Time{Time: now}
			reason, _ = Wait(job)
			require.Empty(t, reason)
		})
	}
}

func TestACollectorThatDoesNotKnowSaysNothing(t *testing.T) {
	known := false
	c := &JobCollector{Kinds: func() []string { return []string{v1beta1.KindGenericJob} }, Clock: testingclock.NewFakePassiveClock(now), Each: func(tell func(Job)) bool {
		tell(Job{Kind: v1beta1.KindGenericJob, Reason: other, Since: now.Add(-time.Minute)})
		tell(Job{Kind: v1beta1.KindGenericJob, Reason: other, Since: now.Add(-time.Hour)})
		tell(Job{Kind: v1beta1.KindGenericJob, Phase: v1beta1.JobRunning})
		return known
	}}
	require.Empty(t, told(t, c))
	known = true
	require.Equal(t, map[string]float64{
		"jobs{GenericJob Pending}": 2, "jobs{GenericJob Running}": 1, "jobs_waiting{GenericJob Other}": 2, "longest_wait_seconds{GenericJob Other}": 3600,
	}, told(t, c))
}

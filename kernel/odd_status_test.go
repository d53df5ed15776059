package kernel_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// Statuses that the CRD takes, and no operator has written. What Plan makes of them must be one that the apiserver takes, too: else no status of the
// job could ever be written again.
func TestTheStatusOfAJobCanBeStoredWhateverSomebodyHasWritten(t *testing.T) {
	noon := metav1.NewTime(kt.Start)
	late := metav1.NewTime(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	open := &v1beta1.OpenTime{Cause: v1beta1.TimeStarting, Since: noon, Replicas: 1}
	for name, odd := range map[string]func(*v1beta1.GenericJobStatus){
		"a failure at no time": func(s *v1beta1.GenericJobStatus) {
			s.NodeFailures = []v1beta1.NodeFailures{{Node: "a", Reason: v1beta1.AvoidFailed, Times: []metav1.Time{noon, {}, noon}}}
		},
		"failures without times": func(s *v1beta1.GenericJobStatus) {
			s.NodeFailures = []v1beta1.NodeFailures{{Node: "a", Reason: v1beta1.AvoidFailed}}
		},
		"failures at the end of time": func(s *v1beta1.GenericJobStatus) {
			s.NodeFailures = []v1beta1.NodeFailures{{Node: "a", Reason: v1beta1.AvoidFailed, Times: []metav1.Time{late, late}}}
		},
		"a node that is avoided since no time": func(s *v1beta1.GenericJobStatus) {
			s.NodeFailures = []v1beta1.NodeFailures{{Node: "a", Reason: v1beta1.AvoidFailed, Times: []metav1.Time{noon, noon}}}
			s.AvoidedNodes = []v1beta1.AvoidedNode{{Node: "a", Reason: v1beta1.AvoidFailed, Until: &late}, {Node: "b", Reason: v1beta1.AvoidLost}}
		},
		"an account since no time": func(s *v1beta1.GenericJobStatus) { s.Time = &v1beta1.JobTime{Open: open} },
		"an interval since no time": func(s *v1beta1.GenericJobStatus) {
			s.Time = &v1beta1.JobTime{Since: noon, Open: &v1beta1.OpenTime{Cause: v1beta1.TimeStarting}}
		},
		"a recovery at no time": func(s *v1beta1.GenericJobStatus) {
			s.Recovery = &v1beta1.Recovery{Cause: v1beta1.TimeLostToNode, Began: noon, Detected: noon, Replaced: &metav1.Time{}}
		},
		"a recovery since no time": func(s *v1beta1.GenericJobStatus) {
			s.Recovery = &v1beta1.Recovery{Cause: v1beta1.TimeLostToNode, Detected: noon}
		},
		"parts that are more than the whole": func(s *v1beta1.GenericJobStatus) {
			s.Time = &v1beta1.JobTime{Since: noon, Open: open, TimeShares: v1beta1.TimeShares{Total: 1, Productive: math.MaxInt64 / 2}}
		},
		"less than nothing was recomputed": func(s *v1beta1.GenericJobStatus) {
			s.Time = &v1beta1.JobTime{Since: noon, Open: open, TimeShares: v1beta1.TimeShares{Total: 1}, Recomputed: math.MinInt64 / 2}
		},
		"a history since no time": func(s *v1beta1.GenericJobStatus) {
			s.Time = &v1beta1.JobTime{Since: noon, Open: open}
			s.History = &v1beta1.History{Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryPause}, {Kind: "Nonsense", Begin: late}, {Kind: v1beta1.HistoryHang, Begin: late, Seconds: -1}}}
		},
	} {
		for _, limit := range []int32{0, 9} { // the last failure, and one of many
			job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartOnFailure, limit)), kt.Begun, avoiding(v1beta1.AvoidNodes{Within: "8760h"}))
			odd(&job.Status)
			for i := range 3 {
				now := kt.At(time.Duration(i+1) * time.Minute)
				job = after(job, planWorld(t, kernel.World{
					Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(17, now), onNode("a"))}, Now: now, NodeCount: 9, Settings: kt.Settings,
				}))
				requireStorable(t, name, job.Status)
				job.Status = stored(t, job.Status)
			}
		}
	}
}

// A failure that is corrected in the reconcile that ends the job is taken back, if there is one: somebody may have written the status.
func TestAFailureIsTakenBackOnlyIfThereIsOne(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartNever, 0)), kt.JobScope, kt.Begun, avoiding(v1beta1.AvoidNodes{}))
	at := metav1.NewTime(kt.At(time.Minute))
	record := v1beta1.ReplicaFailure{Pod: kt.Pod(job, "worker", 0).Name, Node: "a", Time: &at, ExitCode: ptr.To[int32](1)}
	job.Status.FirstFailure = &v1beta1.FirstFailure{ReplicaFailure: record, Probable: true, OrElse: []string{kt.Pod(job, "worker", 1).Name}}
	job.Status.NodeFailures = []v1beta1.NodeFailures{{Node: "a", Reason: v1beta1.AvoidFailed}}
	now := kt.At(time.Minute + time.Second)
	root := kt.Pod(job, "worker", 1, kt.ExitedAt(1, now.Add(-3*time.Second)), saying("exception: ValueError: x\nkind: Exception\noutput:\n"), onNode("b"))
	require.NotPanics(t, func() { plan(t, job, now, kt.Pod(job, "worker", 0, kt.Running, onNode("a")), root) })
}

// requireStorable checks what the CRD wants of times and of texts about them.
func requireStorable(t *testing.T, name string, s v1beta1.GenericJobStatus) {
	t.Helper()
	require.NotNil(t, s.Time, name)
	all := []metav1.Time{s.Time.Since}
	if s.Time.Open != nil {
		all = append(all, s.Time.Open.Since)
	}
	for _, n := range s.NodeFailures {
		require.NotEmpty(t, n.Times, name)
		all = append(all, n.Times...)
	}
	for _, n := range s.AvoidedNodes {
		all = append(all, n.Since)
		if n.Until != nil {
			all = append(all, *n.Until)
		}
	}
	require.NotNil(t, s.History, name)
	for _, e := range s.History.Entries {
		require.Contains(t, v1beta1.HistoryKinds, e.Kind, name)
		all = append(all, e.Begin)
		if e.End != nil {
			all = append(all, *e.End)
		}
	}
	if r := s.Recovery; r != nil {
		all = append(all, r.Began, r.Detected)
		for _, at := range []*metav1.Time{r.Replaced, r.Stepped} {
			if at != nil {
				all = append(all, *at)
			}
		}
	}
	for _, at := range all {
		require.False(t, at.IsZero(), "%s: the apiserver takes no time that is null", name)
		require.Less(t, at.Year(), 10000, name)
	}
	require.LessOrEqual(t, len(s.Time.Goodput), 8, name)
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &v1beta1.GenericJobStatus{}), name)
}

func TestSharesOfTimeOnlyGrowHoweverManyDevicesAJobAsksFor(t *testing.T) {
	job := fresh()
	limits := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("9223372036854775807"), "google.com/tpu": resource.MustParse("9223372036854775807")}
	job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Resources.Limits = limits
	job = look(t, job, 3*second)
	job = look(t, job, 25*second, kt.Pod(job, "worker", 0, startedAt(20*second)), kt.Pod(job, "worker", 1, startedAt(21*second)))
	require.Positive(t, job.Status.Time.Open.Devices)
	require.NotNil(t, job.Status.Time.DeviceSeconds)
	require.Positive(t, job.Status.Time.DeviceSeconds.Starting)
	require.Equal(t, job.Status.Time.DeviceSeconds.Starting, job.Status.Time.DeviceSeconds.Total)

	job.Status.Time.Open.Devices, job.Status.Time.Open.Replicas = math.MaxInt64, math.MaxInt32 // somebody writes it
	job.Status.Time.Open.Since = metav1.NewTime(time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC))
	before := job.Status.Time.DeepCopy()
	job = after(job, plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, failedAt(20*second, 50*second)), kt.Pod(job, "worker", 1, startedAt(21*second))))
	require.GreaterOrEqual(t, job.Status.Time.DeviceSeconds.Total, before.DeviceSeconds.Total)
	require.GreaterOrEqual(t, job.Status.Time.ReplicaSeconds.Total, before.ReplicaSeconds.Total)
}

// A template that names its node is left alone: another pod would come to the same node. So its replicas begin again in their pods.
func TestReplicasWhoseTemplateNamesItsNodeBeginAgainInTheirPods(t *testing.T) {
	for name, names := range map[string]func(*corev1.PodTemplateSpec){
		"by nodeName":     func(p *corev1.PodTemplateSpec) { p.Spec.NodeName = "a" },
		"by its label":    func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a"} },
		"not: it can go ": nil,
	} {
		for _, scope := range []v1beta1.RestartScope{v1beta1.RestartScopeJob, v1beta1.RestartScopeReplica} {
			template := func(*v1beta1.ReplicaSpec) {}
			if names != nil {
				template = kt.Template(names)
			}
			job, pods := running(t, 2, kt.Type("worker", 2, template), kt.InPlace, kt.BackoffLimit(9), avoiding(v1beta1.AvoidNodes{After: new(int32(1))}),
				kt.Spec(func(s *v1beta1.GenericJobSpec) { s.RestartScope = scope }))
			pods = with(pods, onNode("a"))
			pods = append(with(pods[:1], startedAgain(1, 9)), pods[1])
			d := plan(t, job, kt.At(time.Minute), pods...)
			job = after(job, d)
			require.Equal(t, []string{"a"}, avoids(job), name)
			d = plan(t, job, kt.At(time.Minute+time.Second), pods...)
			require.Equal(t, names == nil, slices.Contains(did(d), "DeletePod worker-0") || slices.Contains(did(d), "StopPod worker-0"), "%s %s: %v", name, scope, did(d))
			if names != nil {
				require.Contains(t, orders(d), "0", name)
			}
		}
	}
}

// An operator that was away sees a failure and a pause at once. What the job did until code failed, and what was lost until the pause, it knows.
func TestAFailureThatIsSeenWithAPauseBeganALoss(t *testing.T) {
	job := fresh()
	job = look(t, job, 3*second)
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(20*second)), kt.Pod(job, "worker", 1, startedAt(20*second))}
	job = look(t, job, 25*second, both...)
	require.Equal(t, v1beta1.TimeProductive, open(job))
	kt.PauseNow(true)(job)
	job.Generation++
	job = look(t, job, 20*second+60*minute, kt.Pod(job, "worker", 0, failedAt(20*second, 20*second+10*minute)), both[1])
	require.Equal(t, v1beta1.TimePaused, open(job))
	require.Equal(t, v1beta1.TimeLostToRestart, job.Status.Time.Open.LostBy)
	require.EqualValues(t, 10*60, job.Status.Time.Productive)
	require.EqualValues(t, 50*60, job.Status.Time.Lost.Restart)
}

func TestWhatIsToldOfAnAvoidedNodeIsTheLastThatHappenedThere(t *testing.T) {
	job := failing(t, endless(v1beta1.AvoidNodes{}), 9, "a", "a")
	now := kt.At(time.Hour)
	job = after(job, planWorld(t, kernel.World{
		Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(17, now), saying("Xid 79"), onNode("a"))}, Now: now, NodeCount: 9, Settings: kt.Settings,
	}))
	require.Contains(t, job.Status.AvoidedNodes[0].Message, "Xid 79")
	require.Equal(t, job.Status.NodeFailures[0].Message, job.Status.AvoidedNodes[0].Message)
	require.True(t, job.Status.AvoidedNodes[0].Since.Equal(&metav1.Time{Time: kt.At(20 * time.Minute)}))
}

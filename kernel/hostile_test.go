package kernel_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/hostile"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

var hostileWorlds = flag.Int("hostile.worlds", 1000, "how many odd worlds are planned for")

// FuzzPlan plans for odd jobs in odd worlds.
func FuzzPlan(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) { requireSound(t, hostileWorld(hostile.FromBytes(data))) })
}

func TestPlanOfHostileWorlds(t *testing.T) {
	t.Parallel()
	for seed := range *hostileWorlds {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) { requireSound(t, hostileWorld(hostile.FromSeed(seed))) }) {
			return // one is enough to mend
		}
	}
}

// hostileWorld is a world with a job, a status and pods that were good once.
func hostileWorld(s *hostile.Source) kernel.World {
	job := hostileJob(s)
	w := kernel.World{Job: job, Now: kt.At(time.Duration(s.N(4)) * time.Hour), Settings: kt.Settings, JobIsLive: s.OneIn(2)}
	if s.OneIn(6) {
		w.Settings = kernel.Settings{ForceReplaceAfter: hostile.Pick(s, 0, -1, 1, time.Duration(1<<62))}
	}
	if s.OneIn(2) {
		kt.Begun(job)
	}
	if s.OneIn(2) {
		s.Mutate(&job.Status, 1+s.N(4))
	}
	for i := range job.Spec.ReplicaSpecs {
		for rank := range s.N(4) {
			w.Pods = append(w.Pods, hostilePod(s, job, job.Spec.ReplicaSpecs[i].Type, rank))
		}
	}
	if s.OneIn(4) {
		w.Services = []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: job.Name, Namespace: job.Namespace}}}
		s.Mutate(w.Services[0], 1+s.N(4))
	}
	if s.OneIn(4) {
		w.Settings.NodeLostAfter = hostile.Pick(s, -1, time.Nanosecond, time.Minute, time.Duration(1<<62))
		w.Nodes = map[string]podstate.Node{"node": {SilentSince: hostile.Pick(s, time.Time{}, kt.Start, kt.At(time.Duration(1<<62)))}}
	}
	if s.OneIn(8) {
		w.Gang.Missing = s.Word()
	}
	return w
}

func hostileJob(s *hostile.Source) *v1beta1.GenericJob {
	job := kt.Job(
		kt.Type("worker", int32(1+s.N(3)), kt.Template(func(p *corev1.PodTemplateSpec) {
			p.Labels = map[string]string{"app": "$(type)"}
			p.Spec.Containers[0].Args = []string{"$(rank)", "$(service.worker[0].host):$(service.port[train])"}
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "N", Value: "$(replicas[worker])"}}
		})),
		kt.Type("ps", 1, kt.Policy(hostile.Pick(s, v1beta1.RestartNever, v1beta1.RestartOnFailure, v1beta1.RestartAlways, v1beta1.RestartExitCode), int32(s.N(3)))),
		kt.WithService(corev1.ServicePort{Name: "train", Port: 2222}),
	)
	if s.OneIn(3) {
		job.Spec.SuccessRules = []v1beta1.FinishRule{{"worker": nil}, {"ps": nil}}
		job.Spec.FailureRules = []v1beta1.FinishRule{{"worker": nil}}
	}
	if s.OneIn(3) {
		job.Spec.BackoffLimit, job.Spec.ActiveDeadlineSeconds = ptr.To[int32](2), ptr.To[int64](3600)
	}
	if s.OneIn(4) {
		kt.JobScope(job)
	}
	if s.OneIn(4) {
		kt.PauseNow(s.OneIn(2), v1beta1.ResumeSpec{Type: "worker", Command: []string{"x"}})(job)
		kt.DebugNow(s.OneIn(2), v1beta1.ReplicaDebugSet{Type: "ps"})(job)
	}
	if s.OneIn(6) {
		job.Spec.Scheduler = &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{Queue: "q"}, MinMember: ptr.To[int32](1)}
	}
	s.Mutate(&job.Spec, s.N(5))
	for i := range job.Spec.ReplicaSpecs {
		if r := &job.Spec.ReplicaSpecs[i]; ptr.Deref(r.Replicas, 1) > 100 && !s.OneIn(20) {
			r.Replicas = ptr.To[int32](100) // else the test takes long
		}
	}
	if s.OneIn(12) {
		job.Name = s.Word()
	}
	return job
}

// hostilePod is a pod of the job in one state of many, about which somebody may have lied.
func hostilePod(s *hostile.Source, job *v1beta1.GenericJob, replicaType string, rank int) *corev1.Pod {
	pod := kt.Pod(job, replicaType, rank)
	hostile.Pick(s, func(*corev1.Pod) {}, kt.Scheduled, kt.Running, kt.Exited(0), kt.Exited(1), kt.Exited(143), kt.FailedWithout("Evicted"))(pod)
	if s.OneIn(4) {
		kt.Deleted(hostile.Pick(s, hostile.Moments...), time.Duration(s.N(3))*time.Minute)(pod)
	}
	if s.OneIn(3) {
		s.Mutate(&pod.Status, 1+s.N(3))
	}
	if s.OneIn(4) {
		pod.Labels[hostile.Pick(s, v1beta1.LabelReplicaRank, v1beta1.LabelReplicaType, v1beta1.LabelAttempt, v1beta1.LabelModeGeneration, v1beta1.LabelDebug)] =
			hostile.Pick(s, s.Word(), "4294967296", "10000", "1", "9223372036854775807")
	}
	if s.OneIn(4) { // it is called what its labels say
		pod.Name = fmt.Sprintf("%s-%s-%s-%s", job.Name, v1beta1.Hash5(job.Name, string(job.UID)), pod.Labels[v1beta1.LabelReplicaType], pod.Labels[v1beta1.LabelReplicaRank])
	}
	if s.OneIn(6) {
		s.Mutate(&pod.ObjectMeta, 1+s.N(3))
	}
	if s.OneIn(8) && len(pod.OwnerReferences) > 0 {
		pod.OwnerReferences[0].UID = types.UID(s.Word())
	}
	return pod
}

// bounds of what a job may say; Kubernetes allows 1,024 bytes in the note of an event.
const (
	longestMessage = 2000
	longestReason  = 128
)

// requireSound plans again and again, as the operator would while nothing else happens. It checks what must hold for
// each plan, and that the plans come to an end.
func requireSound(t *testing.T, w kernel.World) {
	t.Helper()
	hasty, lastChange := 0, 0
	finishedByOthers := w.Job.Status.CompletionTime != nil // and what they wrote stays
	const rounds = 24
	for round := range rounds {
		d := soundPlan(t, w)
		if d.Stale {
			w.JobIsLive = true
			d = soundPlan(t, w)
			require.False(t, d.Stale)
		}
		if d.RequeueAfter > 0 && d.RequeueAfter < time.Millisecond {
			hasty++
		}
		next := stored(t, d.Status)
		if !equality.Semantic.DeepEqual(next, stored(t, w.Job.Status)) {
			lastChange = round
		}
		job := w.Job.DeepCopy()
		job.Status = next
		w.Job = job
		if round > lastChange+7 {
			break // at rest
		}
		w.Now = w.Now.Add(min(max(d.RequeueAfter, time.Millisecond), 24*time.Hour))
	}
	require.LessOrEqual(t, hasty, 3, "a hot loop")
	require.Less(t, lastChange, rounds-8, "the status does not come to rest")
	if w.Job.DeletionTimestamp == nil && !finishedByOthers {
		requireAnswer(t, w.Job.Status)
	}
}

// requireAnswer checks that a status says something.
func requireAnswer(t *testing.T, s v1beta1.GenericJobStatus) {
	t.Helper()
	require.NotEmpty(t, s.Phase)
	require.NotEmpty(t, s.Conditions)
	about := v1beta1.ConditionRunning
	switch s.Phase {
	case v1beta1.JobFailed:
		about = v1beta1.ConditionFailed
	case v1beta1.JobUnknown:
		about = v1beta1.ConditionBlocked
	case v1beta1.JobPending, v1beta1.JobRunning, v1beta1.JobPaused, v1beta1.JobResuming, v1beta1.JobSucceeded:
	default:
		require.Fail(t, "no phase of ours", s.Phase)
	}
	require.NotEmpty(t, condition(s, about).Message, "%s of phase %s in %+v", about, s.Phase, s)
	require.NotEmpty(t, condition(s, about).Reason)
}

// stored is a status as the apiserver gives it back.
func stored(t *testing.T, s v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	t.Helper()
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	var out v1beta1.GenericJobStatus
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

func soundPlan(t *testing.T, w kernel.World) kernel.Decision {
	t.Helper()
	job, pods := w.Job.DeepCopy(), deepCopies(w.Pods)
	for _, pod := range w.Pods {
		podstate.Trim(pod)
	}
	for _, pod := range pods {
		podstate.Trim(pod)
	}
	d := kernel.Plan(w)
	require.True(t, equality.Semantic.DeepEqual(job, w.Job), "Plan changed the job")
	require.True(t, equality.Semantic.DeepEqual(pods, w.Pods), "Plan changed a pod")
	for range 2 {
		again := kernel.Plan(w)
		require.Equal(t, lines(d.Actions), lines(again.Actions), "another time, other actions")
		again.Actions = d.Actions
		require.True(t, equality.Semantic.DeepEqual(d, again), "another time, another decision")
	}
	all := 0
	for _, r := range w.Job.Spec.ReplicaSpecs {
		all += int(min(max(ptr.Deref(r.Replicas, 1), 0), 10000))
	}
	require.LessOrEqual(t, len(d.Actions), all+2*len(w.Pods)+20000, "more to do than there are replicas")
	require.GreaterOrEqual(t, d.RequeueAfter, time.Duration(0))
	for _, c := range d.Status.Conditions {
		same := func(o v1beta1.JobCondition) bool {
			return o.Type == c.Type && o.Reason == c.Reason && o.Message == c.Message
		}
		if !slices.ContainsFunc(w.Job.Status.Conditions, same) { // else others have written it
			requireReadable(t, c.Reason, c.Message, longestMessage)
		}
	}
	for _, e := range d.Events {
		requireReadable(t, e.Reason, e.Message, longestMessage)
	}
	requireOwn(t, w, d)
	return d
}

func requireReadable(t *testing.T, reason, message string, longest int) {
	t.Helper()
	require.NotEmpty(t, reason, "the reason of %q", message)
	require.LessOrEqual(t, len(reason), longestReason)
	require.LessOrEqual(t, len(message), longest)
	require.True(t, utf8.ValidString(message), "%q", message)
}

// requireOwn checks that actions are about the job's own pods. The pods made for the job must have labels as its own,
// whatever the template says.
func requireOwn(t *testing.T, w kernel.World, d kernel.Decision) {
	t.Helper()
	builder := kernel.NewPodBuilder(&v1beta1.GenericJob{ObjectMeta: w.Job.ObjectMeta, Spec: w.Job.Spec, Status: d.Status}, w.Settings)
	made := 0
	for _, a := range d.Actions {
		if a.Pod != nil {
			require.True(t, metav1.IsControlledBy(a.Pod, w.Job), "%s", a)
		}
		if a.Verb != kernel.CreatePod || made > 8 {
			continue
		}
		made++
		pod := builder.Pod(a)
		require.Equal(t, w.Job.Namespace, pod.Namespace)
		require.Equal(t, string(w.Job.UID), pod.Labels[v1beta1.LabelJobUID])
		require.Equal(t, fmt.Sprint(a.Rank), pod.Labels[v1beta1.LabelReplicaRank])
		require.Equal(t, fmt.Sprint(a.Attempt), pod.Labels[v1beta1.LabelAttempt])
		require.Equal(t, []string{v1beta1.FinalizerTracking}, pod.Finalizers)
		require.Len(t, pod.OwnerReferences, 1)
		require.Equal(t, v1beta1.HostName(w.Job.Name, a.Type, a.Rank), pod.Spec.Hostname)
	}
}

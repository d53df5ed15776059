package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/build"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

func t9k(queue string, priority int32) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{Queue: queue, Priority: priority}}
	})
}

func TestPodMetadata(t *testing.T) {
	job := kt.Job(kt.Task("worker", 2, kt.Policy(onFailure, 3), kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Name, p.Namespace, p.Finalizers = "mine", "elsewhere", []string{"mine/finalizer"}
		p.OwnerReferences = []metav1.OwnerReference{{Name: "me"}}
		p.Labels = map[string]string{
			"app": "x", "replica-type": "mine", "batch.tensorstack.dev/job-uid": "stolen", "batch.tensorstack.dev/debug": "true", "batch.tensorstack.dev/else": "x",
		}
		p.Annotations = map[string]string{"note": "x", v1beta1.AnnotationStopped: "stopped", "batch.tensorstack.dev/else": "x"}
	})), kt.Begun)
	job = after(job, plan(t, job, kt.Start, kt.Pod(job, "worker", 1, kt.Exited(1))))
	pod := kt.Pod(job, "worker", 1)
	require.Equal(t, spec.PodName(job, "worker", 1), pod.Name)
	require.Equal(t, "ns", pod.Namespace)
	require.Equal(t, map[string]string{
		"app": "x", "replica-type": "mine", // the template may overwrite T9k's labels, and no other
		"replica-index": "1", "genericjob": "job", "genericjob-replica": "job-worker-1",
		"tensorstack.dev/component": "genericjob", "tensorstack.dev/component-type": "user",
		"tensorstack.dev/owner-kind": "GenericJob", "tensorstack.dev/owner-name": "job",
		v1beta1.LabelJobUID: "job-uid", v1beta1.LabelJobName: "job", v1beta1.LabelReplicaType: "worker", v1beta1.LabelReplicaRank: "1",
		v1beta1.LabelAttempt: "1", v1beta1.LabelModeEpoch: "0",
	}, pod.Labels)
	require.Equal(t, map[string]string{"note": "x"}, pod.Annotations)
	require.Equal(t, []string{v1beta1.FinalizerTracking}, pod.Finalizers)
	require.True(t, metav1.IsControlledBy(pod, job))
	require.Len(t, pod.OwnerReferences, 1)
	require.Equal(t, "GenericJob", pod.OwnerReferences[0].Kind)
	require.Equal(t, "batch.tensorstack.dev/v1beta1", pod.OwnerReferences[0].APIVersion)
	require.True(t, *pod.OwnerReferences[0].BlockOwnerDeletion)

	require.Equal(t, "worker", kt.Pod(kt.Job(kt.Task("worker", 1)), "worker", 0).Labels["replica-type"])
	require.Nil(t, kernel.NewBuilder(job, kt.Settings).Pod(kernel.Action{Type: "nobody"}))
}

func TestTheClusterDomainReachesThePods(t *testing.T) {
	job := kt.Job(kt.Task("worker", 1), kt.WithService())
	pod := kernel.NewBuilder(job, kernel.Settings{ClusterDomain: "corp"}).Pod(kernel.Action{Type: "worker"})
	require.Equal(t, []string{"job.ns.svc.corp"}, pod.Spec.DNSConfig.Searches)
}

func TestService(t *testing.T) {
	job := kt.Job(kt.Task("worker", 1), kt.WithService(corev1.ServicePort{Name: "http", Port: 2222}), kt.Begun)
	d := plan(t, job, kt.Start)
	require.Equal(t, kernel.CreateService, d.Actions[0].Verb)
	want := d.Actions[0].Service
	require.Equal(t, "job", want.Name)
	require.Equal(t, corev1.ServiceSpec{
		ClusterIP: "None", PublishNotReadyAddresses: true, Selector: map[string]string{v1beta1.LabelJobUID: "job-uid"},
		Ports: []corev1.ServicePort{{Name: "http", Port: 2222}},
	}, want.Spec)
	require.True(t, metav1.IsControlledBy(want, job))

	change := func(edit func(*corev1.Service)) *corev1.Service {
		s := want.DeepCopy()
		edit(s)
		return s
	}
	tests := map[string]struct {
		have *corev1.Service
		want string
	}{
		"as wanted": {want, ""},
		"with the apiserver's defaults": {change(func(s *corev1.Service) {
			s.Spec.Ports[0].Protocol, s.Spec.Ports[0].TargetPort = corev1.ProtocolTCP, intstr.FromInt32(2222)
			s.Spec.ClusterIPs = []string{"None"}
		}), ""},
		"another port":    {change(func(s *corev1.Service) { s.Spec.Ports[0].Port = 80 }), "UpdateService job: spec.service.ports has changed"},
		"a port more":     {change(func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: 80}) }), "UpdateService job: spec.service.ports has changed"},
		"not ours":        {change(func(s *corev1.Service) { s.OwnerReferences = nil }), "CreateService job: the pods find each other by it"},
		"of another name": {change(func(s *corev1.Service) { s.Name = "other" }), "CreateService job: the pods find each other by it"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := planWorld(t, kernel.World{Job: job, Now: kt.Start, Services: []*corev1.Service{tc.have}, Pods: kt.Pods(job, "worker", 1, kt.Running)})
			if tc.want == "" {
				require.Empty(t, d.Actions)
				return
			}
			require.Equal(t, []string{tc.want}, lines(d.Actions))
		})
	}
}

func TestT9kGang(t *testing.T) {
	job := kt.Job(kt.Task("ps", 1), kt.Task("worker", 3), t9k("team", 7), kt.Begun)
	objects := build.GangObjects(job)
	require.Len(t, objects, 1)
	group := objects[0]
	require.Equal(t, "scheduler.tensorstack.dev/v1beta1", group.GetAPIVersion())
	require.Equal(t, "PodGroup", group.GetKind())
	require.Equal(t, "job", group.GetName())
	require.Equal(t, map[string]any{"minMember": int64(4), "priority": int64(7), "queue": "team"}, group.Object["spec"])
	require.True(t, metav1.IsControlledBy(group, job))
	require.Nil(t, build.GangObjects(kt.Job(kt.Task("worker", 1))))
	require.NotContains(t, build.GangObjects(kt.Job(kt.Task("worker", 1), t9k("", 0)))[0].Object["spec"], "queue")

	pod := kt.Pod(job, "worker", 0)
	require.Equal(t, "t9k-scheduler", pod.Spec.SchedulerName)
	require.Equal(t, "job", pod.Labels["scheduler.tensorstack.dev/group-name"])
	require.Equal(t, "team", pod.Labels["scheduler.tensorstack.dev/queue"])
	require.Equal(t, "worker", pod.Labels["scheduler.tensorstack.dev/role"])
	require.Empty(t, kt.Pod(kt.Job(kt.Task("worker", 1)), "worker", 0).Spec.SchedulerName)

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
		have  []*unstructured.Unstructured
		apply bool
	}{
		"missing":           {nil, true},
		"as wanted":         {objects, false},
		"with more":         {[]*unstructured.Unstructured{set("x", "spec", "topologyPolicy")}, false},
		"another minMember": {[]*unstructured.Unstructured{set(int64(3), "spec", "minMember")}, true},
		"another name":      {[]*unstructured.Unstructured{set("other", "metadata", "name")}, true},
		"another's":         {[]*unstructured.Unstructured{change(func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) })}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := planWorld(t, kernel.World{Job: job, Now: kt.Start, Gang: kernel.Gang{Objects: tc.have}})
			require.Equal(t, tc.apply, d.Actions[0].Verb == kernel.ApplyObject)
			if tc.apply {
				require.Equal(t, "ApplyObject PodGroup job: the pods are scheduled by it", d.Actions[0].String())
			}
			require.Equal(t, kernel.CreatePod, d.Actions[len(d.Actions)-1].Verb)
		})
	}
}

func TestGangUnavailable(t *testing.T) {
	job := kt.Job(kt.Task("worker", 2), t9k("team", 0))
	missing := kernel.Gang{Missing: "PodGroup.scheduler.tensorstack.dev"}
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
	plain := kt.Job(kt.Task("worker", 1))
	require.Equal(t, []string{"CreatePod worker-0@0"}, did(planWorld(t, kernel.World{Job: plain, Now: kt.Start, Gang: missing})))
	begun := kt.Job(kt.Task("worker", 2), t9k("team", 0), kt.Begun)
	d = planWorld(t, kernel.World{Job: begun, Now: kt.Start, Gang: missing, Pods: kt.Pods(begun, "worker", 1, kt.Running)})
	require.Empty(t, d.Actions)
}

func TestGangOfAJobThatIsHeldKeepsItsAccounts(t *testing.T) {
	job := kt.Job(kt.Task("worker", 2, kt.Policy(onFailure, 1)), t9k("team", 0), kt.Begun)
	pods := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Exited(1)), kt.Pod(job, "worker", 1, kt.Exited(0))}
	d := planWorld(t, kernel.World{Job: job, Now: kt.Start, Gang: kernel.Gang{Missing: "PodGroup"}, Pods: pods, Settings: kt.Settings})
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.Equal(t, "1", ledger(d.Status, "worker").Succeeded)
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0", "ReleasePod worker-1"}, did(d))
}

// A pod of an earlier job that cannot be let go must be told of by somebody, and it may have the name of one to come.
func TestOrphansAreLetGoBesideTheJobAndNothingIsCreatedMeanwhile(t *testing.T) {
	job, earlier := kt.Job(kt.Task("worker", 2), kt.Begun), kt.Job(kt.Task("worker", 2))
	earlier.UID = "earlier"
	orphan := kt.Pod(earlier, "worker", 0)
	w := kernel.World{Job: job, Orphans: []*corev1.Pod{orphan}, Now: kt.Start}
	d := kernel.Plan(w)
	require.Len(t, d.Actions, 1)
	require.Equal(t, kernel.ReleasePod, d.Actions[0].Verb)
	require.Equal(t, orphan, d.Actions[0].Pod)

	told := kernel.Report(w, d, []kernel.Refusal{{Action: d.Actions[0], Object: "Pod x", Reason: v1beta1.ReasonRefused}})
	w.Job = after(job, told)
	require.NotEmpty(t, condition(kernel.Plan(w).Status, v1beta1.ConditionBlocked).Type, "it lasts")
	w.Orphans = nil
	d = kernel.Plan(w)
	require.Empty(t, condition(d.Status, v1beta1.ConditionBlocked).Type)
	require.Len(t, d.Actions, 2)
}

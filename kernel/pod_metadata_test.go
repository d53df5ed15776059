package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

func TestPodMetadata(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2, kt.Policy(onFailure, 3), kt.Template(func(p *corev1.PodTemplateSpec) {
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
		v1beta1.LabelAttempt: "1", v1beta1.LabelModeGeneration: "0",
	}, pod.Labels)
	require.Equal(t, map[string]string{"note": "x"}, pod.Annotations)
	require.Equal(t, []string{v1beta1.FinalizerTracking}, pod.Finalizers)
	require.True(t, metav1.IsControlledBy(pod, job))
	require.Len(t, pod.OwnerReferences, 1)
	require.Equal(t, "GenericJob", pod.OwnerReferences[0].Kind)
	require.Equal(t, "batch.tensorstack.dev/v1beta1", pod.OwnerReferences[0].APIVersion)
	require.True(t, *pod.OwnerReferences[0].BlockOwnerDeletion)

	require.Equal(t, "worker", kt.Pod(kt.Job(kt.Type("worker", 1)), "worker", 0).Labels["replica-type"])
	require.Nil(t, kernel.NewPodBuilder(job, kt.Settings).Pod(kernel.Action{Type: "nobody"}))
}

func TestTheClusterDomainReachesThePods(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.WithService())
	pod := kernel.NewPodBuilder(job, kernel.Settings{ClusterDomain: "corp"}).Pod(kernel.Action{Type: "worker"})
	require.Equal(t, []string{"job.ns.svc.corp"}, pod.Spec.DNSConfig.Searches)
}

func TestService(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.WithService(corev1.ServicePort{Name: "http", Port: 2222}), kt.Begun)
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

// Somebody must tell of a pod of an earlier job that cannot be let go. It may have the name of a pod to come.
func TestOrphansAreLetGoBesideTheJobAndNothingIsCreatedMeanwhile(t *testing.T) {
	job, earlier := kt.Job(kt.Type("worker", 2), kt.Begun), kt.Job(kt.Type("worker", 2))
	earlier.UID = "earlier"
	orphan := kt.Pod(earlier, "worker", 0)
	w := kernel.World{Job: job, Orphans: []*corev1.Pod{orphan}, Now: kt.Start}
	d := kernel.Plan(w)
	require.Len(t, d.Actions, 1)
	require.Equal(t, kernel.ReleasePod, d.Actions[0].Verb)
	require.Equal(t, orphan, d.Actions[0].Pod)

	told := kernel.RecordRefusals(w, d, []kernel.Refusal{{Action: d.Actions[0], Object: "Pod x", Reason: v1beta1.ReasonRefused}})
	w.Job = after(job, told)
	require.NotEmpty(t, condition(kernel.Plan(w).Status, v1beta1.ConditionBlocked).Type, "it lasts")
	w.Orphans = nil
	d = kernel.Plan(w)
	require.Empty(t, condition(d.Status, v1beta1.ConditionBlocked).Type)
	require.Len(t, d.Actions, 2)
}

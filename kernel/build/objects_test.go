package build

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func t9k(queue string, priority int32) func(*v1beta1.GenericJobSpec) {
	return func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{Queue: queue, Priority: priority}}
	}
}

func TestServiceIsOneForAllReplicasAndForNobodyElse(t *testing.T) {
	require.Nil(t, Service(jobOf()))
	job := jobOf(service(corev1.ServicePort{Name: "http", Port: 2222}))
	s := Service(job)
	require.Equal(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "job", Namespace: "ns", Labels: map[string]string{v1beta1.LabelJobUID: "uid", v1beta1.LabelJobName: "job"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind("GenericJob"))},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: "None", PublishNotReadyAddresses: true, Selector: map[string]string{v1beta1.LabelJobUID: "uid"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 2222}},
		},
	}, s)
	s.Spec.Ports[0].Port = 1
	require.EqualValues(t, 2222, job.Spec.Service.Ports[0].Port, "who edits the Service does not edit the job")
	for _, rank := range []int{0, 2} { // it finds the pods that are made for it
		require.Equal(t, s.Spec.Selector[v1beta1.LabelJobUID], podOf(t, job, Run{}, rank).Labels[v1beta1.LabelJobUID])
	}
}

// An update for a difference that the apiserver makes anew would be sent in every reconcile.
func TestSamePorts(t *testing.T) {
	port := func(edit func(*corev1.ServicePort)) []corev1.ServicePort {
		p := corev1.ServicePort{Name: "http", Port: 2222}
		edit(&p)
		return []corev1.ServicePort{p}
	}
	as := func(*corev1.ServicePort) {}
	tests := map[string]struct {
		have []corev1.ServicePort // where one port, http, 2222, is wanted
		want bool
	}{
		"as wanted":                       {port(as), true},
		"with the default protocol":       {port(func(p *corev1.ServicePort) { p.Protocol = corev1.ProtocolTCP }), true},
		"with the default target":         {port(func(p *corev1.ServicePort) { p.TargetPort = intstr.FromInt32(2222) }), true},
		"with an empty name for a target": {port(func(p *corev1.ServicePort) { p.TargetPort = intstr.FromString("") }), true},
		"another number":                  {port(func(p *corev1.ServicePort) { p.Port = 80 }), false},
		"another name":                    {port(func(p *corev1.ServicePort) { p.Name = "https" }), false},
		"another protocol":                {port(func(p *corev1.ServicePort) { p.Protocol = corev1.ProtocolUDP }), false},
		"another target":                  {port(func(p *corev1.ServicePort) { p.TargetPort = intstr.FromInt32(80) }), false},
		"a target by name":                {port(func(p *corev1.ServicePort) { p.TargetPort = intstr.FromString("http") }), false},
		"one more":                        {append(port(as), corev1.ServicePort{Name: "x", Port: 80}), false},
		"none":                            {nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			have, want := &corev1.Service{Spec: corev1.ServiceSpec{Ports: tc.have}}, Service(jobOf(service(port(as)...)))
			before := have.DeepCopy()
			require.Equal(t, tc.want, SamePorts(have, want))
			require.Equal(t, tc.want, SamePorts(want, have))
			require.Equal(t, before, have, "to compare changes nothing")
		})
	}
	require.True(t, SamePorts(&corev1.Service{}, Service(jobOf(service()))), "no ports are no ports, nil or empty")
}

func TestPodsAreBoundToTheGangThatIsMade(t *testing.T) {
	tests := map[string]struct {
		job       *v1beta1.GenericJob
		scheduler string
		labels    map[string]string // of those of the scheduler
		objects   int
	}{
		"no scheduler":                    {jobOf(), "", map[string]string{}, 0},
		"a policy that names none":        {jobOf(func(s *v1beta1.GenericJobSpec) { s.Scheduler = &v1beta1.SchedulePolicy{} }), "", map[string]string{}, 0},
		"a queue":                         {jobOf(t9k("team", 7)), "t9k-scheduler", map[string]string{t9kLabelGroup: "job", t9kLabelRole: "worker", t9kLabelQueue: "team"}, 1},
		"no queue is the scheduler's own": {jobOf(t9k("", 7)), "t9k-scheduler", map[string]string{t9kLabelGroup: "job", t9kLabelRole: "worker"}, 1},
		"a template that asks for another scheduler": {jobOf(t9k("", 7), worker(func(p *corev1.PodTemplateSpec) {
			p.Spec.SchedulerName, p.Labels = "mine", map[string]string{t9kLabelGroup: "another's", t9kLabelRole: "boss"}
		})), "t9k-scheduler", map[string]string{t9kLabelGroup: "job", t9kLabelRole: "worker"}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(t, tc.job, Run{}, 0)
			require.Equal(t, tc.scheduler, pod.Spec.SchedulerName)
			have := map[string]string{}
			for _, key := range []string{t9kLabelGroup, t9kLabelQueue, t9kLabelRole} {
				if value, ok := pod.Labels[key]; ok {
					have[key] = value
				}
			}
			require.Equal(t, tc.labels, have)
			require.Len(t, GangVersions(tc.job), tc.objects)
			if o := GangObject(tc.job, Group{MinMember: 5}, t9kAPIVersion); tc.objects > 0 {
				require.Equal(t, tc.labels[t9kLabelGroup], o.GetName(), "the label names the group that is made")
				require.True(t, metav1.IsControlledBy(o, tc.job))
			}
		})
	}
}

func TestHas(t *testing.T) {
	want := GangObject(jobOf(t9k("team", 7)), Group{MinMember: 5}, t9kAPIVersion)
	have := func(edit func(*unstructured.Unstructured)) []*unstructured.Unstructured {
		o := want.DeepCopy()
		edit(o)
		return []*unstructured.Unstructured{o}
	}
	set := func(value any, path ...string) []*unstructured.Unstructured {
		return have(func(o *unstructured.Unstructured) {
			require.NoError(t, unstructured.SetNestedField(o.Object, value, path...))
		})
	}
	another := have(func(o *unstructured.Unstructured) { o.SetName("another") })
	tests := map[string]struct {
		have []*unstructured.Unstructured
		want bool
	}{
		"nothing is there":             {nil, false},
		"as wanted":                    {have(func(*unstructured.Unstructured) {}), true},
		"it is not the first":          {append(another, want), true},
		"a default that was filled in": {set("x", "spec", "topologyPolicy"), true},
		"a status":                     {set("Running", "status", "phase"), true},
		"another value":                {set(int64(3), "spec", "minMember"), false},
		"a value that has gone":        {have(func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "queue") }), false},
		"no spec at all":               {have(func(o *unstructured.Unstructured) { delete(o.Object, "spec") }), false},
		"another name":                 {another, false},
		"another kind":                 {have(func(o *unstructured.Unstructured) { o.SetKind("Gang") }), false},
		"another version":              {have(func(o *unstructured.Unstructured) { o.SetAPIVersion("scheduler.tensorstack.dev/v2") }), false},
		"nobody's":                     {have(func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) }), false},
		"that of a namesake that was here": {have(func(o *unstructured.Unstructured) {
			owner := o.GetOwnerReferences()
			owner[0].UID = "older"
			o.SetOwnerReferences(owner)
		}), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, Has(tc.have, want))
		})
	}
}

package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestNotInPlace(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	for want, edit := range map[string]func(*corev1.PodTemplateSpec){
		"": func(*corev1.PodTemplateSpec) {},
		"several containers: name the one that trains by the annotation kubectl.kubernetes.io/default-container": func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "logs"})
		},
		"container main has no command": func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Command = nil },
		"hostNetwork is on":             func(p *corev1.PodTemplateSpec) { p.Spec.HostNetwork = true },
		"restartPolicy of its own":      func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].RestartPolicy = &always },
		"livenessProbe or startupProbe": func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].StartupProbe = &corev1.Probe{} },
		"postStart hook, which would run once": func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{}}
		},
		"several containers: name the one that ": func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{v1beta1.AnnotationDefaultContainer: "absent"}
		},
	} {
		r := v1beta1.ReplicaSpec{Type: "worker"}
		r.Template.Spec.Containers = []corev1.Container{{Name: "main", Command: []string{"train"}}}
		edit(&r.Template)
		if got := WhyTypeNotInPlace(&r); want == "" {
			require.Empty(t, got)
		} else {
			require.Contains(t, got, want)
		}
	}
	r := v1beta1.ReplicaSpec{}
	r.Template.Annotations = map[string]string{v1beta1.AnnotationDefaultContainer: "main"}
	r.Template.Spec.Containers = []corev1.Container{{Name: "logs"}, {Name: "main", Command: []string{"train"}}}
	require.Equal(t, 1, Main(&r.Template))
	require.Empty(t, WhyTypeNotInPlace(&r))
}

package build

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The kubelet refuses a container that is root by its own or its pod's runAsUser, and has runAsNonRoot.
func TestPodsOfRootStart(t *testing.T) {
	root, other := ptr.To(int64(0)), ptr.To(int64(1000))
	tests := map[string]struct {
		pod, main, want *int64
	}{
		"nobody says":                {nil, nil, nil},
		"the pod is root's":          {root, nil, ptr.To(installerUser)},
		"another user's":             {other, nil, nil},
		"the main container's alone": {nil, root, nil},
		"the pod, not its container": {root, other, ptr.To(installerUser)},
		"the container, not its pod": {other, root, nil},
	}
	for name, tc := range tests {
		edit := func(p *corev1.PodTemplateSpec) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: tc.pod}
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: tc.main}
		}
		watched := inPlace(edit)
		watched.Spec.RestartStrategy, watched.Spec.Heartbeat = "", &v1beta1.Heartbeat{Stdout: "step"}
		for strategy, job := range map[string]*v1beta1.GenericJob{"in place": inPlace(edit), "watched": watched} {
			t.Run(name+", "+strategy, func(t *testing.T) {
				pod := podOf(t, job, wrapped, 0)
				c := pod.Spec.InitContainers[0]
				require.True(t, *c.SecurityContext.RunAsNonRoot)
				require.Equal(t, tc.want, c.SecurityContext.RunAsUser, "OpenShift forbids users outside of a range")
				require.Equal(t, tc.pod, pod.Spec.SecurityContext.RunAsUser)
				require.Equal(t, tc.main, pod.Spec.Containers[0].SecurityContext.RunAsUser)
			})
		}
	}
	require.Nil(t, podOf(t, inPlace(), wrapped, 0).Spec.InitContainers[0].SecurityContext.RunAsUser, "a template without securityContext")
}

// A pod is Guaranteed if all of its containers have limits of CPU and memory, and no other requests than those.
func TestGuaranteedPodsStayGuaranteed(t *testing.T) {
	whole := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("64Gi")}
	job := inPlace(func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{v1beta1.AnnotationDefaultContainer: "main"}
		p.Spec.Containers[0].Resources.Limits = whole.DeepCopy()
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "logs", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")},
		}})
	})
	require.Equal(t, corev1.ResourceRequirements{Limits: whole}, podOf(t, job, wrapped, 0).Spec.InitContainers[0].Resources)
}

func TestTheInstallerAsksForNoDevices(t *testing.T) {
	have := corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"cpu": resource.MustParse("4"), "ephemeral-storage": resource.MustParse("9Gi"),
			"nvidia.com/gpu": resource.MustParse("8"), "hugepages-2Mi": resource.MustParse("1Gi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi"), "rdma/hca": resource.MustParse("1")},
		Claims:   []corev1.ResourceClaim{{Name: "gpus"}},
	}
	job := inPlace(func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources = *have.DeepCopy() })
	pod := podOf(t, job, wrapped, 0)
	require.Equal(t, corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"cpu": resource.MustParse("4"), "ephemeral-storage": resource.MustParse("9Gi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")},
	}, pod.Spec.InitContainers[0].Resources)
	require.Equal(t, have, pod.Spec.Containers[0].Resources)

	job = inPlace(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}}
	})
	require.Empty(t, podOf(t, job, wrapped, 0).Spec.InitContainers[0].Resources)
}

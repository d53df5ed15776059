package spec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestRequestsAreThoseOfTheWholePod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	of := func(requests, limits string) corev1.Container {
		c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}}
		if requests != "" {
			c.Resources.Requests["cpu"] = resource.MustParse(requests)
		}
		if limits != "" {
			c.Resources.Limits["cpu"] = resource.MustParse(limits)
		}
		return c
	}
	sidecar := func(c corev1.Container) corev1.Container {
		c.RestartPolicy = &always
		return c
	}
	whole := func(pod corev1.PodSpec, requests, limits string) corev1.PodSpec {
		r := of(requests, limits).Resources
		pod.Resources = &r
		return pod
	}
	tests := map[string]struct {
		pod  corev1.PodSpec
		want string
	}{
		"containers together":              {corev1.PodSpec{Containers: []corev1.Container{of("1", ""), of("2", "")}}, "3"},
		"a limit is a request":             {corev1.PodSpec{Containers: []corev1.Container{of("", "2")}}, "2"},
		"a request beside a limit":         {corev1.PodSpec{Containers: []corev1.Container{of("1", "2")}}, "1"},
		"an init container that asks more": {corev1.PodSpec{InitContainers: []corev1.Container{of("5", "")}, Containers: []corev1.Container{of("1", "")}}, "5"},
		"a sidecar beside the others":      {corev1.PodSpec{InitContainers: []corev1.Container{sidecar(of("1", ""))}, Containers: []corev1.Container{of("2", "")}}, "3"},
		"an init container beside a sidecar": {corev1.PodSpec{
			InitContainers: []corev1.Container{sidecar(of("1", "")), of("4", "")}, Containers: []corev1.Container{of("2", "")}}, "5"},
		"an overhead":                           {corev1.PodSpec{Containers: []corev1.Container{of("1", "")}, Overhead: corev1.ResourceList{"cpu": resource.MustParse("250m")}}, "1250m"},
		"what the pod says as a whole":          {whole(corev1.PodSpec{Containers: []corev1.Container{of("1", ""), of("2", "")}}, "8", ""), "8"},
		"a whole beside a limit":                {whole(corev1.PodSpec{Containers: []corev1.Container{of("1", "")}}, "8", "16"), "8"},
		"a whole that no container has part in": {whole(corev1.PodSpec{Containers: []corev1.Container{of("", "")}}, "", "8"), "8"},
		"a limit of the whole is no request of containers that say theirs": {whole(corev1.PodSpec{Containers: []corev1.Container{of("1", "4"), of("", "2")}}, "", "8"), "3"},
		"a whole and an overhead":   {whole(corev1.PodSpec{Overhead: corev1.ResourceList{"cpu": resource.MustParse("250m")}}, "8", ""), "8250m"},
		"a whole that says nothing": {whole(corev1.PodSpec{Containers: []corev1.Container{of("1", "")}}, "", ""), "1"},
		"nothing":                   {corev1.PodSpec{Containers: []corev1.Container{of("", "")}}, "0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Requests(&tc.pod)["cpu"]
			require.Zero(t, got.Cmp(resource.MustParse(tc.want)), got.String())
		})
	}
}

// A device in spec.resources of a pod counts for no scheduler; huge pages do, and cannot be overcommitted.
func TestWhichResourcesAPodCanAskForAsAWhole(t *testing.T) {
	one, four := resource.MustParse("1"), resource.MustParse("4")
	pod := corev1.PodSpec{Resources: &corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"memory": four, "hugepages-2Mi": four, "amd.com/gpu": four},
		Requests: corev1.ResourceList{"cpu": one, "nvidia.com/gpu": one, "ephemeral-storage": one},
	}, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"memory": one, "hugepages-2Mi": one, "nvidia.com/gpu": four}}}}}
	equal := func(want, got corev1.ResourceList) {
		require.True(t, equality.Semantic.DeepEqual(want, got), "%v", got)
	}
	equal(corev1.ResourceList{"cpu": one, "memory": one, "hugepages-2Mi": four}, PodRequests(&pod))
	equal(corev1.ResourceList{"cpu": one, "memory": one, "hugepages-2Mi": four, "nvidia.com/gpu": four}, Requests(&pod))
	pod.Resources = nil
	require.Nil(t, PodRequests(&pod))
}

func TestWhichResourcesAreAccelerators(t *testing.T) {
	for name, want := range map[corev1.ResourceName]bool{
		"nvidia.com/gpu": true, "nvidia.com/mig-1g.5gb": true, "huawei.com/Ascend910": true, "gpu.intel.com/i915": true, "cpu": false, "hugepages-2Mi": false,
		"example.com/licence": false, "kubernetes.io/gpu": false,
	} {
		require.Equal(t, want, isDevice(name), name)
	}
}

func TestWhyNobodyReadsSigns(t *testing.T) {
	s := &v1beta1.GenericJobSpec{}
	require.Empty(t, WhyNoHeartbeat(s, true))
	require.Empty(t, WhyNoProgress(s, true))
	s.Heartbeat, s.Progress = &v1beta1.Heartbeat{}, &v1beta1.ProgressFormat{Preset: "Later"} // stored under the CRD of a later version
	require.Equal(t, []string{"nobody looks for signs of life: " + withoutWrapper}, WhyNoHeartbeat(s, true))
	require.Equal(t, []string{`this version of the operator does not know preset "Later": set stdout instead`}, WhyNoProgress(s, false))
	s.Progress.Preset = v1beta1.PresetKeras
	require.Equal(t, []string{"nobody reads it: " + withoutWrapper}, WhyNoProgress(s, true))
}

// The year of a time in a status has four digits.
func TestANodeIsAvoidedUntilATimeThatCanBeStored(t *testing.T) {
	year := metav1.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	p := AvoidPolicy{After: 1, Within: 1000 * time.Hour}
	require.Equal(t, 9999, p.Until(&v1beta1.NodeFailures{Times: []metav1.Time{year}}).Year())
	require.Equal(t, 9999, p.Until(&v1beta1.NodeFailures{Enough: &year}).Year())
}

package podstate

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// someContainers are what each pod has that was not trimmed yet.
var someContainers = []corev1.Container{{Name: "main"}}

// Whether pods are in the order of their ranks is read from the selectors that Kueue gives them. Other pods' are memory for nothing.
func TestATrimmedPodSaysWhereKueueHasPlacedIt(t *testing.T) {
	selector := map[string]string{"rack": "a"}
	placed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kueue.x-k8s.io/workload": "w", "other": "x"}}, Spec: corev1.PodSpec{NodeSelector: selector, Containers: someContainers}}
	for range 2 { // a cache may do it twice
		require.Equal(t, selector, Trim(placed).Spec.NodeSelector)
	}
	require.NotContains(t, placed.Annotations, "other")
	require.Empty(t, Trim(&corev1.Pod{Spec: corev1.PodSpec{NodeSelector: selector, Containers: someContainers}}).Spec.NodeSelector)
}

// Nobody bounds how many ResourceClaims a pod names, and each pod that waits for a node keeps its claims in the operator's memory.
func TestATrimmedPodKnowsFewOfItsClaims(t *testing.T) {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: someContainers}}
	for range 100 {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "gpu"})
		p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: "gpu"})
	}
	trimmed := Trim(p.DeepCopy())
	require.Len(t, trimmed.Spec.ResourceClaims, maxClaims)
	require.Len(t, trimmed.Status.ResourceClaimStatuses, maxClaims)
	p.Spec.NodeName = "n"
	require.Empty(t, Trim(p).Spec.ResourceClaims)
}

// A pod whose node is lost is told by its two conditions of readiness. Of others they are memory for nothing, as a probe's is not.
func TestATrimmedPodKnowsOfItsReadinessWhatDecides(t *testing.T) {
	probe, by := &corev1.Probe{}, []corev1.PodConditionType{corev1.PodReady}
	for name, tc := range map[string]struct {
		ready corev1.ConditionStatus
		is    func(*corev1.PodSpec)
		want  []corev1.PodConditionType
	}{
		"nobody probes it":         {corev1.ConditionTrue, func(*corev1.PodSpec) {}, nil},
		"a probe does":             {corev1.ConditionTrue, func(s *corev1.PodSpec) { s.Containers[0].ReadinessProbe = probe }, by},
		"its start is probed":      {corev1.ConditionTrue, func(s *corev1.PodSpec) { s.Containers[1].StartupProbe = probe }, by},
		"a sidecar is probed":      {corev1.ConditionTrue, func(s *corev1.PodSpec) { s.InitContainers[0].ReadinessProbe = probe }, by},
		"a sidecar's start is":     {corev1.ConditionTrue, func(s *corev1.PodSpec) { s.InitContainers[0].StartupProbe = probe }, by},
		"only whether it lives is": {corev1.ConditionTrue, func(s *corev1.PodSpec) { s.Containers[0].LivenessProbe = probe }, nil},
		"others say when":          {corev1.ConditionTrue, func(s *corev1.PodSpec) { s.ReadinessGates = make([]corev1.PodReadinessGate, 1) }, by},
		"its node has gone":        {corev1.ConditionFalse, func(*corev1.PodSpec) {}, append(by, corev1.ContainersReady)},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n", Containers: make([]corev1.Container, 2), InitContainers: make([]corev1.Container, 1)}}
		tc.is(&p.Spec)
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: tc.ready, LastTransitionTime: metav1.NewTime(noon)}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
		var kept []corev1.PodConditionType
		for _, c := range Trim(p).Status.Conditions {
			kept = append(kept, c.Type)
		}
		require.Equal(t, tc.want, kept, name)
	}
}

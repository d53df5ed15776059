package ending

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Whether pods are in the order of their ranks is read from the selectors that Kueue gives them. Other pods' are memory for nothing.
func TestATrimmedPodSaysWhereKueueHasPlacedIt(t *testing.T) {
	selector := map[string]string{"rack": "a"}
	placed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kueue.x-k8s.io/workload": "w", "other": "x"}}, Spec: corev1.PodSpec{NodeSelector: selector}}
	for range 2 { // a cache may do it twice
		require.Equal(t, selector, Trim(placed).Spec.NodeSelector)
	}
	require.NotContains(t, placed.Annotations, "other")
	require.Empty(t, Trim(&corev1.Pod{Spec: corev1.PodSpec{NodeSelector: selector}}).Spec.NodeSelector)
}

// Nobody bounds how many ResourceClaims a pod names, and each pod that waits for a node keeps its claims in the operator's memory.
func TestATrimmedPodKnowsFewOfItsClaims(t *testing.T) {
	p := &corev1.Pod{}
	for range 100 {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "gpu"})
		p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: "gpu"})
	}
	p = Trim(p)
	require.Len(t, p.Spec.ResourceClaims, maxClaims)
	require.Len(t, p.Status.ResourceClaimStatuses, maxClaims)
	p.Spec.NodeName = "n"
	require.Empty(t, Trim(p).Spec.ResourceClaims)
}

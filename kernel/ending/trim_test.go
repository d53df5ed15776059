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

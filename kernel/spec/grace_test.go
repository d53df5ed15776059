package spec

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Kubernetes takes a grace period below zero as one second.
func TestGrace(t *testing.T) {
	for want, seconds := range map[time.Duration]*int64{
		30 * time.Second: nil, 0: ptr.To[int64](0), 7 * time.Second: ptr.To[int64](7), time.Second: ptr.To[int64](-1),
		Seconds(math.MaxInt64): ptr.To[int64](math.MaxInt64),
	} {
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: seconds}}
		require.Equal(t, want, Grace(&template))
	}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](math.MinInt64)}}
	require.Equal(t, time.Second, Grace(&template))
}

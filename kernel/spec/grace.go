package spec

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Grace returns the termination grace period of a template's pods, at most about 146 years. That is half of the longest Duration, so that the sum of
// two fits.
func Grace(template *corev1.PodTemplateSpec) time.Duration {
	const most = int64(math.MaxInt64/time.Second) / 2
	return time.Duration(min(ptr.Deref(template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds), most)) * time.Second
}

package spec

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Grace is how long the containers of pods of a template have to end, at most about 146 years. This maximum is half of what a Duration can say, so
// that sums can be said, too.
func Grace(template *corev1.PodTemplateSpec) time.Duration {
	const most = int64(math.MaxInt64/time.Second) / 2
	return time.Duration(min(ptr.Deref(template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds), most)) * time.Second
}

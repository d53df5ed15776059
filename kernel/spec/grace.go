package spec

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Grace returns the termination grace period of a template's pods, at most mostSeconds. Kubernetes takes one below zero as one second.
func Grace(template *corev1.PodTemplateSpec) time.Duration {
	seconds := ptr.Deref(template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	if seconds < 0 {
		seconds = 1
	}
	return Seconds(seconds)
}

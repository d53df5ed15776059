package spec

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// lossTaints are those of a node that is not Ready. They have no value.
var lossTaints = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// WithNodeLost puts tolerations before those of a template. By them pods wait for a node that is not Ready as long as the job says, or else the
// operator's setting. A setting of 0 says nothing. A toleration of the template that names such a taint stays what decides. One without a key would
// too, if it came first: Kubernetes takes the first that applies.
func WithNodeLost(template []corev1.Toleration, job *v1beta1.GenericJob, setting time.Duration) []corev1.Toleration {
	seconds := int64((max(0, setting) + time.Second - 1) / time.Second)
	if n := job.Spec.NodeLost; n != nil {
		seconds = int64(n.AfterSeconds)
	}
	if seconds == 0 {
		return template
	}
	var list []corev1.Toleration
	for _, taint := range lossTaints {
		if !names(template, taint) {
			list = append(list, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	return append(list, template...)
}

// names reports whether one of some tolerations is for this taint of a node that is not Ready alone.
func names(list []corev1.Toleration, taint string) bool {
	for i := range list {
		if list[i].Key == taint && ToleratesLoss(&list[i], taint) {
			return true
		}
	}
	return false
}

// ToleratesLoss reports whether a toleration is for a taint of a node that is not Ready.
func ToleratesLoss(t *corev1.Toleration, taint string) bool {
	exists := t.Operator == corev1.TolerationOpExists
	equal := (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Value == ""
	key := t.Key == taint || t.Key == "" && exists
	return key && (exists || equal) && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
}

package metrics

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What a recovery consists of.
const (
	partDetect  = "detect"
	partReplace = "replace"
	partStep    = "step"
)

// Most recoveries take seconds where code starts again in its pod, and minutes where a node has to be missed first.
var recoveryBuckets = []float64{1, 5, 15, 30, minute, 2 * minute, 5 * minute, 15 * minute, hour}

// lossCauses are what jobs recover from.
var lossCauses = []v1beta1.TimeCause{v1beta1.TimeLostToRestart, v1beta1.TimeLostToHang, v1beta1.TimeLostToDisruption, v1beta1.TimeLostToNode}

// recovered counts what a write has made known of a recovery: each part once, when it is over.
func (c *Counts) recovered(kind string, before, after *v1beta1.Recovery) {
	if after == nil || after.Replaced == nil || !slices.Contains(lossCauses, after.Cause) {
		return
	}
	if before == nil || !before.Began.Equal(&after.Began) {
		before = &v1beta1.Recovery{}
	}
	observe := func(part string, from, to *metav1.Time) {
		c.recovery.WithLabelValues(kind, string(after.Cause), part).Observe(max(0, to.Sub(from.Time).Seconds()))
	}
	if before.Replaced == nil {
		observe(partDetect, &after.Began, &after.Detected)
		observe(partReplace, &after.Detected, after.Replaced)
	}
	if before.Stepped == nil && after.Stepped != nil {
		observe(partStep, after.Replaced, after.Stepped)
	}
}

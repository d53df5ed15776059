package spec

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Kubernetes takes the first toleration that applies to a taint. The order of the two, and what stands behind them, decides.
func TestPodsWaitForALostNodeAsLongAsTheJobSays(t *testing.T) {
	of := func(key string, seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds}
	}
	ready, reach := corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable
	all, gpu := corev1.Toleration{Operator: corev1.TolerationOpExists}, corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}
	noValue := corev1.Toleration{Key: reach}
	other := []corev1.Toleration{{Key: reach, Value: "x"}, {Key: ready, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	n := ptr.To[int64]
	for name, tc := range map[string]struct {
		template []corev1.Toleration
		field    int32
		setting  time.Duration
		want     []corev1.Toleration
	}{
		"nobody says":                      {[]corev1.Toleration{gpu}, 0, 0, []corev1.Toleration{gpu}},
		"the job says":                     {[]corev1.Toleration{gpu}, 30, 0, []corev1.Toleration{of(ready, n(30)), of(reach, n(30)), gpu}},
		"the operator says":                {nil, 0, time.Minute, []corev1.Toleration{of(ready, n(60)), of(reach, n(60))}},
		"the operator says parts of one":   {nil, 0, 1500 * time.Millisecond, []corev1.Toleration{of(ready, n(2)), of(reach, n(2))}},
		"a setting below 0 is none":        {nil, 0, -time.Minute, nil},
		"the job wins over the operator":   {nil, 300, time.Minute, []corev1.Toleration{of(ready, n(300)), of(reach, n(300))}},
		"one for all taints comes behind":  {[]corev1.Toleration{all}, 30, 0, []corev1.Toleration{of(ready, n(30)), of(reach, n(30)), all}},
		"one that names the taint stays":   {[]corev1.Toleration{of(reach, n(900))}, 30, 0, []corev1.Toleration{of(ready, n(30)), of(reach, n(900))}},
		"... also for ever":                {[]corev1.Toleration{of(reach, nil), of(ready, nil)}, 30, 0, []corev1.Toleration{of(reach, nil), of(ready, nil)}},
		"... also without an operator":     {[]corev1.Toleration{noValue}, 30, 0, []corev1.Toleration{of(ready, n(30)), noValue}},
		"one of other taints says nothing": {other, 30, 0, append([]corev1.Toleration{of(ready, n(30)), of(reach, n(30))}, other...)},
	} {
		t.Run(name, func(t *testing.T) {
			job := &v1beta1.GenericJob{}
			if tc.field > 0 {
				job.Spec.NodeLost = &v1beta1.NodeLost{AfterSeconds: tc.field}
			}
			before := fmt.Sprint(tc.template)
			require.Equal(t, tc.want, WithNodeLost(tc.template, job, tc.setting))
			require.Equal(t, before, fmt.Sprint(tc.template))
		})
	}
}

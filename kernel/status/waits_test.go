package status

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHowManyWaitForWhat(t *testing.T) {
	for name, tc := range map[string]struct {
		reasons []string // of worker-0, worker-1 and so on; "" is on its way
		told    string
		want    string
	}{
		"one":                     {[]string{"Unschedulable"}, "Unschedulable", ""},
		"none has a reason":       {[]string{"", ""}, "", ""},
		"all by the same":         {[]string{"Unschedulable", "Unschedulable", "Unschedulable"}, "Unschedulable", " (replicas that wait: Unschedulable: 3)"},
		"another by another":      {[]string{"Unschedulable", "ImagePullBackOff"}, "Unschedulable", " (replicas that wait: ImagePullBackOff: 1, first worker-1)"},
		"the first is on its way": {[]string{"", "A", "A"}, "", " (replicas that wait: A: 2, first worker-1)"},
		"many": {[]string{"A", "B", "C", "C", "D", "E", "A"}, "A",
			" (replicas that wait: A: 2; C: 2, first worker-2; B: 1, first worker-1; D: 1, first worker-4; and others)"},
	} {
		var w waits
		for rank, reason := range tc.reasons {
			if reason != "" {
				w.add(reason, "worker-"+string(rune('0'+rank)))
			}
		}
		require.Equal(t, tc.want, w.beside(tc.told), name)
	}
}

package incident

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Each pod has one failure, the first, and they keep their order.
func TestLateFailuresAreAddedOncePerPod(t *testing.T) {
	of := func(pods ...string) (list []Failure) {
		for i, pod := range pods {
			list = append(list, Failure{ReplicaFailure: v1beta1.ReplicaFailure{Pod: pod, Reason: fmt.Sprint(pod, i)}})
		}
		return list
	}
	for name, tc := range map[string]struct{ list, more, want []string }{
		"none":                       {nil, nil, nil},
		"no late ones":               {[]string{"b", "a"}, nil, []string{"b0", "a1"}},
		"late ones alone":            {nil, []string{"c", "a"}, []string{"c0", "a1"}},
		"others":                     {[]string{"b"}, []string{"c", "a"}, []string{"b0", "c0", "a1"}},
		"some are known":             {[]string{"b", "a"}, []string{"c", "a", "b", "d"}, []string{"b0", "a1", "c0", "d3"}},
		"twice among the late ones":  {[]string{"b"}, []string{"c", "c", "b", "c"}, []string{"b0", "c0"}},
		"twice among the known ones": {[]string{"b", "b"}, []string{"a", "b"}, []string{"b0", "b1", "a0"}},
	} {
		var got []string
		for _, f := range addLate(of(tc.list...), of(tc.more...)) {
			got = append(got, f.Reason)
		}
		require.Equal(t, tc.want, got, name)
	}
}

package incident

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestFirstOf(t *testing.T) {
	at := func(second int, f v1beta1.ReplicaFailure) v1beta1.ReplicaFailure {
		f.Time = &metav1.Time{Time: noon.Add(time.Duration(second) * time.Second)}
		return f
	}
	code := func(n int32) v1beta1.ReplicaFailure { return v1beta1.ReplicaFailure{ExitCode: &n} }
	raised := v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](1), Exception: "ValueError: x"}
	follows := v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](1), Exception: "RuntimeError: x", Follows: "a peer closed its connection"}
	hangs := v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](124), Message: "heartbeat: no line of output matched"}
	placed, waits := hangs, hangs
	placed.Frame, waits.Frame, waits.Follows = "/train.py:57, in wait_for_data", "/train.py:67, in main", "it waits for a peer"
	for name, tc := range map[string]struct {
		list   []v1beta1.ReplicaFailure
		known  int
		first  int
		orElse []int
	}{
		"alone":                           {[]v1beta1.ReplicaFailure{at(0, raised)}, 0, 0, nil},
		"the earlier":                     {[]v1beta1.ReplicaFailure{at(5, raised), at(2, raised)}, 0, 1, nil},
		"a consequence is never first":    {[]v1beta1.ReplicaFailure{at(0, follows), at(2, code(3))}, 0, 1, nil},
		"not if it was heard of before":   {[]v1beta1.ReplicaFailure{at(0, follows), at(60, raised)}, 1, 1, nil},
		"but where nothing else is known": {[]v1beta1.ReplicaFailure{at(3, follows), at(2, follows)}, 0, 1, nil},
		"who says nothing may have been earlier by the clock of its node": {[]v1beta1.ReplicaFailure{at(0, code(1)), at(1, code(137))}, 0, 1, nil},
		"but not by more":                              {[]v1beta1.ReplicaFailure{at(0, code(1)), at(2, code(137))}, 0, 0, nil},
		"nobody can say":                               {[]v1beta1.ReplicaFailure{at(1, code(1)), at(0, code(1)), at(0, follows)}, 0, 0, []int{1}},
		"two exceptions in a second":                   {[]v1beta1.ReplicaFailure{at(0, raised), at(0, raised), at(1, raised)}, 0, 0, []int{1}},
		"in a second, who was heard of first":          {[]v1beta1.ReplicaFailure{at(0, raised), at(0, raised)}, 1, 0, nil},
		"a time that nobody knows comes last":          {[]v1beta1.ReplicaFailure{raised, at(9, raised)}, 0, 1, nil},
		"none has a time":                              {[]v1beta1.ReplicaFailure{raised, raised}, 0, 0, []int{1}},
		"who waits in a collective has not hung first": {[]v1beta1.ReplicaFailure{at(0, waits), at(3, placed)}, 0, 1, nil},
		"of hangs each may have been first":            {[]v1beta1.ReplicaFailure{at(5, hangs), at(0, hangs), at(9, hangs)}, 0, 1, []int{0, 2}},
		"who says where it hangs is believed":          {[]v1beta1.ReplicaFailure{at(0, hangs), at(9, placed), at(5, waits)}, 0, 1, nil},
		"the hang that was reported stays":             {[]v1beta1.ReplicaFailure{at(5, placed), at(0, placed)}, 1, 0, []int{1}},
		"a failure that is no hang was first":          {[]v1beta1.ReplicaFailure{at(0, raised), at(3, hangs)}, 0, 0, nil},
		"what torchrun says of its process is a cause": {[]v1beta1.ReplicaFailure{at(0, code(1)), at(0, v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](1), WorkerSignal: "SIGKILL"})}, 0, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			first, orElse := FirstOf(tc.list, tc.known)
			require.Equal(t, tc.first, first)
			require.ElementsMatch(t, tc.orElse, orElse)
		})
	}
}

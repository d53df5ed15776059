package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Each node counts once, by its first rejection whose end is answered.
func TestRejectionsAreThoseOfAnsweredEndsOncePerNode(t *testing.T) {
	account := func(s v1beta1.ReplicaSpec) *ledger.Account {
		return &ledger.Account{ReplicaType: spec.ReplicaType{ReplicaSpec: &s}}
	}
	worker, store := account(v1beta1.ReplicaSpec{Type: "worker"}), account(v1beta1.ReplicaSpec{Type: "store", Auxiliary: true})
	of := func(a *ledger.Account, pod, node, reason string) *end {
		status := corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod, UID: types.UID(pod)}, Spec: corev1.PodSpec{NodeName: node}, Status: status}
		return &end{account: a, pod: podstate.Pod{Pod: p, Template: &corev1.PodTemplateSpec{}}, ruling: ruling{why: pod}}
	}
	const ofNode, noRoom = "SysctlForbidden", "OutOfcpu"
	ended := []*end{
		of(worker, "w0", "b", noRoom), of(store, "s0", "b", ofNode), of(worker, "w1", "a", ofNode), of(worker, "w2", "b", ofNode),
		of(worker, "w3", "a", ofNode), of(worker, "w4", "c", ofNode),
	}
	for name, tc := range map[string]struct {
		answered []int // of ended
		whole    bool
		want     []string
	}{
		"nothing is answered":                      {nil, false, nil},
		"all are":                                  {[]int{0, 1, 2, 3, 4, 5}, false, []string{"b: s0", "a: w1", "c: w4"}},
		"in another order":                         {[]int{5, 4, 3, 2}, false, []string{"a: w1", "b: w2", "c: w4"}},
		"the first of a node is not":               {[]int{3, 4}, false, []string{"b: w2", "a: w3"}},
		"one with no room is no fault of the node": {[]int{0}, false, nil},
		"one restart answers all":                  {[]int{0}, true, []string{"b: s0", "a: w1", "c: w4"}},
		"that of an auxiliary replica only itself": {[]int{1}, true, []string{"b: s0"}},
	} {
		o := &outcomes{ended: ended}
		for _, i := range tc.answered {
			o.allowedRestarts = append(o.allowedRestarts, *ended[i])
		}
		var got []string
		for _, f := range rejections(o, tc.whole) {
			require.Equal(t, v1beta1.AvoidRejected, f.Reason, name)
			got = append(got, f.Node+": "+f.Message)
		}
		require.Equal(t, tc.want, got, name)
	}
}

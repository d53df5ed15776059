package jobs

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/remember"
)

// TestAJobWhosePodsCannotBeListedIsNotForgotten: the reconcile is tried again, and knows then whether pods are left.
func TestAJobWhosePodsCannotBeListedIsNotForgotten(t *testing.T) {
	var answer error
	r := &Reconciler{memory: &remember.Jobs[remembered]{}, pods: func(client.ObjectKey) ([]*corev1.Pod, error) { return nil, answer }}
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "team", UID: "uid"}}
	r.memory.Of(job)
	answer = errors.New("no")
	_, err := r.sweep(t.Context(), job)
	require.ErrorIs(t, err, answer)
	require.Equal(t, 1, r.memory.Len())
	answer = nil
	_, err = r.sweep(t.Context(), job)
	require.NoError(t, err)
	require.Zero(t, r.memory.Len())
}

package remember_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/controllers/remember"
)

func TestAJobIsRememberedUntilItIsForgottenOrAnotherHasItsName(t *testing.T) {
	var m remember.Jobs[int]
	job := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "1"}}
	*m.Of(job) = 7
	require.Equal(t, 7, *m.Of(job))

	gone := job.DeepCopy()
	gone.UID = ""
	require.Equal(t, 7, *m.Of(gone), "its pods outlive it")

	elsewhere := job.DeepCopy()
	elsewhere.Namespace = "other"
	require.Zero(t, *m.Of(elsewhere))
	m.Forget(client.ObjectKeyFromObject(elsewhere))
	require.Equal(t, 7, *m.Of(job))

	again := job.DeepCopy()
	again.UID = "2"
	require.Zero(t, *m.Of(again), "it is another job of that name")
	require.Equal(t, 1, m.Len())
	m.Forget(client.ObjectKeyFromObject(job))
	require.Zero(t, m.Len())
}

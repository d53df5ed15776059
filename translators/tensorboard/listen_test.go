package tensorboard

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func hostOf(b Board) string {
	args := b.Deployment.Spec.Template.Spec.Containers[0].Args
	return args[1]
}

// In a cluster of IPv6 alone TensorBoard listened where nobody could reach it.
func TestTensorBoardListensWhereItsServiceLeads(t *testing.T) {
	four := build(t, oneClaim, plain)
	for want, families := range map[string][]corev1.IPFamily{
		"0.0.0.0": {corev1.IPv4Protocol, corev1.IPv6Protocol},
		"::":      {corev1.IPv6Protocol},
	} {
		board := build(t, oneClaim, plain)
		service := board.Service.DeepCopy()
		service.Spec.IPFamilies = families
		board.ListenFor(service)
		require.Equal(t, "--host", board.Deployment.Spec.Template.Spec.Containers[0].Args[0])
		require.Equal(t, want, hostOf(board))
		require.Equal(t, want == "0.0.0.0", board.Deployment.Annotations[annotationHash] == four.Deployment.Annotations[annotationHash],
			"what is different is noticed, and what is not is left alone")

		without := build(t, oneClaim+"\nimage: other:1", plain)
		without.ListenAs(board.Deployment)
		require.Equal(t, want, hostOf(without), "an edit after its Service is gone must not move it")
	}
}

// OpenShift's restricted-v2 refuses a user who is not of the namespace's range.
func TestTensorBoardNamesNoUserThatTheTrainingDoesNotName(t *testing.T) {
	pod := build(t, oneClaim, plain).Deployment.Spec.Template.Spec
	require.Nil(t, pod.SecurityContext)
	for _, c := range pod.Containers {
		require.Nil(t, c.SecurityContext.RunAsUser)
		require.Nil(t, c.SecurityContext.RunAsGroup)
	}
}

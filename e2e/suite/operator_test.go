package suite_test

import (
	"context"
	"os/exec"
	"slices"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operator is the operator's Deployment as it is now.
func (s *space) operator() *appsv1.Deployment {
	s.t.Helper()
	deployment := &appsv1.Deployment{}
	require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, deployment))
	return deployment
}

// operatorWith runs the operator with more arguments for the rest of the test.
func (s *space) operatorWith(args ...string) {
	s.t.Helper()
	stock := s.operator().Spec.Template.Spec.Containers[0].Args
	set := func(args []string) {
		// Read anew: its status has changed since.
		deployment := &appsv1.Deployment{}
		require.NoError(s.t, s.Get(context.Background(), client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, deployment))
		patch := client.MergeFrom(deployment.DeepCopy())
		deployment.Spec.Template.Spec.Containers[0].Args = args
		require.NoError(s.t, s.Patch(context.Background(), deployment, patch))
		s.awaitRollout()
	}
	s.t.Cleanup(func() { set(stock) })
	set(append(slices.Clone(stock), args...))
}

// awaitRollout waits until the operator runs as its Deployment says, and no other does.
func (s *space) awaitRollout() {
	s.t.Helper()
	text, err := exec.Command(kubectl, "rollout", "status", "--namespace", operatorNamespace, "deployment/"+operatorName, "--timeout=3m").CombinedOutput()
	require.NoError(s.t, err, string(text))
	s.until("the old operator is gone", func() bool { return len(s.operatorPods()) == 1 })
}

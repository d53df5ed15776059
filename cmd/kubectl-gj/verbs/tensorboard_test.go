package verbs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

func TestTensorBoard(t *testing.T) {
	s := newSpace(t)
	training := s.create("pj", "mnist", specs["pj"]).(*v1beta1.PyTorchTrainingJob)
	_, problem, code := s.types("tensorboard", "mnist")
	require.Equal(t, 1, code)
	require.Contains(t, problem, "PyTorchTrainingJob/mnist has no TensorBoard: spec.tensorboardSpec")

	owned := s.create("gj", "mnist", specs["gj"]).(*v1beta1.GenericJob)
	metav1.SetMetaDataAnnotation(&owned.ObjectMeta, v1beta1.AnnotationCompiledGeneration, "1")
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(training, kindOf(t, "pj").GroupVersionKind)}
	require.NoError(t, s.Update(t.Context(), owned))
	name := tensorboard.Name(training)
	for _, step := range []struct {
		board v1beta1.DependentStatus
		tree  string
		says  string
	}{
		{v1beta1.DependentStatus{Reason: "DependentNotReady", Note: "Its image is being pulled.", Type: "Normal"}, "TensorBoard/" + name + " +NotReady +0 +Its image is being pulled", "It is not ready: DependentNotReady: Its image is being pulled."},
		{v1beta1.DependentStatus{Ready: true, Reason: "DependentReady", Note: "Open it.", Type: "Normal"}, "TensorBoard/" + name + " +Ready +0\n", "open http://localhost:8080"},
	} {
		training.Status.TensorBoard = &step.board
		require.NoError(t, s.Status().Update(t.Context(), training))
		require.Regexp(t, step.tree, s.sees("tree", "mnist"))
		out, problem, code := s.types("tensorboard", "mnist", "--port=8080")
		require.Zero(t, code)
		require.Equal(t, "kubectl port-forward -n "+s.ns+" service/"+name+" 8080:http\n", out)
		require.Contains(t, problem, step.says)
	}

	// What is gone cannot be opened.
	training.Status.TensorBoard = &v1beta1.DependentStatus{Reason: tensorboard.ReasonMissing, Note: "There is no Deployment.", Type: "Normal"}
	require.NoError(t, s.Status().Update(t.Context(), training))
	out, problem, code := s.types("tensorboard", "mnist")
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Contains(t, problem, "the TensorBoard of PyTorchTrainingJob/mnist is not all there: There is no Deployment.")
}

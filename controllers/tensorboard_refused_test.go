package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

func TestTensorBoardLeavesWhatIsSomebodyElsesAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := c.train("taken", withBoard)
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: tensorboard.Name(job)}}
	theirs.Spec.Ports = []corev1.ServicePort{{Port: 1}}
	require.NoError(t, c.Create(c.ctx, theirs))
	state, _, result := c.lookAtBoard("taken")
	require.Equal(t, []string{"Warning", v1beta1.ReasonNameConflict}, []string{state.Type, state.Reason})
	require.Contains(t, state.Note, "Service "+c.ns+"/"+theirs.Name+" exists already")
	require.NotZero(t, result.RequeueAfter)
	c.editBoard("taken", "")
	c.lookAtBoard("taken")
	_, s := c.board(job)
	require.Equal(t, theirs.ResourceVersion, s.ResourceVersion)
	require.NoError(t, c.Delete(c.ctx, theirs))
	c.editBoard("taken", "{trainingLogFilesets: [t9k://pvc/data/runs]}")
	state, _, _ = c.lookAtBoard("taken")
	require.Equal(t, "Create", state.Action)
}

func TestTensorBoardThatIsRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	quota := c.quota("count/deployments.apps", &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: onePodTemplate("main").Spec},
	}})
	c.train("greedy", withBoard)
	state, _, result := c.lookAtBoard("greedy")
	require.Equal(t, v1beta1.ReasonCreateFailed, state.Reason)
	require.Contains(t, state.Note, "exceeded quota")
	require.NotZero(t, result.RequeueAfter)
	c.editBoard("greedy", "{trainingLogFilesets: [t9k://pvc/data/runs], resources: {limits: {memory: 1Gi}, requests: {memory: 2Gi}}}")
	require.NoError(t, c.Delete(c.ctx, quota))
	c.until("the quota is gone", func() bool {
		state, _, result = c.lookAtBoard("greedy")
		return state.Reason == v1beta1.ReasonCreateInvalid
	})
	require.Contains(t, state.Note, "Correct spec.tensorboardSpec")
	require.Zero(t, result.RequeueAfter)
}

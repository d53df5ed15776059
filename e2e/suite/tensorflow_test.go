package suite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestTensorFlow trains with the real TensorFlow, one job after the other: each wants both cores of a small machine.
func TestTensorFlow(t *testing.T) {
	loadFramework(t, "tensorflow")
	t.Run("three workers that step together survive the loss of one, and TensorBoard shows the loss", func(t *testing.T) {
		multiWorkerMirrored(newTrainingSpace(t))
	})
	t.Run("chief, workers and a parameter server survive the loss of a worker", func(t *testing.T) {
		parameterServer(newTrainingSpace(t))
	})
	t.Run("the sample", func(t *testing.T) { sampleTrains(newTrainingSpace(t), "tensorflow", "worker", "20") })
}

func tensorFlowSpec(kind v1beta1.TensorFlowReplicaType, n int32, args ...string) v1beta1.TensorFlowReplicaSpec {
	return v1beta1.TensorFlowReplicaSpec{
		Type: kind, Replicas: ptr.To(n), RestartPolicy: v1beta1.RestartOnFailure,
		Template: trainer("tensorflow", "tensorflow", append([]string{"python"}, args...), nil),
	}
}

func (s *space) submitTensorFlow(name string, spec v1beta1.TensorFlowTrainingJobSpec) tensorFlowJob {
	s.t.Helper()
	job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}, Spec: spec}
	require.NoError(s.t, s.Create(s.ctx, job))
	return tensorFlowJob{job}
}

func multiWorkerMirrored(s *space) {
	job := s.submitTensorFlow("mirrored", v1beta1.TensorFlowTrainingJobSpec{
		TensorBoardSpec: &v1beta1.TensorBoardSpec{TrainingLogFilesets: []string{"t9k://pvc/" + claim + "/logs"}},
		ReplicaSpecs: []v1beta1.TensorFlowReplicaSpec{
			tensorFlowSpec(v1beta1.TensorFlowWorker, 3, "/examples/multiworker.py", "--epochs=12", "--delay=2"),
		},
	})
	gj := s.owned(job)
	s.awaitEpoch(gj, "worker", 0, 3)
	for rank := range 3 {
		require.Contains(s.t, s.logs(gj, "worker", rank), fmt.Sprintf("cluster workers=3 task=worker:%d replicas_in_sync=3", rank))
	}
	s.kill(gj, "worker", 1, "multiworker.py")
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	require.GreaterOrEqual(s.t, job.Status.BackoffCount, int32(1))
	require.Equal(s.t, s.job("mirrored").Status.Conditions, job.Status.Conditions)
	log := s.logs(gj, "worker", 0)
	require.Contains(s.t, log, "resumed after epoch=")
	s.requireLearned(log)
	s.tensorBoardShows(job, "epoch_loss")
}

// tensorBoardShows asks the job's TensorBoard for its scalars, over HTTP and through its Service.
func (s *space) tensorBoardShows(job training, scalar string) {
	s.t.Helper()
	s.awaitTraining(job, "its TensorBoard is ready", func(t *v1beta1.TrainingJobStatus) bool {
		return t.TensorBoard != nil && t.TensorBoard.Ready
	})
	board := job.status().TensorBoard
	require.Equal(s.t, corev1.EventTypeNormal, board.Type)
	require.Equal(s.t, "DependentReady", board.Reason)
	path := fmt.Sprintf("/api/v1/namespaces/%s/services/%s:http/proxy/data/plugin/scalars/tags", s.ns, board.Dependent.Name)
	s.until("TensorBoard shows "+scalar, func() bool {
		text, err := s.kubectl("get", "--raw", path)
		return err == nil && strings.Contains(text, scalar)
	})
}

func parameterServer(s *space) {
	args := []string{"/examples/parameterserver.py", "--epochs=12", "--delay=2"}
	job := s.submitTensorFlow("servers", v1beta1.TensorFlowTrainingJobSpec{
		RunPolicy: &v1beta1.RunPolicy{CleanUpPolicy: "unfinished"},
		ReplicaSpecs: []v1beta1.TensorFlowReplicaSpec{
			tensorFlowSpec(v1beta1.TensorFlowChief, 1, args...),
			tensorFlowSpec(v1beta1.TensorFlowWorker, 2, args...),
			tensorFlowSpec(v1beta1.TensorFlowParameterServer, 1, args...),
		},
	})
	gj := s.owned(job)
	s.awaitEpoch(gj, "chief", 0, 3)
	require.Contains(s.t, s.logs(gj, "chief", 0), "cluster workers=2 ps=1 task=chief:0")
	require.Contains(s.t, s.logs(gj, "worker", 1), "serving task=worker:1")
	require.Contains(s.t, s.logs(gj, "ps", 0), "serving task=ps:0")
	require.Equal(s.t, "master", s.pods(gj)["chief-0"].Labels[v1beta1.LabelT9kRole])
	s.kill(gj, "worker", 1, "parameterserver.py")
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, job.Status.BackoffCount)
	s.requireRuns(gj, "worker", 1, 2)
	s.requireRuns(gj, "chief", 1)
	s.requireLearned(s.logs(gj, "chief", 0))
	s.awaitPods(gj, "chief-0")
}

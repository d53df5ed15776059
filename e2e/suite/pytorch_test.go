package suite_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestPyTorch trains with the real PyTorch, one job after the other: each wants both cores of a small machine.
func TestPyTorch(t *testing.T) {
	loadFramework(t, "pytorch")
	for _, tc := range []struct {
		name string
		test func(*space)
	}{
		{"three ranks meet through the environment; a worker and then the master are lost and recover", plainRanks},
		{"torchrun starts two processes in each of two replicas", torchrunStatic},
		{"an exception in one rank of torchrun is one restart of all", torchrunCrash},
		{"the ranks of twelve torchruns are those of their pods", torchrunRanks},
		{"an elastic job trains with 2, 4 and 2 replicas", torchrunElastic},
		{"a pause ends at the checkpoint, and the job goes on from there", pauseAndGoOn},
		{"a HorizontalPodAutoscaler scales an elastic job", autoscaled},
		{"the sample", func(s *space) { sampleTrains(s, "pytorch", "node", "20") }},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(newTrainingSpace(t)) })
	}
}

func pyTorchSpec(kind string, n int32, command []string, args ...string) v1beta1.PyTorchReplicaSpec {
	return v1beta1.PyTorchReplicaSpec{Type: kind, Replicas: ptr.To(n), Template: trainer("pytorch", "pytorch", command, args)}
}

func (s *space) submitPyTorch(name string, spec v1beta1.PyTorchTrainingJobSpec) pyTorchJob {
	s.t.Helper()
	job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}, Spec: spec}
	require.NoError(s.t, s.Create(s.ctx, job))
	return pyTorchJob{job}
}

func (s *space) editPyTorch(job pyTorchJob, change func(*v1beta1.PyTorchTrainingJobSpec)) {
	s.t.Helper()
	s.until("an edit without a conflict", func() bool {
		s.refresh(job)
		change(&job.Spec)
		err := s.Update(s.ctx, job.PyTorchTrainingJob)
		if apierrors.IsConflict(err) {
			return false
		}
		require.NoError(s.t, err)
		return true
	})
}

func plainRanks(s *space) {
	python := []string{"python", "/examples/ddp.py"}
	job := s.submitPyTorch("plain", v1beta1.PyTorchTrainingJobSpec{
		ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{
			pyTorchSpec("master", 1, python, "--epochs=14", "--delay=2"),
			pyTorchSpec("worker", 2, python, "--epochs=14", "--delay=2"),
		},
	})
	gj := s.owned(job)
	s.awaitEpoch(gj, "master", 0, 2)
	require.Contains(s.t, s.logs(gj, "master", 0), "rank=0 world=3")
	require.Contains(s.t, s.logs(gj, "worker", 0), "rank=1 world=3")
	require.Contains(s.t, s.logs(gj, "worker", 1), "rank=2 world=3")
	s.kill(gj, "worker", 1, "ddp.py")
	s.awaitLog(gj, "master", 0, "resumed after epoch=")
	s.awaitEpoch(gj, "master", 0, 6)
	s.kill(gj, "master", 0, "ddp.py")
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	log := s.logs(gj, "master", 0)
	require.Contains(s.t, log, "resumed after epoch=")
	s.requireLearned(log)
}

func torchrunStatic(s *space) {
	job := s.submitPyTorch("static", v1beta1.PyTorchTrainingJobSpec{
		TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true, ProcPerNode: "2"},
		ReplicaSpecs:   []v1beta1.PyTorchReplicaSpec{pyTorchSpec("node", 2, nil, "/examples/ddp.py", "--epochs=4")},
	})
	gj := s.owned(job)
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	both := s.logs(gj, "node", 0) + s.logs(gj, "node", 1)
	for rank := range 4 {
		require.Contains(s.t, both, fmt.Sprintf("rank=%d world=4", rank))
	}
	s.requireLearned(s.logs(gj, "node", 0))
	require.Zero(s.t, job.Status.BackoffCount)
}

// elasticJob has 2 replicas and may have up to 4.
func elasticJob(epochs, delay int) v1beta1.PyTorchTrainingJobSpec {
	return v1beta1.PyTorchTrainingJobSpec{
		RunPolicy:      &v1beta1.RunPolicy{BackoffLimit: ptr.To[int32](9)},
		TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true, MaxRestarts: ptr.To[int32](20)},
		Elastic: &v1beta1.ElasticConfig{
			Enabled: true, MinReplicas: ptr.To[int32](2), MaxReplicas: ptr.To[int32](4), ExpectedReplicas: ptr.To[int32](2),
		},
		ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{
			pyTorchSpec("node", 1, nil, "/examples/elastic.py", fmt.Sprintf("--epochs=%d", epochs), fmt.Sprintf("--delay=%d", delay)),
		},
	}
}

func torchrunElastic(s *space) {
	job := s.submitPyTorch("elastic", elasticJob(30, 2))
	gj := s.owned(job)
	s.awaitEpoch(gj, "node", 0, 2)
	require.Contains(s.t, s.logs(gj, "node", 0), "world=2 ")
	text, err := s.kubectl("scale", "pj/elastic", "--replicas=4")
	require.NoError(s.t, err, text)
	s.awaitLog(gj, "node", 0, "world=4 ")
	text, err = s.kubectl("scale", "pj/elastic", "--replicas=5")
	require.Error(s.t, err)
	require.Contains(s.t, text, "expectedReplicas must be from minReplicas to maxReplicas")
	text, err = s.kubectl("scale", "pj/elastic", "--replicas=2")
	require.NoError(s.t, err, text)
	s.awaitPods(gj, "node-0", "node-1")
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	log := s.logs(gj, "node", 0)
	require.Regexp(s.t, `(?s)world=2 .*world=4 .*world=2 .*done first_loss`, log)
	s.requireLearned(log)
	s.requireRuns(gj, "node", 1, 1, 1, 1)
}

func pauseAndGoOn(s *space) {
	job := s.submitPyTorch("paused", v1beta1.PyTorchTrainingJobSpec{
		ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{pyTorchSpec("worker", 2, []string{"python", "/examples/ddp.py"}, "--epochs=8", "--delay=2")},
	})
	gj := s.owned(job)
	s.awaitEpoch(gj, "worker", 0, 3)
	pause := func(on bool) {
		s.editPyTorch(job, func(spec *v1beta1.PyTorchTrainingJobSpec) {
			spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: on}}
		})
	}
	pause(true)
	s.awaitTrainingPhase(job, v1beta1.JobPaused)
	s.awaitPods(gj)
	pause(false)
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	log := s.logs(gj, "worker", 0)
	require.Contains(s.t, log, "resumed after epoch=")
	s.requireLearned(log)
	require.Zero(s.t, job.Status.BackoffCount, "a pause is no failure")
}

// The autoscaler has no metrics here. What it does without them is to keep its own bounds, through the scale subresource.
func autoscaled(s *space) {
	elastic := elasticJob(30, 2)
	elastic.Elastic.ExpectedReplicas = nil // the autoscaler could not read the scale of such a job if the operator did not write it
	job := s.submitPyTorch("auto", elastic)
	gj := s.owned(job)
	s.awaitEpoch(gj, "node", 0, 1)
	require.NoError(s.t, s.Create(s.ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "auto"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: v1beta1.GroupVersion.String(), Kind: v1beta1.KindPyTorchTrainingJob, Name: "auto",
			},
			MinReplicas: ptr.To[int32](3), MaxReplicas: 4,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name:   "cpu",
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](80)},
			}}},
		},
	}))
	s.awaitLog(gj, "node", 0, "world=3 ")
	s.refresh(job)
	require.EqualValues(s.t, 3, *job.Spec.Elastic.ExpectedReplicas)
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
}

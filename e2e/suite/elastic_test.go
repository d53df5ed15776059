package suite_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/pytorch"
)

// TestElastic has elastic jobs of the real PyTorch lose what can be lost. It tells how long each took to go on, in lines that begin with
// ELASTIC: quote medians of a quiet machine. With -late=5m replicas come as late as nodes that have to be started first.
func TestElastic(t *testing.T) {
	loadFramework(t, "pytorch")
	t.Run("any replica is lost, the job is scaled, its store is lost", func(t *testing.T) { elasticLosesAll(newTrainingSpace(t)) })
	t.Run("the others wait for a replica that comes late", func(t *testing.T) { elasticWaits(newTrainingSpace(t)) })
	t.Run("two jobs of one name meet at one etcd, each its own", func(t *testing.T) {
		twoWorlds(newTrainingSpace(t), newTrainingSpace(t))
	})
	t.Run("on the network of their node", func(t *testing.T) { torchrunOnHost(newTrainingSpace(t)) })
	t.Run("the node of replica 0 is lost", func(t *testing.T) {
		addNode(t)
		loadFramework(t, "pytorch") // there, too
		elasticLosesNode(newTrainingSpace(t))
	})
}

// elasticOfFour has 4 replicas, of which so many must be there. Nothing sees into its pods: what is process 1 of a container stays it.
func elasticOfFour(least int32, epochs string) v1beta1.PyTorchTrainingJobSpec {
	job := elasticJob(1, 1)
	job.Elastic = &v1beta1.ElasticConfig{Enabled: true, MinReplicas: ptr.To(least), MaxReplicas: ptr.To[int32](4), ExpectedReplicas: ptr.To[int32](4)}
	job.TorchrunConfig.MaxRestarts = nil
	job.ReplicaSpecs = []v1beta1.PyTorchReplicaSpec{pyTorchSpec("node", 1, nil, "/examples/elastic.py", "--epochs="+epochs, "--delay=1")}
	job.ReplicaSpecs[0].Template.Spec.ShareProcessNamespace = nil
	job.ReplicaSpecs[0].Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
	return job
}

func elasticLosesAll(s *space) {
	job := s.submitPyTorch("elastic", elasticOfFour(2, "130"))
	gj := s.owned(job)
	s.awaitLog(gj, "node", 1, "world=4 ")
	s.awaitEpoch(gj, "node", 1, 3)
	pod := func(name string, rank int) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: spec.PodName(gj, name, rank)}}
	}
	scale := func(n string) func() {
		return func() {
			text, err := s.kubectl("scale", "pj/elastic", "--replicas="+n)
			require.NoError(s.t, err, text)
		}
	}
	force := func(p *corev1.Pod) func() {
		return func() { require.NoError(s.t, s.Delete(s.ctx, p, client.GracePeriodSeconds(0))) }
	}
	s.measure(gj, "replica 0 is deleted by force", force(pod("node", 0)))
	s.awaitLog(gj, "node", 0, "world=4 ")
	s.measure(gj, "scaled from 4 to 2", scale("2"))
	s.measure(gj, "scaled from 2 to 4", scale("4"))
	s.awaitLog(gj, "node", 3, "world=4 ")
	s.measure(gj, "the store's pod is deleted", func() { require.NoError(s.t, s.Delete(s.ctx, pod(pytorch.RendezvousType, 0))) })
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	require.Zero(s.t, job.Status.BackoffCount)
	require.EqualValues(s.t, 2, job.Status.DisruptionCount, "replica 0 and the store")
	s.requireRuns(gj, "node", 2, 1, 2, 2) // ranks 2 and 3 were scaled away and came back
	s.requireRuns(gj, pytorch.RendezvousType, 2)
	s.requireLearned(s.logs(gj, "node", 1))
}

// measure does something to a job. It tells how long the job's node-1, which stays, takes until it is done with an epoch in a new world. It
// also tells how many processes have been running or ready to in the last minute.
func (s *space) measure(job *v1beta1.GenericJob, what string, do func()) {
	s.t.Helper()
	worlds := strings.Count(s.logs(job, "node", 1), "world=")
	began := time.Now()
	do()
	s.until("the next epoch after: "+what, func() bool {
		log := s.logs(job, "node", 1)
		return strings.Count(log, "world=") > worlds && len(epochs(log[strings.LastIndex(log, "world="):])) > 0
	})
	took := time.Since(began).Seconds()
	load, err := os.ReadFile("/proc/loadavg")
	require.NoError(s.t, err)
	s.t.Logf("ELASTIC %s: next epoch after %.0f s (load %s)", what, took, strings.Fields(string(load))[0])
}

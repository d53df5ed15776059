package suite_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// elasticLosesNode ends everything on the node of replica 0 at once, as a power failure does. The others go on without it, and with it once it
// has been replaced elsewhere. It comes to that node as a replacement: the store, which would like to be there, too, is elsewhere by then.
func elasticLosesNode(s *space) {
	s.operatorWith("--force-replace-after=5s")
	cordon := func(verb string) {
		text, err := exec.CommandContext(s.ctx, kubectl, verb, second).CombinedOutput()
		require.NoError(s.t, err, string(text))
	}
	cordon("cordon")
	job := elasticOfFour(3, "120")
	job.ReplicaSpecs = append([]v1beta1.PyTorchReplicaSpec{*job.ReplicaSpecs[0].DeepCopy()}, job.ReplicaSpecs...)
	job.ReplicaSpecs[0].Type, job.ReplicaSpecs[1].ScalingWeight = "master", ptr.To[int32](100)
	prefer(&job.ReplicaSpecs[0].Template.Spec, second)
	submitted := s.submitPyTorch("elastic", job)
	gj := s.owned(submitted)
	s.awaitLog(gj, "node", 1, "world=4 ")
	s.awaitEpoch(gj, "node", 1, 3)
	cordon("uncordon")
	master := s.pods(gj)["master-0"]
	require.NoError(s.t, s.Delete(s.ctx, &master))
	allTrainAgain(s, gj, 2)
	require.Equal(s.t, second, s.pods(gj)["master-0"].Spec.NodeName)
	s.measure(gj, "the node of replica 0 is lost", func() { s.killOnNode("everything") })
	allTrainAgain(s, gj, 3)
	require.Equal(s.t, "local", s.pods(gj)["master-0"].Spec.NodeName)
	s.awaitTrainingPhase(submitted, v1beta1.JobSucceeded)
	require.Zero(s.t, submitted.Status.BackoffCount)
	require.EqualValues(s.t, 2, submitted.Status.DisruptionCount)
	s.requireRuns(gj, "master", 3)
	s.requireRuns(gj, "node", 1, 1, 1)
	s.requireRuns(gj, "rendezvous", 1)
}

// allTrainAgain waits until an epoch is done in what is at least the job's n-th world of four.
func allTrainAgain(s *space, job *v1beta1.GenericJob, n int) {
	s.t.Helper()
	s.until("all four train again", func() bool {
		log := s.logs(job, "node", 1)
		last := log[strings.LastIndex(log, "world="):]
		return strings.HasPrefix(last, "world=4 ") && strings.Count(log, "world=4 ") >= n && len(epochs(last)) > 0
	})
}

// prefer has a pod run on a node that added-node tests have for themselves, as long as that is there. The pod leaves the node three seconds
// after that is found lost.
func prefer(p *corev1.PodSpec, node string) {
	p.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
		Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
		}}},
	}}}}
	p.Tolerations = []corev1.Toleration{{Key: "genericjob.test/added-node"}}
	for _, key := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
		p.Tolerations = append(p.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](3),
		})
	}
}

// etcdImage is an etcd that still has the API by which torchrun's agents meet.
const etcdImage = "localhost/genericjob-etcd-v2:dev"

// twoWorlds has two jobs of one name, in two namespaces, meet at one etcd.
func twoWorlds(s, other *space) {
	archive := filepath.Join(s.t.TempDir(), "etcd.tar")
	goRun(s.t, "image", "-ref", etcdImage, "-out", archive, strings.TrimSpace(goRun(s.t, "path", "etcd-v2")))
	goRun(s.t, "load", archive)
	etcd := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "etcd"}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		Containers: []corev1.Container{{
			Name: "etcd", Image: etcdImage, ImagePullPolicy: corev1.PullNever,
			Args:         []string{"--enable-v2", "--data-dir=/data/etcd", "--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://localhost:2379"},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: intstr.FromInt32(2379)},
			}},
		}},
	}}
	require.NoError(s.t, s.Create(s.ctx, etcd))
	s.until("the etcd is ready", func() bool {
		return s.Get(s.ctx, client.ObjectKeyFromObject(etcd), etcd) == nil && slices.ContainsFunc(etcd.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	var jobs []pyTorchJob
	for _, space := range []*space{s, other} {
		jobs = append(jobs, space.submitPyTorch("train", v1beta1.PyTorchTrainingJobSpec{
			TorchrunConfig: &v1beta1.TorchrunConfig{
				Enabled: true, RdzvBackend: "etcd-v2", ExtraOptions: []string{"--rdzv_endpoint=" + etcd.Status.PodIP + ":2379"},
			},
			ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{pyTorchSpec("node", 2, nil, "/examples/elastic.py", "--epochs=20", "--delay=1")},
		}))
	}
	for i, space := range []*space{s, other} {
		gj := space.owned(jobs[i])
		space.awaitTrainingPhase(jobs[i], v1beta1.JobSucceeded)
		log := space.logs(gj, "node", 0) + space.logs(gj, "node", 1)
		for _, line := range []string{"world=2 rank=0 ", "world=2 rank=1 "} {
			require.Equal(s.t, 1, strings.Count(log, line), log)
		}
		space.requireRuns(gj, "node", 1, 1)
	}
	a, b := jobs[0].Status, jobs[1].Status
	require.True(s.t, a.StartTime.Before(b.CompletionTime) && b.StartTime.Before(a.CompletionTime), "both were there at one time")
}

// torchrunOnHost has three replicas on one node use its network: they do not fight for a port, and find each other. Their agents have the same
// process ID, or two of them, each in its own pod.
func torchrunOnHost(s *space) {
	node := pyTorchSpec("node", 3, nil, "/examples/elastic.py", "--epochs=3")
	node.Template.Spec.HostNetwork = true
	job := s.submitPyTorch("host", v1beta1.PyTorchTrainingJobSpec{
		TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true},
		ReplicaSpecs:   []v1beta1.PyTorchReplicaSpec{node},
	})
	gj := s.owned(job)
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	for rank := range 3 {
		require.Contains(s.t, s.logs(gj, "node", rank), "world=3 ")
	}
	s.requireRuns(gj, "node", 1, 1, 1)
	s.requireRuns(gj, "rendezvous", 1)
}

package suite_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// entrant is one way to start a job over.
type entrant struct {
	name      string
	rankLabel string // of its pods
	submit    func(*space, workload)
	restarts  func(*space) string                 // as the status has them
	phases    func(*space) (stop, goOn time.Time) // when all were told so; may be nil
}

var (
	recreate = genericJob("Recreate", v1beta1.RestartRecreate)
	ours     = withPhases(genericJob("InPlace", v1beta1.RestartInPlace))
)

// withPhases has the status say when replicas were told to stop and to go on.
func withPhases(e entrant) entrant {
	e.phases = func(s *space) (stop, goOn time.Time) {
		i := s.job("job").Status.InPlace
		return i.BarrierTime.Time, i.RestartTime.Time
	}
	return e
}

// genericJob is a GenericJob, all of whose replicas start over when one fails.
func genericJob(name string, strategy v1beta1.RestartStrategy) entrant {
	return entrant{
		name: name, rankLabel: v1beta1.LabelReplicaRank,
		submit: func(s *space, w workload) {
			template := w.pod("$(service.worker[0].host)")
			template.Containers[0].Env = append(template.Containers[0].Env, corev1.EnvVar{Name: "RANK", Value: "$(rank)"})
			job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "job"}}
			job.Spec = v1beta1.GenericJobSpec{
				RestartScope: v1beta1.RestartScopeJob, RestartStrategy: strategy, BackoffLimit: ptr.To[int32](5), Service: &v1beta1.ServiceOption{},
				ReplicaSpecs: []v1beta1.ReplicaSpec{{
					Type: "worker", Replicas: ptr.To(int32(w.ranks)), Template: corev1.PodTemplateSpec{Spec: template},
					RestartPolicy: &v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure},
				}},
			}
			require.NoError(s.t, s.Create(s.ctx, job))
		},
		restarts: func(s *space) string { return fmt.Sprint(s.job("job").Status.BackoffCount) },
	}
}

// workload is what a job runs.
type workload struct {
	name         string
	ranks        int
	image        string
	command      []string
	program      string // the first word of its process
	change       func(*corev1.PodSpec)
	failedBefore int                     // how often a process was killed already
	prepare      func(*testing.T)        // once
	fresh        func(*testing.T) string // an image of its own for each job
	before       func(*space)            // before a process is killed
	entrants     []entrant
	patience     time.Duration
}

// pod is the pod of a rank, without its rank. Master is the host of rank 0.
func (w workload) pod(master string) corev1.PodSpec {
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](1),
		Containers: []corev1.Container{{
			Name: "main", Image: w.image, ImagePullPolicy: corev1.PullIfNotPresent, Command: w.command,
			Env: []corev1.EnvVar{
				{Name: "MASTER_ADDR", Value: master}, {Name: "MASTER_PORT", Value: "29500"},
				{Name: "WORLD_SIZE", Value: fmt.Sprint(w.ranks)}, {Name: "OMP_NUM_THREADS", Value: "1"},
			},
		}},
	}
	if w.change != nil {
		w.change(&spec)
	}
	return spec
}

// ddpScript is plain DDP on gloo. It prints what worker prints when it trains.
const ddpScript = `
import os, signal, time
print("started", time.time_ns(), flush=True)
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
first = True
while True:
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    if first:
        print("stepped", time.time_ns(), flush=True)
    first = False
    time.sleep(0.1)
`

// workloads are all rows. The first ones are of a job like any other, the others show where new pods cost more than on an idle node.
func workloads() []workload {
	both := []entrant{recreate, ours}
	list := []workload{
		{name: "8 ranks of a Go program whose survivors exit", entrants: []entrant{recreate, jobSetSidecar, jobSetMain, ours}},
		{name: "8 ranks of a Go program whose survivors hang", command: []string{"/worker", "train", "patient"}, entrants: []entrant{recreate, jobSetSidecar, jobSetMain, ours}},
		{
			name: "8 ranks of a Go program whose survivors exit and its second failure within minutes", failedBefore: 1,
			entrants: []entrant{recreate, jobSetSidecar, jobSetMain, ours},
		},
		{
			name: "8 ranks of DDP on gloo", image: "localhost/genericjob-pytorch:dev", command: []string{"python3", "-c", ddpScript}, program: "python3",
			prepare: func(t *testing.T) { loadFramework(t, "pytorch") }, entrants: []entrant{recreate, jobSetSidecar, ours},
		},
		{name: "50 ranks", ranks: 50, entrants: both},
		{name: "an init container that takes 20 s", change: startsSlowly, entrants: both},
		{name: "two nodes", change: onTwoNodes, prepare: func(t *testing.T) { addNode(t) }, entrants: both},
		{
			name: "two nodes of which the other has to pull the image of 256 MiB", change: onTwoNodes, prepare: addClosedNode,
			fresh: serveImage, before: makeRoomElsewhere, entrants: both,
		},
	}
	for i := range list {
		w := &list[i]
		if w.image == "" {
			w.image = image
		}
		if w.command == nil {
			w.command = []string{"/worker", "train"}
		}
		if w.program == "" {
			w.program = "/worker"
		}
		if w.ranks == 0 {
			w.ranks = 8
		}
		w.patience = 5 * time.Minute
	}
	return list
}

func startsSlowly(pod *corev1.PodSpec) {
	pod.InitContainers = []corev1.Container{{Name: "slow", Image: image, ImagePullPolicy: corev1.PullNever, Command: []string{"/worker", "pause", "20"}}}
}

// onTwoNodes lets pods onto the second node, and prefers to have as many on each.
func onTwoNodes(pod *corev1.PodSpec) {
	pod.Tolerations = []corev1.Toleration{{Key: "genericjob.test/added-node"}}
	pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyIgnore),
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1beta1.LabelReplicaType: "worker"}},
	}}
}

// addClosedNode adds the second node, which takes no pods yet.
func addClosedNode(t *testing.T) {
	addNode(t)
	kubectlOf(t, "cordon", second)
}

// makeRoomElsewhere has new pods come to the second node alone, as where somebody else has taken the place of pods that were deleted.
func makeRoomElsewhere(s *space) {
	kubectlOf(s.t, "cordon", "local")
	kubectlOf(s.t, "uncordon", second)
	s.t.Cleanup(func() {
		for _, args := range [][]string{{"uncordon", "local"}, {"cordon", second}} {
			text, err := exec.Command(kubectl, args...).CombinedOutput()
			require.NoError(s.t, err, string(text))
		}
	})
}

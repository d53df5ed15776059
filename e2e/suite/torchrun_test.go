package suite_test

import (
	"fmt"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// raises is a program of which rank 2 raises an exception in its first start, while the others wait for it.
const raises = `
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, sum = dist.get_rank(), torch.ones(1)
dist.all_reduce(sum)
if rank == 2 and os.environ["GENERICJOB_ATTEMPT"] == "0":
    raise ValueError("loss is nan at step 3 in shard 17")
dist.all_reduce(sum)
print(f"rank={rank} group={os.environ['GROUP_RANK']} sum={sum.item()}", flush=True)
dist.destroy_process_group()
`

// underTorchrun is a job of a fixed size whose torchrun starts any program.
func (s *space) underTorchrun(name string, replicas int32, args ...string) pyTorchJob {
	return s.submitPyTorch(name, v1beta1.PyTorchTrainingJobSpec{
		RunPolicy:      &v1beta1.RunPolicy{BackoffLimit: ptr.To[int32](3)},
		TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true, ExtraOptions: []string{"--no_python"}},
		ReplicaSpecs:   []v1beta1.PyTorchReplicaSpec{pyTorchSpec("node", replicas, nil, args...)},
	})
}

// torchrunCrash: all agents give up at once when one rank raises an exception. That is one restart of all, and not one of each.
func torchrunCrash(s *space) {
	job := s.underTorchrun("crash", 4, "python3", "-c", raises)
	gj := s.owned(job)
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, job.Status.BackoffCount)
	s.awaitEvent(job, corev1.EventTypeWarning, `exited with error code 1: "rank 2: ValueError: loss is nan at step 3 in shard 17"`)
	s.requireRuns(gj, "node", 2, 2, 2, 2)
	for rank := range 4 {
		require.Contains(s.t, s.logs(gj, "node", rank), fmt.Sprintf("rank=%d group=%d sum=", rank, rank))
	}
}

// torchrunRanks: from ten replicas on, the order of host names as text is not that of ranks.
func torchrunRanks(s *space) {
	job := s.underTorchrun("ranks", 12, "sh", "-c", `echo "group=$GROUP_RANK rank=$RANK host=$(hostname)"`)
	gj := s.owned(job)
	s.awaitTrainingPhase(job, v1beta1.JobSucceeded)
	require.Zero(s.t, job.Status.BackoffCount)
	for rank := range 12 {
		// An agent whose store ends first complains of that after this line.
		require.Contains(s.t, s.logs(gj, "node", rank), fmt.Sprintf("group=%d rank=%d host=ranks-node-%d\n", rank, rank, rank))
	}
}

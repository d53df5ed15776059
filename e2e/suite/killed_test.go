package suite_test

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const (
	operatorNamespace = "genericjob-system"
	operatorName      = "genericjob-manager"
)

// fate is what must become of a job, whenever the operator dies.
type fate struct {
	phase    v1beta1.JobPhase
	restarts []int // by rank of the workers
}

// killedOperatorForgetsNothing kills the operator again and again, at moments that the seed chooses, while jobs begin,
// fail, restart and end. Each job must end as if nothing had happened, with each pod accounted for.
func killedOperatorForgetsNothing(s *space, seed int64) {
	s.t.Logf("the schedule's seed is %d: repeat it with -seed=%d", seed, seed)
	chance := rand.New(rand.NewSource(seed))
	fates := map[string]fate{}
	for round := range 5 {
		for n := range 3 {
			name := fmt.Sprintf("job-%d-%d", round, n)
			fates[name] = s.submitFate(name, chance)
		}
		time.Sleep(time.Duration(chance.Intn(6000)) * time.Millisecond)
		s.killOperator(chance.Intn(2) == 0)
	}
	s.requireFates(fates)
}

// requireFates waits until all jobs have ended, and demands that each ended as it must.
func (s *space) requireFates(fates map[string]fate) {
	s.t.Helper()
	for name, want := range fates {
		job := s.awaitPhase(name, want.phase)
		total := 0
		for _, n := range want.restarts {
			total += n
		}
		require.EqualValues(s.t, total, job.Status.BackoffCount, "restarts of %s", name)
		require.Zero(s.t, job.Status.DisruptionCount, name)
		for rank, n := range want.restarts {
			require.Equal(s.t, 1+n, s.runs(job, "worker", rank), "pods of %s worker-%d", name, rank)
		}
		s.awaitReleased(job)
	}
}

// submitFate creates a job that succeeds after some failures of each of its ranks. Or it creates one that fails
// after its only rank has spent its limit.
func (s *space) submitFate(name string, chance *rand.Rand) fate {
	pause := chance.Intn(3)
	if chance.Intn(4) == 0 {
		limit := chance.Intn(3)
		s.submit(name, fmt.Sprintf(`{replicaSpecs: [{type: worker, restartPolicy: {limit: %d}, template: %s}]}`,
			limit, pod(fmt.Sprintf("pause %d then exit 1", pause))))
		return fate{v1beta1.JobFailed, []int{limit}}
	}
	restarts := make([]int, 1+chance.Intn(3))
	steps := fmt.Sprintf("pause %d", pause)
	for rank := range restarts {
		restarts[rank] = chance.Intn(4)
		steps += fmt.Sprintf(" then fail %d 1 %d", restarts[rank], rank)
	}
	s.submit(name, fmt.Sprintf(`{replicaSpecs: [{type: worker, replicas: %d, restartPolicy: {limit: 3}, template: %s}]}`,
		len(restarts), pod(steps)))
	return fate{v1beta1.JobSucceeded, restarts}
}

// killOperator ends the operator without a chance to finish anything. It ends the pod by force. Before that it
// kills the process by signal 9, if that runs on this machine and the dice say so.
func (s *space) killOperator(bySignal bool) {
	for _, pod := range s.operatorPods() {
		if pid := processOf(&pod, "/manager"); bySignal && pid > 0 {
			s.t.Logf("kill -9 %d, the process of %s", pid, pod.Name)
			require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
		}
		s.t.Logf("delete %s by force", pod.Name)
		require.NoError(s.t, client.IgnoreNotFound(s.Delete(s.ctx, &pod, client.GracePeriodSeconds(0))))
	}
}

func (s *space) operatorPods() []corev1.Pod {
	list := &corev1.PodList{}
	require.NoError(s.t, s.List(context.Background(), list, client.InNamespace(operatorNamespace),
		client.MatchingLabels{"app.kubernetes.io/name": "genericjob", "app.kubernetes.io/component": "manager"}))
	return list.Items
}

// processOf finds the process of a program in a pod, by the UID that the kubelet puts into its cgroup. It returns 0 if
// the process does not run on this machine.
func processOf(pod *corev1.Pod, program string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, file := range files {
		groups, err := os.ReadFile(file)
		if err != nil || !strings.Contains(strings.ReplaceAll(string(groups), "_", "-"), string(pod.UID)) {
			continue
		}
		folder := filepath.Dir(file)
		command, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err == nil && strings.HasPrefix(string(command), program+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(folder))
			return pid
		}
	}
	return 0
}

package suite_test

import (
	"context"
	"math/rand"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// TestInPlaceWithoutOperator has jobs restart in place while the operator is killed, and while it is down.
func TestInPlaceWithoutOperator(t *testing.T) {
	t.Run("killed before all are told", func(t *testing.T) { killedWhileItTells(newSpace(t), seed) })
	t.Run("down", func(t *testing.T) { downWhileRanksFail(newSpace(t)) })
}

// killedWhileItTells kills the operator with signal 9 as soon as that has written that all are to begin again. So the operator has told
// few pods, or none. Then killedWhileItTells kills it again at random moments.
func killedWhileItTells(s *space, seed int64) {
	s.t.Logf("the schedule's seed is %d: repeat it with -seed=%d", seed, seed)
	chance := rand.New(rand.NewSource(seed))
	job, before := s.together("killed", 8, 100)
	for round := range 4 {
		pods := s.operatorPods()
		require.Len(s.t, pods, 1)
		pid := processOf(&pods[0], "/manager")
		require.NotZero(s.t, pid, "the operator's process; this test needs the local cluster")
		decided := s.decision(job, int32(round)+1)
		s.killRank(job, 7-round)
		if round < 2 {
			<-decided
		} else {
			time.Sleep(time.Duration(chance.Intn(2500)) * time.Millisecond)
		}
		require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
		told, attempt := s.told(job, round+1), s.job("killed").Status.JobAttempt
		s.t.Logf("round %d: the operator was killed when the status was at attempt %d and %d of 8 pods were told", round, attempt, told)
		s.killOperator(false) // its pod too: the kubelet takes its time to start the same container again
		s.awaitCode(job, round+1, upTo(8)...)
	}
	s.finishRanks(job, 4, 0, upTo(8)...)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

// decision tells when the job's status has reached an attempt.
func (s *space) decision(job *v1beta1.GenericJob, attempt int32) <-chan struct{} {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.ctx, patience)
	events, err := s.Watch(ctx, &v1beta1.GenericJobList{}, client.InNamespace(s.ns), client.MatchingFieldsSelector{
		Selector: fields.OneTermEqualSelector("metadata.name", job.Name)})
	require.NoError(s.t, err)
	reached := make(chan struct{})
	go func() {
		defer stop()
		defer close(reached)
		for e := range events.ResultChan() {
			if j, is := e.Object.(*v1beta1.GenericJob); is && j.Status.JobAttempt >= attempt {
				return
			}
		}
	}()
	return reached
}

// told is how many pods of a job have been told of an attempt.
func (s *space) told(job *v1beta1.GenericJob, attempt int) (n int) {
	s.t.Helper()
	for _, pod := range s.pods(job) {
		order, err := inplace.Parse(pod.Annotations[inplace.Annotation])
		require.NoError(s.t, err)
		if order.Attempt >= attempt {
			n++
		}
	}
	return n
}

// downWhileRanksFail has one rank succeed and two fail while the operator is down for a minute.
func downWhileRanksFail(s *space) {
	job, before := s.together("down", 4, 3)
	s.setOperators(0)
	defer s.setOperators(1)
	s.end(job, "worker", 0, 0)
	s.killRank(job, 1, 2)
	time.Sleep(time.Minute)
	for _, rank := range []int{1, 2} {
		require.NotContains(s.t, s.logs(job, "worker", rank), "jobAttempt", "no code runs without an order")
	}
	require.Equal(s.t, 1, strings.Count(s.logs(job, "worker", 3), "jobAttempt"), "who has not failed runs on")
	s.setOperators(1)
	s.awaitCode(job, 1, 1, 2, 3)
	s.finishRanks(job, 1, 0, 1, 2, 3)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

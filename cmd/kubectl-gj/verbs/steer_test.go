package verbs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A replica that the job does not have never comes: nothing is stopped for it.
func TestAShellInAReplicaThatTheJobDoesNotHaveIsRefusedAtOnce(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("two", phase(v1beta1.JobRunning))
	for _, wrong := range []string{"worker-9", "worker", "master-0"} {
		_, problem, code := s.types("debug", "two", "--shell", wrong)
		require.Equal(t, 2, code)
		require.Contains(t, problem, `job two has no replica "`+wrong+`": it has worker-0 to worker-1`)
	}
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	require.False(t, job.Spec.RunMode.Debugs())
	_, problem, code := s.types("logs", "two", "worker-9")
	require.Equal(t, 2, code)
	require.Contains(t, problem, "it has worker-0 to worker-1")
}

// timesOut runs the program with a time-out that leaves it the time to see the job, however slow the machine is.
func (s *space) timesOut(says string, args ...string) {
	s.t.Helper()
	for timeout := 300 * time.Millisecond; timeout < patience; timeout *= 2 {
		_, problem, code := s.types(append(args, "--timeout="+timeout.String())...)
		require.Equal(s.t, 3, code, problem)
		require.Contains(s.t, problem, "timed out after ")
		if strings.Contains(problem, says) {
			return
		}
	}
	require.FailNow(s.t, "it was not told: "+says)
}

func TestPauseWaits(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("stops", phase(v1beta1.JobRunning))
	s.sees("pause", "stops") // a time-out may come before the edit: then the one below would come between the read of the job and the write of its status
	s.timesOut("GenericJob/stops: Running.", "pause", "stops", "--wait")

	done := make(chan string)
	go func() {
		_, says, _ := s.types("pause", "stops", "--wait")
		done <- says
	}()
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	s.setStatus(job, phase(v1beta1.JobPaused))
	require.Equal(t, "GenericJob/stops pausing\nGenericJob/stops paused\n", <-done)
}

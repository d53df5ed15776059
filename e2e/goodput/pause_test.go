package goodput

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// The job's code saves its state when it is asked to stop. The job is paused after step 9, and goes on with step 10 an hour later.
const (
	pausedAt    = 110
	resumedAt   = 3690
	beginsAgain = 3710
	steps       = 10
)

func TestAPauseIsGoodputForThem(t *testing.T) {
	story := kt.NewStory(kt.Job(kt.Type("worker", 1))).Kubelet(0)
	story.Edit(pausedAt*time.Second, "pauses the job", kt.PauseNow(true)).Kubelet(0)
	story.Edit((resumedAt-pausedAt)*time.Second, "resumes the job", kt.PauseNow(false)).Kubelet((beginsAgain - resumedAt) * time.Second)
	story.Exit(pausedAt*time.Second, "worker", 0, 0)
	job := story.Cluster.Job
	require.Equal(t, v1beta1.JobSucceeded, job.Status.Phase)
	is := job.Status.Time
	require.Equal(t, v1beta1.TimeShares{
		Total: beginsAgain + pausedAt, Productive: 2 * pausedAt, Paused: resumedAt - pausedAt, Starting: beginsAgain - resumedAt,
	}, is.TimeShares)
	require.Equal(t, "0.058", is.Goodput)

	var records [][3]any
	at := func(name string, seconds int, step any) {
		records = append(records, [3]any{name, kt.Start.Unix() + int64(seconds), step})
	}
	for i, begins := range []int{0, beginsAgain} {
		at("job_start", begins, nil)
		at("tpu_init_start", begins, nil)
		at("tpu_init_end", begins+initializes, nil)
		for step := range steps {
			at("step_start", begins+initializes+step*stepTakes, i*steps+step)
		}
	}
	at("job_end", beginsAgain+pausedAt, nil)
	their := theirs(t, records)
	require.InDelta(t, beginsAgain+pausedAt, their.Total, 0.001)
	require.InDelta(t, their.Total-initializes, their.Account[productive], 0.001, "all but the first start, which is known")
	require.InDelta(t, 0.997, their.Goodput, 0.0005)
	require.Zero(t, their.Disruptions)
}

package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

func TestTimeInOneLine(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	f := &jobs.Family{GenericJob: &v1beta1.GenericJob{}}
	require.Empty(t, f.Time(noon))
	s := &f.GenericJob.Status
	s.BackoffCount = 3
	s.Time = &v1beta1.JobTime{
		TimeShares: v1beta1.TimeShares{Total: 3600, Queued: 1200, Lost: v1beta1.LostTime{Restart: 2400}},
		Open:       &v1beta1.OpenTime{Cause: v1beta1.TimeProductive, Since: metav1.NewTime(noon)},
	}
	require.Equal(t, "12 h: 92 % productive, 40 min lost to failures, 20 min queued", f.Time(noon.Add(11*time.Hour)))
	require.Equal(t, "1 h: 0 % productive, 40 min lost to failures, 20 min queued", f.Time(noon.Add(-time.Hour)), "this clock is behind")
	s.BackoffCount, s.DisruptionCount = 0, 2
	require.Contains(t, f.Time(noon), "lost to failures", "the last was followed by no restart")
	s.Time.RecomputedAtLeast = true
	require.Contains(t, f.Time(noon.Add(2520*time.Second)), "1 h 42 min: at most 41 % productive (how many steps were done again is not known), ")
	s.Time.Recomputed = 90
	s.Time.Lost = v1beta1.LostTime{Restart: 1200, Hang: 600, Disruption: 300, Node: 300}
	require.Equal(t, "12 h 30 min: at most 92 % productive (at least 1 min 30 s of it for steps that were done again), 20 min lost to failures, 10 min lost to hangs, "+
		"5 min lost to disruptions, 5 min lost to nodes, 20 min queued", f.Time(noon.Add(11*time.Hour+30*time.Minute)))
	s.Time.RecomputedAtLeast = false
	require.Contains(t, f.Time(noon.Add(11*time.Hour+30*time.Minute)), ": 92 % productive (1 min 30 s of it for steps that were done again), ")
	for seconds, text := range map[int64]string{0: "0 s", 59: "59 s", 60: "1 min", 61: "1 min 1 s", 3601: "1 h", 90000: "1 d 1 h", 86400: "1 d"} {
		require.Equal(t, text, jobs.Spell(seconds))
	}
}

package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

func TestProgressSaysHowLongBeforeTheEndItWasTold(t *testing.T) {
	end := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	told := func(before time.Duration) *v1beta1.Progress {
		return &v1beta1.Progress{Step: new(int64(16)), Time: metav1.NewTime(end.Add(-before))}
	}
	for name, tc := range map[string]struct {
		progress *v1beta1.Progress
		end      *metav1.Time
		want     string
	}{
		"there is none":        {nil, &end, ""},
		"the job goes on":      {told(time.Minute), nil, ""},
		"it hardly matters":    {told(2 * time.Second), &end, ""},
		"it is half a minute":  {told(27 * time.Second), &end, "27s"},
		"nobody knows when":    {&v1beta1.Progress{Loss: "0.1"}, &end, ""},
		"a clock was set back": {told(-time.Minute), &end, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &jobs.Family{GenericJob: &v1beta1.GenericJob{Status: v1beta1.GenericJobStatus{Progress: tc.progress, CompletionTime: tc.end}}}
			f.Job = f.GenericJob
			require.Equal(t, tc.want, f.ProgressEarly())
		})
	}
}

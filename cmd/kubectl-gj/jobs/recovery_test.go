package jobs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

func TestARecoveryInOneLine(t *testing.T) {
	at := func(seconds int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 1, 1, 12, 0, seconds, 0, time.UTC)}
	}
	f := &jobs.Family{GenericJob: &v1beta1.GenericJob{}}
	require.Empty(t, f.Recovery())
	r := &v1beta1.Recovery{Cause: v1beta1.TimeLostToNode, Began: *at(0), Detected: *at(22)}
	s := &f.GenericJob.Status
	s.Recovery = r
	require.Empty(t, f.Recovery(), "what it waits for is told elsewhere")
	r.Replaced = at(41)
	require.Equal(t, "Recovered from a lost node in 41 s: the operator acted after 22 s, all ran again after 41 s", f.Recovery())
	s.Time = &v1beta1.JobTime{Basis: v1beta1.TimeBasisSteps}
	require.Equal(t, "Recovered from a lost node in 41 s: the operator acted after 22 s, all ran again after 41 s, no step is known yet", f.Recovery())
	r.Stepped = at(63)
	require.Equal(t, "Recovered from a lost node in 1 min 3 s: the operator acted after 22 s, all ran again after 41 s, next step after 1 min 3 s", f.Recovery())
	for _, cause := range v1beta1.TimeCauses[2:6] {
		r.Cause = cause
		require.NotContains(t, f.Recovery(), "from  in", cause)
	}
}

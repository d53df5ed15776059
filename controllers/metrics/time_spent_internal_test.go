package metrics

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestSecondsOfClosedIntervalsAreCountedOnce(t *testing.T) {
	c := New()
	job := &v1beta1.GenericJob{}
	write := func(s *v1beta1.JobTime) {
		before := job.Status
		job.Status.Time = s
		c.CountStatusWrite(job, &before, nil, nil)
	}
	write(&v1beta1.JobTime{Open: &v1beta1.OpenTime{Cause: v1beta1.TimeStarting}})
	write(&v1beta1.JobTime{TimeShares: v1beta1.TimeShares{Total: 10, Starting: 10}, DeviceSeconds: &v1beta1.TimeShares{Total: 80, Starting: 80}})
	write(&v1beta1.JobTime{TimeShares: v1beta1.TimeShares{Total: 110, Starting: 10, Productive: 100}, DeviceSeconds: &v1beta1.TimeShares{Total: 880, Starting: 80, Productive: 800}})
	write(job.Status.Time)
	write(&v1beta1.JobTime{TimeShares: v1beta1.TimeShares{Total: 50, Starting: 10, Productive: 40}}) // somebody wrote that
	write(nil)
	require.Equal(t, map[string]float64{
		"time_seconds_total{starting GenericJob}": 10, "time_seconds_total{productive GenericJob}": 100,
		"device_seconds_total{starting GenericJob}": 80, "device_seconds_total{productive GenericJob}": 800,
	}, told(t, c))
}

func TestOpenIntervalsAreTold(t *testing.T) {
	at := func(seconds int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(seconds) * time.Second)) }
	one := &v1beta1.GenericJob{}
	require.Nil(t, Open(one))
	one.Status.Time = &v1beta1.JobTime{Open: &v1beta1.OpenTime{Cause: v1beta1.TimeProductive, Since: at(100), Devices: 8}}
	require.NotNil(t, Open(one))
	collector := &JobCollector{
		Kinds: func() []string { return []string{v1beta1.KindGenericJob} }, Clock: testingclock.NewFakePassiveClock(now),
		Each: func(tell func(Job)) bool {
			tell(Job{Kind: v1beta1.KindGenericJob, Phase: v1beta1.JobRunning, Open: Open(one)})
			tell(Job{Kind: v1beta1.KindGenericJob, Phase: v1beta1.JobRunning, Open: &v1beta1.OpenTime{Cause: v1beta1.TimeProductive, Since: at(10)}})
			tell(Job{Kind: v1beta1.KindGenericJob, Phase: v1beta1.JobRunning, Open: &v1beta1.OpenTime{Cause: v1beta1.TimeQueued, Since: at(-10)}}) // another's clock
			return true
		},
	}
	found := told(t, collector)
	require.InDelta(t, 110, found["time_open_seconds{productive GenericJob}"], 0.01)
	require.InDelta(t, 800, found["device_open_seconds{productive GenericJob}"], 0.01)
	require.Zero(t, found["time_open_seconds{queued GenericJob}"])
}

// Each part counts when it is over, whoever writes: an operator that starts anew finds in the status what was counted.
func TestARecoveryCountsOnce(t *testing.T) {
	c := New()
	job := &v1beta1.GenericJob{}
	at := func(seconds int) *metav1.Time {
		return &metav1.Time{Time: now.Add(time.Duration(seconds) * time.Second)}
	}
	write := func(r *v1beta1.Recovery) {
		before := job.Status
		job.Status.Recovery = r
		c.CountStatusWrite(job, &before, nil, nil)
		c.CountStatusWrite(job, &job.Status, nil, nil)
	}
	node := v1beta1.TimeLostToNode
	write(&v1beta1.Recovery{Cause: node, Began: *at(0), Detected: *at(22)})
	require.Empty(t, told(t, c), "it may still fail")
	write(&v1beta1.Recovery{Cause: node, Began: *at(0), Detected: *at(22), Replaced: at(41)})
	write(&v1beta1.Recovery{Cause: node, Began: *at(0), Detected: *at(22), Replaced: at(41), Stepped: at(63)})
	want := map[string]float64{
		"recovery_seconds{node GenericJob detect}": 22, "recovery_seconds{node GenericJob replace}": 19, "recovery_seconds{node GenericJob step}": 22,
	}
	require.Equal(t, want, told(t, c))
	c = New() // another operator
	write(&v1beta1.Recovery{Cause: node, Began: *at(0), Detected: *at(22), Replaced: at(41), Stepped: at(63)})
	require.Empty(t, told(t, c))
	write(&v1beta1.Recovery{Cause: "nonsense", Began: *at(70), Detected: *at(80), Replaced: at(90)})
	require.Empty(t, told(t, c), "somebody wrote that")
	write(&v1beta1.Recovery{Cause: v1beta1.TimeLostToHang, Began: *at(100), Detected: *at(130), Replaced: at(150)})
	require.Equal(t, map[string]float64{"recovery_seconds{hang GenericJob detect}": 30, "recovery_seconds{hang GenericJob replace}": 20}, told(t, c))
	write(nil)
}

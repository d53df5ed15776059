package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
)

const (
	paused     = v1beta1.TimePaused
	queued     = v1beta1.TimeQueued
	restart    = v1beta1.TimeLostToRestart
	hang       = v1beta1.TimeLostToHang
	disruption = v1beta1.TimeLostToDisruption
	starting   = v1beta1.TimeStarting
	productive = v1beta1.TimeProductive
)

func TestEachSecondHasOneCause(t *testing.T) {
	type present = ledger.TimeFacts
	for name, c := range map[string]struct {
		on     v1beta1.OpenTime
		p      present
		cause  v1beta1.TimeCause
		lostBy v1beta1.TimeCause
	}{
		"nothing has run":                              {v1beta1.OpenTime{Cause: starting}, present{}, starting, ""},
		"all run":                                      {v1beta1.OpenTime{Cause: starting}, present{Runs: true}, productive, ""},
		"a job that trains goes on":                    {v1beta1.OpenTime{Cause: productive}, present{}, productive, ""},
		"... whatever its gang scheduler lacks":        {v1beta1.OpenTime{Cause: productive}, present{Waits: true}, productive, ""},
		"it is paused":                                 {v1beta1.OpenTime{Cause: productive}, present{Paused: true, Runs: true}, paused, ""},
		"paused before queued":                         {v1beta1.OpenTime{Cause: queued}, present{Paused: true, Queued: true}, paused, ""},
		"a pause in a restart":                         {v1beta1.OpenTime{Cause: restart, LostBy: restart}, present{Paused: true}, paused, restart},
		"... and after it":                             {v1beta1.OpenTime{Cause: paused, LostBy: restart}, present{}, restart, restart},
		"after a pause without one":                    {v1beta1.OpenTime{Cause: paused}, present{}, starting, ""},
		"a failure that comes with the pause":          {v1beta1.OpenTime{Cause: productive}, present{Paused: true, Loss: restart}, paused, restart},
		"it waits in a queue":                          {v1beta1.OpenTime{Cause: starting}, present{Queued: true}, queued, ""},
		"its queue takes the quota of a job":           {v1beta1.OpenTime{Cause: productive}, present{Queued: true, Evicted: true}, queued, disruption},
		"... that had not run":                         {v1beta1.OpenTime{Cause: starting}, present{Queued: true, Evicted: true}, queued, ""},
		"... and gives it back":                        {v1beta1.OpenTime{Cause: queued, LostBy: disruption}, present{}, disruption, disruption},
		"a user edits the queue":                       {v1beta1.OpenTime{Cause: productive}, present{Queued: true}, queued, ""},
		"queued before lost":                           {v1beta1.OpenTime{Cause: restart, LostBy: restart}, present{Queued: true}, queued, restart},
		"a gang scheduler is missing":                  {v1beta1.OpenTime{Cause: starting}, present{Waits: true}, queued, ""},
		"... in a restart":                             {v1beta1.OpenTime{Cause: productive}, present{Waits: true, Loss: restart}, queued, restart},
		"code fails":                                   {v1beta1.OpenTime{Cause: productive}, present{Loss: restart}, restart, restart},
		"code hangs":                                   {v1beta1.OpenTime{Cause: productive}, present{Loss: hang}, hang, hang},
		"lost before starting":                         {v1beta1.OpenTime{Cause: starting}, present{Loss: restart}, restart, restart},
		"what began the loss stays":                    {v1beta1.OpenTime{Cause: restart, LostBy: restart}, present{Loss: disruption}, restart, restart},
		"all run again":                                {v1beta1.OpenTime{Cause: restart, LostBy: restart}, present{Runs: true}, productive, ""},
		"one of an elastic job ends, and enough run":   {v1beta1.OpenTime{Cause: productive}, present{Loss: disruption, Runs: true}, productive, ""},
		"all run after a pause that came in a restart": {v1beta1.OpenTime{Cause: restart, LostBy: restart}, present{Runs: true}, productive, ""},
		"somebody wrote nonsense":                      {v1beta1.OpenTime{Cause: "nonsense"}, present{}, starting, ""},
	} {
		t.Run(name, func(t *testing.T) {
			next := c.p.Follows(&c.on)
			require.Equal(t, c.cause, next.Cause)
			require.Equal(t, c.lostBy, next.LostBy)
		})
	}
}

// account is a job whose status is stored after each step.
type account struct {
	t   *testing.T
	job *v1beta1.GenericJob
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func newAccount(t *testing.T) *account {
	n := int32(2)
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", CreationTimestamp: metav1.NewTime(noon)}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: &n}}
	return &account{t, job}
}

// step writes what follows on a look at some seconds, by something that happened at others.
func (a *account) step(p ledger.TimeFacts, from, now float64) *v1beta1.JobTime {
	return a.write(now, func(d ledger.Draft) { d.SetTimeFacts(&p, at(from), at(now)) })
}

func (a *account) write(now float64, do func(ledger.Draft)) *v1beta1.JobTime {
	a.t.Helper()
	before := a.job.Status.Time.DeepCopy()
	d, err := ledger.Load(a.job)
	require.NoError(a.t, err)
	d.KeepTime(at(now))
	do(d)
	require.Equal(a.t, before, a.job.Status.Time, "the stored one was changed")
	var s v1beta1.GenericJobStatus
	d.Save(&s, at(now))
	s.Phase = v1beta1.JobRunning
	a.job.Status = s
	got := s.Time
	sum := int64(0)
	for _, cause := range v1beta1.TimeCauses {
		sum += *got.Of(cause)
		if before != nil {
			require.GreaterOrEqual(a.t, *got.Of(cause), *before.Of(cause))
		}
	}
	require.Equal(a.t, sum, got.Total)
	if got.Open != nil {
		require.Equal(a.t, got.Since.Add(time.Duration(got.Total)*time.Second), got.Open.Since.Time)
	}
	return got
}

func TestTimeIsAddedUp(t *testing.T) {
	a := newAccount(t)
	got := a.step(ledger.TimeFacts{}, 0, 1.5)
	require.Equal(t, starting, got.Open.Cause)
	require.Equal(t, noon, got.Since.Time)
	require.Zero(t, got.Total, "time alone is not written")
	again := a.step(ledger.TimeFacts{}, 500, 500)
	require.Equal(t, got, again, "time alone writes nothing")
	got = a.step(ledger.TimeFacts{Runs: true}, 40.9, 42) // code started before the operator saw it
	require.EqualValues(t, 40, got.Starting)
	got = a.step(ledger.TimeFacts{Loss: hang}, 1000, 2200) // found after 20 minutes
	require.EqualValues(t, 960, got.Productive)
	got = a.step(ledger.TimeFacts{Loss: hang}, 1000, 2300)
	require.EqualValues(t, 960, got.Productive, "it is moved once")
	got = a.step(ledger.TimeFacts{Paused: true}, 2400, 2400)
	require.EqualValues(t, 1400, got.Lost.Hang)
	got = a.step(ledger.TimeFacts{}, 2500, 2500)
	require.Equal(t, hang, got.Open.Cause)
	got = a.step(ledger.TimeFacts{Runs: true}, 2600, 2601)
	require.Equal(t, v1beta1.LostTime{Hang: 1500}, got.Lost)
	got = a.write(3000, func(d ledger.Draft) { d.CloseTime(at(3000)) })
	require.Nil(t, got.Open)
	require.Equal(t, v1beta1.TimeShares{Total: 3000, Starting: 40, Productive: 1360, Paused: 100, Lost: v1beta1.LostTime{Hang: 1500}}, got.TimeShares)
	require.Equal(t, v1beta1.TimeShares{Total: 6000, Starting: 80, Productive: 2720, Paused: 200, Lost: v1beta1.LostTime{Hang: 3000}}, *got.ReplicaSeconds)
	require.Nil(t, got.DeviceSeconds)
	require.Equal(t, got, a.write(4000, func(d ledger.Draft) { d.CloseTime(at(4000)) }), "after the end nothing is added")
}

func TestClocksThatDifferLoseNoSecond(t *testing.T) {
	a := newAccount(t)
	a.step(ledger.TimeFacts{}, 0, 0)
	got := a.step(ledger.TimeFacts{Runs: true}, 100, 50) // the node's clock is ahead
	require.EqualValues(t, 50, got.Starting)
	got = a.step(ledger.TimeFacts{Loss: restart}, 20, 60) // ... or slow
	require.EqualValues(t, 0, got.Productive)
	got = a.step(ledger.TimeFacts{Runs: true}, 3000, 3000) // this operator's clock is ahead
	require.EqualValues(t, 2950, got.Lost.Restart)
	got = a.step(ledger.TimeFacts{Paused: true}, 100, 100) // the next one's is not: what was counted stays
	require.EqualValues(t, 3000, got.Total)
	got = a.step(ledger.TimeFacts{}, 200, 200)
	require.EqualValues(t, 3000, got.Total)
	got = a.write(3100, func(d ledger.Draft) { d.CloseTime(at(3100)) })
	require.EqualValues(t, 3100, got.Total)
}

func TestTimeBeginsAtTheFirstSight(t *testing.T) {
	for name, p := range map[v1beta1.TimeCause]ledger.TimeFacts{paused: {Paused: true}, queued: {Queued: true}} {
		got := newAccount(t).step(p, 1.9, 1.9)
		require.Zero(t, got.Total, name)
		require.Equal(t, name, got.Open.Cause)
		require.Equal(t, noon, got.Open.Since.Time)
	}
	got := newAccount(t).step(ledger.TimeFacts{Runs: true}, 1, 2)
	require.Equal(t, v1beta1.TimeShares{Total: 1, Starting: 1}, got.TimeShares)

	earlier := newAccount(t) // an operator before this one has written a status, without its time
	earlier.job.Status.Phase = v1beta1.JobRunning
	got = earlier.step(ledger.TimeFacts{Runs: true}, 5, 86400)
	require.Equal(t, at(86400), got.Since.Time)
	require.Zero(t, got.Total)

	over := newAccount(t)
	over.job.Status.Phase, over.job.Status.CompletionTime = v1beta1.JobSucceeded, &metav1.Time{Time: noon}
	d, err := ledger.Load(over.job)
	require.NoError(t, err)
	d.KeepTime(at(5))
	require.Nil(t, d.Time(), "nothing is told of a job that was over")
}

func TestTheTrainingOfAShortJobIsFound(t *testing.T) {
	a := newAccount(t)
	got := a.write(90, func(d ledger.Draft) { // one look, after all is over
		d.NoteTraining(at(30), at(90))
		d.CloseTime(at(90))
	})
	require.Equal(t, v1beta1.TimeShares{Total: 90, Starting: 30, Productive: 60}, got.TimeShares)

	b := newAccount(t)
	b.step(ledger.TimeFacts{Paused: true}, 0, 1)
	got = b.write(90, func(d ledger.Draft) { d.NoteTraining(at(30), at(90)) })
	require.Equal(t, paused, got.Open.Cause, "no pods are made in a pause")
}

func TestTimeIsWeighted(t *testing.T) {
	a := newAccount(t)
	two, one := int32(2), int32(1)
	pod := func(resources corev1.ResourceList) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Limits: resources}}}}}
	}
	a.job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{
		{Type: "worker", Replicas: &two, Template: pod(corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), "rdma/hca": resource.MustParse("4"), "cpu": resource.MustParse("9")})},
		{Type: "store", Replicas: &one, Auxiliary: true, Template: pod(nil)},
	}
	a.step(ledger.TimeFacts{}, 0, 1)
	a.step(ledger.TimeFacts{Runs: true}, 10, 10)
	four := int32(4)
	a.job.Spec.ReplicaSpecs[0].Replicas = &four
	got := a.step(ledger.TimeFacts{}, 110, 110)
	require.Equal(t, productive, got.Open.Cause, "new replicas do not stop the others")
	require.Equal(t, v1beta1.TimeShares{Total: 220, Starting: 20, Productive: 200}, *got.ReplicaSeconds)
	require.Equal(t, v1beta1.TimeShares{Total: 1760, Starting: 160, Productive: 1600}, *got.DeviceSeconds)
	got = a.write(120, func(d ledger.Draft) { d.CloseTime(at(120)) })
	require.Equal(t, v1beta1.TimeShares{Total: 120, Starting: 10, Productive: 110}, got.TimeShares)
	require.Equal(t, v1beta1.TimeShares{Total: 260, Starting: 20, Productive: 240}, *got.ReplicaSeconds)
	require.Equal(t, v1beta1.TimeShares{Total: 2080, Starting: 160, Productive: 1920}, *got.DeviceSeconds)
}

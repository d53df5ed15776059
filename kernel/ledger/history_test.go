package ledger_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
)

const node = v1beta1.TimeLostToNode

// told are the entries of a history: kind, begin, end and seconds, and restarts if there are any. What goes on has no end.
func (a *account) told() (list []string) {
	for _, e := range a.job.Status.History.Entries {
		end := ""
		if e.End != nil {
			end = fmt.Sprint(int(e.End.Sub(noon).Seconds()))
		}
		text := fmt.Sprintf("%s %d-%s %d s", e.Kind, int(e.Begin.Sub(noon).Seconds()), end, e.Seconds)
		if e.Restarts > 0 {
			text += fmt.Sprintf(" %d restarts", e.Restarts)
		}
		if e.To != nil {
			text += fmt.Sprintf(" %d to %d", *e.From, *e.To)
		}
		list = append(list, text)
	}
	return list
}

// requireSums checks that the seconds of each kind are those of its share.
func (a *account) requireSums() {
	a.t.Helper()
	h, spent := a.job.Status.History, a.job.Status.Time
	require.LessOrEqual(a.t, len(h.Entries), 20)
	require.True(a.t, slices.IsSortedFunc(h.Entries, func(a, b v1beta1.HistoryEntry) int { return a.Begin.Compare(b.Begin.Time) }))
	for _, kind := range v1beta1.HistoryKinds {
		var seconds, devices int64
		for _, e := range h.Entries {
			if e.Kind == kind {
				seconds, devices = seconds+e.Seconds, devices+e.DeviceSeconds
			}
		}
		for _, s := range h.Earlier {
			if s.Kind == kind {
				seconds, devices = seconds+s.Seconds, devices+s.DeviceSeconds
			}
		}
		var share, weighted int64
		if kind.TimeCause() != "" {
			share = *spent.Of(kind.TimeCause())
			if spent.DeviceSeconds != nil {
				weighted = *spent.DeviceSeconds.Of(kind.TimeCause())
			}
		}
		require.Equal(a.t, share, seconds, kind)
		require.Equal(a.t, weighted, devices, kind)
	}
}

// fails has so many replicas fail at a time, of which the operator learns at another.
func (a *account) fails(by v1beta1.TimeCause, restarts int, from, now float64) {
	a.t.Helper()
	a.write(now, func(d ledger.Draft) {
		for range restarts {
			d.StartOver(d.Accounts()[0], 0, ledger.Restart, time.Hour, false, at(now))
		}
		d.ExplainLoss(v1beta1.HistoryEntry{Pod: "job-worker-0", Message: "no", Begin: metav1.NewTime(at(from))})
		d.SetTimeFacts(&ledger.TimeFacts{Loss: by}, at(from), at(now))
	})
}

func TestTheHistoryFollowsTheTime(t *testing.T) {
	a := newAccount(t)
	a.step(ledger.TimeFacts{Queued: true}, 2, 2)
	require.Equal(t, []string{"Queue 0- 0 s"}, a.told(), "it has never been anything else")
	a.step(ledger.TimeFacts{}, 10, 10)
	a.step(ledger.TimeFacts{Runs: true}, 40, 44)
	require.Equal(t, []string{"Queue 0-10 10 s", "Start 10-40 30 s"}, a.told())
	before := a.job.Status.History
	a.step(ledger.TimeFacts{}, 500, 500)
	require.Equal(t, before, a.job.Status.History, "time alone writes nothing")

	a.fails(restart, 1, 100, 160)
	require.Equal(t, "Failure 100- 0 s 1 restarts", a.told()[2], "it began when the code ended")
	require.Equal(t, "job-worker-0", a.job.Status.History.Entries[2].Pod)
	a.fails(node, 2, 170, 171)
	require.Len(t, a.told(), 3, "what began the loss is its kind, whatever comes then")
	a.step(ledger.TimeFacts{Paused: true}, 200, 200)
	a.step(ledger.TimeFacts{}, 260, 260)
	a.step(ledger.TimeFacts{Runs: true}, 300, 300)
	require.Equal(t, []string{"Failure 100-300 140 s 3 restarts", "Pause 200-260 60 s"}, a.told()[2:], "the loss goes on around the pause")

	a.fails(hang, 1, 400, 1600)
	a.step(ledger.TimeFacts{Runs: true}, 1700, 1700)
	four := int32(4)
	a.job.Spec.ReplicaSpecs[0].Replicas = &four
	a.step(ledger.TimeFacts{}, 1800, 1800)
	a.step(ledger.TimeFacts{Queued: true, Evicted: true}, 1900, 1900)
	a.step(ledger.TimeFacts{}, 2000, 2000)
	a.step(ledger.TimeFacts{Runs: true}, 2010, 2010)
	require.Equal(t, []string{
		"Hang 400-1700 1300 s 1 restarts", "Scale 1800-1800 0 s 2 to 4", "Disruption 1900-2010 10 s", "Queue 1900-2000 100 s",
	}, a.told()[4:])
	a.fails(restart, 0, 2100, 2100)
	a.write(2105, func(d ledger.Draft) { d.CloseTime(at(2105)) })
	require.Equal(t, "Failure 2100-2105 5 s", a.told()[8], "the failure that ends the job")
	require.Empty(t, a.job.Status.History.Earlier)
	a.requireSums()
}

func TestARestartThatCostsNothingIsInTheHistory(t *testing.T) {
	a := newAccount(t)
	a.step(ledger.TimeFacts{}, 0, 0)
	a.step(ledger.TimeFacts{Runs: true}, 20, 20)
	a.write(120, func(d ledger.Draft) {
		d.StartOver(d.Accounts()[0], 1, ledger.Disruption, time.Hour, false, at(120))
		d.ExplainLoss(v1beta1.HistoryEntry{Pod: "job-worker-1", Node: "b", Begin: metav1.NewTime(at(100))})
		d.SetTimeFacts(&ledger.TimeFacts{Loss: disruption, Runs: true}, at(20), at(120)) // enough of the others go on
	})
	require.Equal(t, []string{"Start 0-20 20 s", "Disruption 100-100 0 s 1 restarts"}, a.told())
	require.Equal(t, "b", a.job.Status.History.Entries[1].Node)
	a.requireSums()
}

func TestAFailureThatIsSeenInAPauseBeganWhenTheCodeEnded(t *testing.T) {
	a := newAccount(t)
	a.step(ledger.TimeFacts{}, 0, 0)
	a.step(ledger.TimeFacts{Runs: true}, 20, 20)
	a.step(ledger.TimeFacts{Paused: true}, 50, 50)
	a.write(90, func(d ledger.Draft) {
		d.ExplainLoss(v1beta1.HistoryEntry{Begin: metav1.NewTime(at(60))})
		d.SetTimeFacts(&ledger.TimeFacts{Paused: true, Loss: restart}, at(90), at(90))
	})
	require.Equal(t, []string{"Pause 50- 0 s", "Failure 60- 0 s"}, a.told()[1:])
	a.step(ledger.TimeFacts{}, 100, 100)
	a.step(ledger.TimeFacts{Runs: true}, 130, 130)
	require.Equal(t, []string{"Pause 50-100 50 s", "Failure 60-130 30 s"}, a.told()[1:])
	a.requireSums()
}

func TestWhatWasToldOfAFailureIsCorrectedAsLongAsTheLossGoesOn(t *testing.T) {
	a := newAccount(t)
	a.step(ledger.TimeFacts{Runs: true}, 10, 20)
	other := v1beta1.HistoryEntry{Pod: "job-worker-1", Cause: v1beta1.CauseHardware}
	correct := func(pod string) {
		a.write(200, func(d ledger.Draft) { d.CorrectLoss(v1beta1.HistoryEntry{Pod: pod, Message: "no"}, other) })
	}
	a.fails(restart, 1, 100, 100)
	correct("job-worker-7")
	require.Equal(t, "job-worker-0", a.job.Status.History.Entries[1].Pod, "it was of another failure")
	correct("job-worker-0")
	require.Equal(t, v1beta1.CauseHardware, a.job.Status.History.Entries[1].Cause)
	require.Equal(t, "Failure 100- 0 s 1 restarts", a.told()[1])
	a.step(ledger.TimeFacts{Runs: true}, 250, 250)
	a.fails(disruption, 1, 300, 300)
	correct("job-worker-0")
	require.Equal(t, "job-worker-0", a.job.Status.History.Entries[2].Pod, "a disruption is no failure")
	a.step(ledger.TimeFacts{Runs: true}, 310, 310)
	a.fails(restart, 0, 400, 400)
	a.write(400, func(d ledger.Draft) { d.CloseTime(at(400)) })
	a.job.Status.CompletionTime = &metav1.Time{Time: at(400)}
	d, err := ledger.Load(a.job)
	require.NoError(t, err)
	d.CorrectLoss(v1beta1.HistoryEntry{Pod: "job-worker-0", Message: "no"}, other)
	require.Equal(t, "job-worker-1", d.History().Entries[3].Pod, "kubelets tell of the ends of a job's code after its end, too")
	none := newAccount(t)
	none.job.Status.Phase, none.job.Status.Time = v1beta1.JobRunning, a.job.Status.Time
	d, err = ledger.Load(none.job)
	require.NoError(t, err)
	d.CorrectLoss(v1beta1.HistoryEntry{Pod: "job-worker-0", Message: "no"}, other)
	require.Nil(t, d.History())
}

// TestTenThousandRestartsStaySmall: of 10,000 restarts with long texts few are listed, and the others are summed up.
func TestTenThousandRestartsStaySmall(t *testing.T) {
	a := newAccount(t)
	limits := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	a.job.Spec.ReplicaSpecs[0].Template.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Limits: limits}}}
	a.step(ledger.TimeFacts{Runs: true}, 10, 20)
	causes := []v1beta1.TimeCause{restart, hang, disruption, node}
	largest := 0
	for i := range 10_000 {
		now := float64(100 + 20*i)
		d, err := ledger.Load(a.job)
		require.NoError(t, err)
		d.StartOver(d.Accounts()[0], 0, ledger.Disruption, time.Hour, false, at(now))
		d.ExplainLoss(v1beta1.HistoryEntry{
			Pod: "job-worker-0", Node: strings.Repeat("n", 63), Message: strings.Repeat("a word ", 22), Cause: v1beta1.CauseException, Begin: metav1.NewTime(at(now)),
		})
		d.SetTimeFacts(&ledger.TimeFacts{Loss: causes[i%4]}, at(now), at(now))
		d.SetTimeFacts(&ledger.TimeFacts{Runs: true}, at(now+7), at(now+7))
		d.Save(&a.job.Status, at(now+7))
		if i%20 < 2 {
			raw, err := json.Marshal(a.job.Status.History)
			require.NoError(t, err)
			largest = max(largest, len(raw))
		}
	}
	require.Greater(t, largest, 3000)
	require.LessOrEqual(t, largest, 4000)
	a.requireSums()
	var count, restarts int64
	for _, s := range a.job.Status.History.Earlier {
		count, restarts = count+s.Count, restarts+s.Restarts
	}
	for _, e := range a.job.Status.History.Entries {
		count, restarts = count+1, restarts+e.Restarts
	}
	require.EqualValues(t, 10_001, count, "with the start")
	require.EqualValues(t, 10_000, restarts)

	var read v1beta1.History
	raw, err := json.Marshal(a.job.Status.History)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &read))
	again, err := json.Marshal(read)
	require.NoError(t, err)
	require.JSONEq(t, string(raw), string(again))
}

// TestWhatGoesOnStays: a loss in which a job is paused again and again is not summed up before it is over.
func TestWhatGoesOnStays(t *testing.T) {
	a := newAccount(t)
	a.step(ledger.TimeFacts{Runs: true}, 10, 20)
	a.fails(restart, 1, 100, 100)
	for i := range 30 {
		now := float64(200 + 20*i)
		a.step(ledger.TimeFacts{Paused: true}, now, now)
		a.step(ledger.TimeFacts{}, now+5, now+5)
	}
	require.Len(t, a.told(), 20)
	require.Equal(t, "Failure 100- 535 s 1 restarts", a.told()[0])
	require.Equal(t, []v1beta1.HistorySum{{Kind: v1beta1.HistoryStart, Count: 1, Seconds: 10}, {Kind: v1beta1.HistoryPause, Count: 11, Seconds: 55}}, a.job.Status.History.Earlier)
	a.requireSums()
}

// TestWhateverComesTheSumsAreThoseOfTheTime draws presents and clocks that are set back.
func TestWhateverComesTheSumsAreThoseOfTheTime(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	causes := []v1beta1.TimeCause{"", "", "", restart, hang, disruption, node}
	for range 40 {
		a := newAccount(t)
		now := 0.0
		for range 60 {
			now += float64(draw.IntN(40) - 5)
			p := ledger.TimeFacts{
				Paused: draw.IntN(5) == 0, Queued: draw.IntN(5) == 0, Evicted: draw.IntN(3) == 0, Waits: draw.IntN(5) == 0, Runs: draw.IntN(2) == 0,
				Loss: causes[draw.IntN(len(causes))],
			}
			size := int32(2 + draw.IntN(2))
			a.job.Spec.ReplicaSpecs[0].Replicas = &size
			a.step(p, now-float64(draw.IntN(30)), now)
			a.requireSums()
		}
		a.write(now, func(d ledger.Draft) { d.CloseTime(at(now)) })
		a.requireSums()
		for _, e := range a.job.Status.History.Entries {
			require.NotNil(t, e.End, "nothing goes on once the job is over")
		}
	}
}

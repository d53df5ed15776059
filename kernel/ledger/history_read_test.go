package ledger_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
)

// TestAHistoryThatBeginsLateSumsUpWhatWasBefore: an operator before this one has kept the time alone.
func TestAHistoryThatBeginsLateSumsUpWhatWasBefore(t *testing.T) {
	a := newAccount(t)
	a.step(ledger.TimeFacts{Runs: true}, 10, 20)
	a.fails(hang, 1, 100, 100)
	a.step(ledger.TimeFacts{Runs: true}, 130, 130)
	a.fails(restart, 1, 200, 200)
	a.job.Status.History = nil
	a.step(ledger.TimeFacts{}, 210, 210)
	require.Nil(t, a.job.Status.History, "no write is made for it")
	a.step(ledger.TimeFacts{Runs: true}, 260, 260)
	require.Equal(t, []string{"Failure 200-260 60 s"}, a.told())
	require.Equal(t, []v1beta1.HistorySum{{Kind: v1beta1.HistoryStart, Seconds: 10}, {Kind: v1beta1.HistoryHang, Seconds: 30}}, a.job.Status.History.Earlier)
	a.requireSums()
}

// TestAHistoryThatSomebodyWroteIsRead: what is read can be stored, to read it again changes nothing, and the job goes on.
func TestAHistoryThatSomebodyWroteIsRead(t *testing.T) {
	late := metav1.NewTime(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	early := metav1.NewTime(time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC))
	var many []v1beta1.HistoryEntry
	for range 20 {
		many = append(many, v1beta1.HistoryEntry{Kind: v1beta1.HistoryFailure, Begin: late, Message: strings.Repeat("\x01", 200), Pod: strings.Repeat("p", 253), Node: strings.Repeat("n", 253)})
	}
	for name, h := range map[string]v1beta1.History{
		"nothing":                    {},
		"too many that go on":        {Entries: many},
		"an unknown kind":            {Entries: []v1beta1.HistoryEntry{{Kind: "Nonsense", Begin: late}}, Earlier: []v1beta1.HistorySum{{Kind: "Nonsense", Count: 1}}},
		"no time":                    {Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryPause}}},
		"an end before its begin":    {Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryPause, Begin: late, End: &early}, {Kind: v1beta1.HistoryQueue, Begin: early, End: &metav1.Time{}}}},
		"a size that goes on":        {Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryScale, Begin: late}}},
		"less than nothing":          {Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryHang, Begin: early, Seconds: math.MinInt64, Restarts: -1}}, Earlier: []v1beta1.HistorySum{{Kind: v1beta1.HistoryHang, Count: math.MinInt64}}},
		"sums that overflow":         {Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryFailure, Begin: early, Seconds: math.MaxInt64, DeviceSeconds: math.MaxInt64}}, Earlier: []v1beta1.HistorySum{{Kind: v1beta1.HistoryFailure, Count: math.MaxInt64, Seconds: math.MaxInt64}}},
		"not in order, and too many": {Entries: slices.Repeat([]v1beta1.HistoryEntry{{Kind: v1beta1.HistoryPause, Begin: late, End: &late}, {Kind: v1beta1.HistoryQueue, Begin: early, End: &late}}, 50)},
	} {
		a := newAccount(t)
		a.step(ledger.TimeFacts{Runs: true}, 10, 20)
		a.job.Status.History = h.DeepCopy()
		first := a.read(name)
		require.Equal(t, first, a.read(name), "%s: it is put in order once", name)
		for i := range 30 {
			now := float64(100 + 20*i)
			a.fails(restart, 1, now, now)
			a.step(ledger.TimeFacts{Runs: true}, now+3, now+3)
			a.read(name)
		}
	}
}

// read looks at a job of which nothing is new, and stores the status.
func (a *account) read(name string) *v1beta1.History {
	d, err := ledger.Load(a.job)
	require.NoError(a.t, err)
	d.Save(&a.job.Status, at(0))
	h := a.job.Status.History
	require.LessOrEqual(a.t, len(h.Entries), 20, name)
	require.LessOrEqual(a.t, len(h.Earlier), 8, name)
	for _, e := range h.Entries {
		require.Contains(a.t, v1beta1.HistoryKinds, e.Kind, name)
		require.False(a.t, e.Begin.IsZero() || e.End.IsZero() && e.End != nil, "%s: the apiserver takes no time that is null", name)
		require.False(a.t, e.End != nil && e.End.Before(&e.Begin), name)
		require.GreaterOrEqual(a.t, min(e.Seconds, e.DeviceSeconds, e.Restarts), int64(0), name)
	}
	return h
}

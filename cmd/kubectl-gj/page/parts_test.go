package page

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

func minute(n int) time.Time { return kerneltest.At(time.Duration(n) * time.Minute) }

func meta(n int) metav1.Time { return metav1.NewTime(minute(n)) }

func TestLaterLayersCoverEarlierOnes(t *testing.T) {
	spans := paint([]span{{minute(0), minute(10), "a"}, {minute(-5), minute(4), "b"}, {minute(2), minute(3), "c"}, {minute(4), minute(6), "b"}}, minute(0), minute(8))
	require.Equal(t, []span{{minute(0), minute(2), "b"}, {minute(2), minute(3), "c"}, {minute(3), minute(6), "b"}, {minute(6), minute(8), "a"}}, spans)
	require.Empty(t, paint([]span{{minute(9), minute(9), "a"}}, minute(0), minute(8)))
}

// withTime returns a job whose status says what its time was spent on, and has a history.
func withTime(spent *v1beta1.JobTime, h *v1beta1.History) *Input {
	job := &v1beta1.GenericJob{Status: v1beta1.GenericJobStatus{Time: spent}}
	return &Input{Family: &jobs.Family{Kind: jobs.ByKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)), Job: job, GenericJob: job}, History: h}
}

func TestTheRowOfAJob(t *testing.T) {
	require.Equal(t, []span{{minute(0), minute(60), stateUnknown}}, withTime(nil, nil).jobSpans(minute(0), minute(60)))
	open := &v1beta1.JobTime{Since: meta(0), Open: &v1beta1.OpenTime{Cause: v1beta1.TimeProductive, Since: meta(50)}}
	require.Equal(t, []span{{minute(0), minute(50), stateUnknown}, {minute(50), minute(60), "productive"}}, withTime(open, nil).jobSpans(minute(0), minute(60)))

	end := meta(30)
	h := &v1beta1.History{Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryPause, Begin: meta(22), End: &metav1.Time{Time: minute(25)}}, {Kind: v1beta1.HistoryFailure, Begin: meta(20), End: &end},
		{Kind: v1beta1.HistoryScale, Begin: meta(40)}, {Kind: v1beta1.HistoryNodeLost, Begin: meta(55)}, {Kind: "Later", Begin: meta(33)}}}
	require.Equal(t, []span{{minute(0), minute(20), "productive"}, {minute(20), minute(22), "restart"}, {minute(22), minute(25), "paused"},
		{minute(25), minute(30), "restart"}, {minute(30), minute(55), "productive"}, {minute(55), minute(60), "node"}},
		withTime(&v1beta1.JobTime{Since: meta(0)}, h).jobSpans(minute(0), minute(60)), "a pause in a loss is paused")
	h.Entries = h.Entries[1:]
	h.Earlier = []v1beta1.HistorySum{{Kind: v1beta1.HistoryStart, Count: 1}}
	require.Equal(t, span{minute(0), minute(20), stateUnknown}, withTime(&v1beta1.JobTime{Since: meta(0)}, h).jobSpans(minute(0), minute(60))[0])
}

// The row of the job and the time spent tell the same: each second of the night is in both, with the same cause.
func TestTheRowOfTheJobIsTheTimeSpent(t *testing.T) {
	in := night(t)
	from, to := in.window()
	sums := map[v1beta1.TimeCause]int64{}
	for _, s := range in.jobSpans(from, to) {
		sums[v1beta1.TimeCause(s.is)] += int64(s.to.Sub(s.from) / time.Second)
	}
	shares := in.Family.Status().Time.TimeShares
	for _, cause := range v1beta1.TimeCauses {
		require.Equal(t, *shares.Of(cause), sums[cause], cause)
	}
}

func TestTheTimeSpentSaysHowSureItIs(t *testing.T) {
	spent := &v1beta1.JobTime{TimeShares: v1beta1.TimeShares{Total: 1000, Productive: 722, Starting: 278}}
	says := func() string {
		m := &markup{}
		m.timeSpent(timeSpentOf(spent, minute(0)))
		return m.String()
	}
	require.Contains(t, says(), "goodput 72.2 %.")
	spent.RecomputedAtLeast = true
	require.Contains(t, says(), "goodput at most 72.2 %, how many steps were done again is not known")
	spent.Recomputed = 22
	require.Contains(t, says(), "goodput at most 70.0 %, at least 22 s of the training was spent on steps that had been done before")
	require.NotContains(t, says(), "not known")
}

func TestSharesOfABandAddUp(t *testing.T) {
	in := thousand(90)
	from, to := in.window()
	list := rows(in.replicas(in.jobSpans(from, to), from, to))
	require.Len(t, list, 2, "the first has a row of its own")
	shares := list[1].shares(from, to)
	sum := map[state]float64{}
	for _, s := range shares {
		require.Less(t, s.from, s.to)
		require.Less(t, s.below, s.above)
		sum[s.is] += float64(s.to-s.from) / slots * (s.above - s.below)
	}
	require.InDelta(t, 0.75, sum[stateRunning], 0.02, "two thirds run on, and one third for about 34 minutes of 120")
	require.NotContains(t, sum, stateUnknown)
	require.Equal(t, "60 Running, 29 Failed", list[1].now())
}

func TestAReplicaThatRestartsInPlace(t *testing.T) {
	in := thousand(2)
	job, pod := in.Family.GenericJob, in.Family.Pods[1]
	job.Spec.RestartStrategy, job.Spec.RestartScope = v1beta1.RestartInPlace, v1beta1.RestartScopeJob
	job.Status.JobAttempt = 1
	job.Status.InPlace = &v1beta1.InPlaceStatus{BarrierTime: &metav1.MicroTime{Time: minute(30)}}
	spans := func() (out []state) {
		from, to := in.window()
		for _, s := range paint(in.pod(pod, from, to), from, to) {
			out = append(out, s.is)
		}
		return out
	}
	require.Equal(t, []state{statePending, stateRunning, stateBarrier}, spans())
	job.Status.InPlace.StartedJobAttempt = 1
	job.Status.InPlace.RestartTime = &metav1.MicroTime{Time: minute(31)}
	require.Equal(t, []state{statePending, stateRunning, stateBarrier, stateRunning}, spans())
	grace := int64(30)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: minute(100)}, &grace
	require.Equal(t, []state{statePending, stateRunning, stateBarrier, stateRunning, stateStopping}, spans())
}

// Of the runs of a container its pod tells the present one, and the one before. Its pod is there: nobody knows when the others ran.
func TestEarlierRunsOfAPodThatIsThere(t *testing.T) {
	in := thousand(1)
	pod := in.Family.Pods[0]
	c := &pod.Status.ContainerStatuses[0]
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(minute(60))}}
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(minute(40)), FinishedAt: metav1.NewTime(minute(50)), ExitCode: 1}
	from, to := in.window()
	for restarts, want := range map[int32]state{1: statePending, 3: stateEarlier} {
		c.RestartCount = restarts
		spans := paint(in.pod(pod, from, to), from, to)
		require.Equal(t, want, spans[len(spans)-4].is)
		require.Equal(t, minute(40), spans[len(spans)-4].to)
		require.Equal(t, stateRunning, spans[len(spans)-3].is)
	}
	c.RestartCount = 3
	require.Contains(t, pageOf(t, in), ">earlier runs, of which no times are kept<")
	require.NotContains(t, pageOf(t, in), "its pod is gone")
}

func TestOfManyRunsTheLastAreDrawn(t *testing.T) {
	in := night(t)
	for runs, want := range map[int]string{2: "each run has a line of its own.", mostRuns: "each run has a line of its own.", mostRuns + 1: "each run has a line of its own, of 31 the last 30."} {
		in.Steps = &Steps{Replica: "worker-0"}
		for i := range runs {
			in.Steps.Points = append(in.Steps.Points, Point{At: in.Now, Step: 1, Loss: 1, Told: true, Run: i})
		}
		p := in.progress()
		require.Contains(t, p.Source, want)
		require.Len(t, p.Charts[0].Lines, min(runs, mostRuns))
		require.Equal(t, runs > mostRuns, strings.Contains(p.Charts[0].Desc, "in 31 runs, of 31 the last 30."))
	}
}

func TestStepsOfALog(t *testing.T) {
	s := &Steps{}
	line := &spec.ProgressLine{Pattern: `step:\s*(?P<step>[\d,]+)(?:\s+loss:\s*(?P<loss>[-+.\w]+))?`}
	log := "2026-01-01T00:00:01.5Z \x1b[31mstep:\x1b[0m 999  loss: 2.5\n" +
		"2026-01-01T00:00:02Z nothing\n" +
		"unable to retrieve container logs for containerd://1\n" +
		"2026-01-01T00:00:03Z step: 1,000\rstep: 1,001 loss: nan\n" +
		"2026-01-01T00:00:04Z step: 900 loss: 1e3\n" +
		"2026-01-01T00:00:05Z genericjob wrapper: attempt 1 had ended with exit code 1. The end of what it said:\n" +
		"2026-01-01T00:00:05Z step: 7 loss: 7\n"
	require.NoError(t, s.Add(strings.NewReader(log), line))
	var steps []int64
	for _, p := range s.Points {
		steps = append(steps, p.Step)
	}
	require.Equal(t, []int64{999, 1000, 1001, 900}, steps, "what a wrapper repeats was said before")
	require.InDelta(t, 2.5, s.Points[0].Loss, 0)
	require.True(t, math.IsNaN(s.Points[1].Loss))
	require.Equal(t, []int{0, 1}, []int{s.Points[2].Run, s.Points[3].Run})
	require.Equal(t, 1, s.NotFinite)
	require.Equal(t, int64(1001), *s.FirstNotFinite)
	require.Error(t, s.Add(strings.NewReader(log), &spec.ProgressLine{Pattern: "("}))
}

// Code may tell losses alone.
func TestLossesWithoutSteps(t *testing.T) {
	in := night(t)
	from, to := in.window()
	in.Steps = &Steps{Replica: "worker-0"}
	log := from.Format(time.RFC3339Nano) + " loss 2\n" + from.Add(to.Sub(from)/2).Format(time.RFC3339Nano) + " loss 1\n" + to.Format(time.RFC3339Nano) + " loss nan\n"
	require.NoError(t, in.Steps.Add(strings.NewReader(log), &spec.ProgressLine{Pattern: `loss (?P<loss>[a-z0-9]+)`}))
	p := in.progress()
	require.Len(t, p.Charts, 1)
	require.Equal(t, "Loss by time", p.Charts[0].Title)
	require.Equal(t, fmt.Sprintf("M%s %sL%s %s", chartLeft, chartTop, chartLeft+chartWide/2, chartTop+chartTall), p.Charts[0].Lines[0].D)
	require.Contains(t, p.Source, "1 line reported a loss that is no finite number: not drawn.")
}

func TestCurvesStaySmallAndKeepTheirExtremes(t *testing.T) {
	var run []at
	for i := range 100_000 {
		run = append(run, at{float64(i), math.Sin(float64(i))})
	}
	run[54321].y = 99
	few := thin(run, 400)
	require.LessOrEqual(t, len(few), 400)
	require.Contains(t, few, at{54321, 99})
	require.Equal(t, run[len(run)-1], few[len(few)-1])
	require.Len(t, thin(run[:7], 400), 7)
}

func TestAxes(t *testing.T) {
	texts := func(list []tick) (out []string) {
		for _, t := range list {
			out = append(out, t.Text)
		}
		return out
	}
	require.Equal(t, []string{"2.0", "2.5", "3.0", "3.5"}, texts(newScale(2.1, 3.4, 4).ticks(0, 100)))
	require.Equal(t, []string{"0", "5k", "10k", "15k"}, texts(newScale(10, 14_000, 4).ticks(0, 100)))
	require.Len(t, newScale(3, 3, 4).ticks(0, 100), 5, "one number has an axis, too")
	require.Equal(t, []string{"0 s", "10 min", "20 min", "30 min"}, texts(timeTicks(31*time.Minute, 0, 100, 4)))
	require.NotEmpty(t, timeTicks(40*365*24*time.Hour, 0, 100, 4))
	require.Equal(t, "12.3", px(12.345).String())
}

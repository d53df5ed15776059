package page

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/list"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// apiserver has so many events about a job, and hands out the oldest first, as many as it is asked for.
type apiserver struct {
	client.Reader
	events int
}

func (a apiserver) List(_ context.Context, list client.ObjectList, with ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(with)
	begin, _ := strconv.Atoi(o.Continue)
	out := list.(*corev1.EventList)
	out.Items, out.Continue = nil, ""
	for i := begin; i < a.events; i++ {
		if o.Limit > 0 && i-begin == int(o.Limit) {
			out.Continue = strconv.Itoa(i)
			break
		}
		out.Items = append(out.Items, corev1.Event{Message: fmt.Sprint("event ", i), EventTime: metav1.NewMicroTime(kerneltest.At(time.Duration(i) * time.Second))})
	}
	return nil
}

// Of a job of Kubeflow's kinds there is an event for each pod.
func TestTheLastEventsAreShownHoweverManyThereAre(t *testing.T) {
	for _, n := range []int{0, 3, 500, 501, 12_000} {
		in, err := Read(t.Context(), apiserver{events: n}, nil, night(t).Family, kerneltest.At(0))
		require.NoError(t, err)
		shown := eventsOf(in.Events)
		require.Len(t, shown, min(n, mostEvents))
		for i, e := range shown {
			require.Equal(t, fmt.Sprint("event ", n-1-i), e.Message)
		}
	}
}

// Statuses that no operator of this version writes, and clocks that differ, make no page that lies, and none that is broken.
func TestPagesOfOddJobs(t *testing.T) {
	for name, odd := range map[string]func(in *Input, job *v1beta1.GenericJob){
		"a history of sums alone": func(in *Input, _ *v1beta1.GenericJob) {
			in.History = &v1beta1.History{Earlier: []v1beta1.HistorySum{{Kind: v1beta1.HistoryScale, Count: 1}}}
		},
		"a history that lies in the future": func(in *Input, _ *v1beta1.GenericJob) {
			later := metav1.NewTime(in.Now.Add(time.Hour))
			in.History.Entries = append(in.History.Entries, v1beta1.HistoryEntry{Kind: v1beta1.HistoryHang, Begin: later}, v1beta1.HistoryEntry{Kind: v1beta1.HistoryStart, Begin: later, End: &metav1.Time{Time: in.Now}})
		},
		"entries that overlap, and have no time": func(in *Input, _ *v1beta1.GenericJob) {
			in.History.Entries = append(in.History.Entries, v1beta1.HistoryEntry{Kind: v1beta1.HistoryFailure}, in.History.Entries[0], in.History.Entries[0])
		},
		"no time at all": func(in *Input, job *v1beta1.GenericJob) {
			job.CreationTimestamp, job.Status.CompletionTime, in.Now = metav1.Time{}, &metav1.Time{}, time.Time{}
		},
		"a clock that is behind": func(in *Input, job *v1beta1.GenericJob) {
			job.Status.CompletionTime, in.Now = nil, job.CreationTimestamp.Add(-time.Hour)
			job.Status.Time.Open = &v1beta1.OpenTime{Cause: v1beta1.TimeQueued, Since: job.CreationTimestamp, Devices: 1}
		},
		"no replicas": func(_ *Input, job *v1beta1.GenericJob) { job.Spec.ReplicaSpecs = nil },
		"no status":   func(in *Input, job *v1beta1.GenericJob) { job.Status, in.History = v1beta1.GenericJobStatus{}, nil },
		"events without times": func(in *Input, _ *v1beta1.GenericJob) {
			in.Events = []corev1.Event{{Reason: "A", Series: &corev1.EventSeries{}}, {Reason: "B"}}
		},
		"a long name": func(_ *Input, job *v1beta1.GenericJob) { job.Name = strings.Repeat("n", 253) },
		"labels of pods that somebody has edited": func(in *Input, _ *v1beta1.GenericJob) {
			for _, pod := range in.Family.Pods {
				pod.Labels, pod.Status.ContainerStatuses, pod.Status.StartTime = nil, nil, nil
			}
		},
		"losses as large as numbers get": func(in *Input, _ *v1beta1.GenericJob) {
			in.Steps.Points = nil
			for i, loss := range []float64{1, math.MaxFloat64, -math.MaxFloat64, 5e-324} {
				in.Steps.Points = append(in.Steps.Points, Point{At: in.Now, Step: int64(i), Loss: loss, Told: true})
			}
		},
		"losses as small as they get": func(in *Input, _ *v1beta1.GenericJob) {
			in.Steps.Points = []Point{{At: in.Now, Step: 1, Loss: 5e-324, Told: true}, {At: in.Now, Step: 1, Loss: 1e-323, Told: true}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := night(t)
			odd(in, in.Family.GenericJob)
			text := pageOf(t, in)
			require.NotRegexp(t, `>-[0-9]+ (d|h|min|s)`, text, "no time is less than none")
			require.NotRegexp(t, `NaN|Inf`, text)
		})
	}
}

func TestLabelsOfAnAxisAreShort(t *testing.T) {
	for _, high := range []float64{1, 99.5, 1e4, 1e10, 1e13, 1e30, 1e300} {
		for _, tick := range newScale(high/7, high, 5).ticks(0, 100) {
			require.LessOrEqual(t, len(tick.Text), 8, "%g", high)
		}
	}
}

func TestThePageOfOneJob(t *testing.T) {
	text := ListOf([]list.Row{{Namespace: "ns", Name: "gj/a"}}, false, kerneltest.Start).HTML()
	checkPage(t, text)
	require.Contains(t, text, ">1 job<")
	require.Contains(t, ListOf(nil, true, kerneltest.Start).HTML(), ">0 jobs<")
}

// Two symbols in the row of one replica are not two replicas.
func TestSymbolsOfOneReplicaThatAreNear(t *testing.T) {
	in := night(t)
	in.Family.GenericJob.Status.Failures = nil
	for i := range 3 {
		in.Family.GenericJob.Status.Failures = append(in.Family.GenericJob.Status.Failures, v1beta1.ReplicaFailure{Pod: spec.PodName(in.Family.GenericJob, "worker", 0), Time: &metav1.Time{Time: kerneltest.At(time.Hour + time.Duration(i)*time.Second)}})
	}
	text := pageOf(t, in)
	require.NotContains(t, text, "3 replicas failed")
	require.Contains(t, text, fmt.Sprintf("3 times: failed, too; the first at %s", clock(kerneltest.At(time.Hour))))
}

// A status without a start, or of a clock that is years ahead, spans all the time that there is.
func TestTheLongestTimeHasAnEnd(t *testing.T) {
	require.Len(t, timeTicks(math.MaxInt64, 0, 100, 8), 293, "one for each year")
	require.Len(t, timeTicks(10*time.Second, 0, 100, 8), 6)
}

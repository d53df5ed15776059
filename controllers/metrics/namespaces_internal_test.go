package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// series are how many series a metric has of each namespace.
func series(f *dto.MetricFamily) map[string]int {
	found := map[string]int{}
	for _, m := range f.GetMetric() {
		namespace := ""
		for _, l := range m.GetLabel() {
			if l.GetName() == "namespace" {
				namespace = l.GetValue()
			}
		}
		found[namespace]++
	}
	return found
}

func TestTimesAreToldByNamespaceIfThatIsWanted(t *testing.T) {
	counts, registry := NewByNamespace(tfjob), prometheus.NewPedanticRegistry()
	var there []Job
	registry.MustRegister(counts, &JobCollector{
		Kinds: func() []string { return []string{v1beta1.KindGenericJob, tfjob.Kind} }, Clock: testingclock.NewFakePassiveClock(now), Counts: counts,
		Each: func(tell func(Job)) bool {
			for _, j := range there {
				tell(j)
			}
			return true
		},
	})
	all := func() map[string]*dto.MetricFamily {
		families, err := registry.Gather()
		require.NoError(t, err)
		found := map[string]*dto.MetricFamily{}
		for _, f := range families {
			found[f.GetName()] = f
		}
		return found
	}
	none := all()
	require.NotContains(t, none, "genericjob_time_seconds_total", "no job, no series")
	require.NotContains(t, none, "genericjob_time_open_seconds")

	open := &v1beta1.OpenTime{Cause: v1beta1.TimeProductive, Since: metav1.NewTime(now.Add(-10 * time.Second)), Devices: 8}
	there = []Job{
		{Kind: v1beta1.KindGenericJob, Namespace: "one", Open: open}, {Kind: v1beta1.KindGenericJob, Namespace: "one", Open: open},
		{Kind: tfjob.Kind, Namespace: "two"},
	}
	all()
	second := all()
	each := len(v1beta1.TimeCauses)
	for _, name := range []string{"time_open_seconds", "device_open_seconds", "time_seconds_total", "device_seconds_total"} {
		require.Equal(t, map[string]int{"one": each, "two": each}, series(second["genericjob_"+name]), "%s begins with 0 before there is something to count", name)
	}

	write := func(namespace string, seconds int64) {
		job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		job.Status.Time = &v1beta1.JobTime{TimeShares: v1beta1.TimeShares{Total: seconds, Productive: seconds}, DeviceSeconds: &v1beta1.TimeShares{Total: 2 * seconds, Productive: 2 * seconds}}
		counts.CountStatusWrite(job, &v1beta1.GenericJobStatus{}, nil, nil)
	}
	write("one", 10)
	write("one", 5)
	write("three", 7)
	require.Equal(t, map[string]float64{
		"time_seconds_total{productive GenericJob one}": 15, "device_seconds_total{productive GenericJob one}": 30,
		"time_seconds_total{productive GenericJob three}": 7, "device_seconds_total{productive GenericJob three}": 14,
	}, told(t, counts))

	has := all()
	for name, f := range has { // no other metric names namespaces
		_, named := series(f)[""]
		require.Equal(t, name != "genericjob_time_open_seconds" && name != "genericjob_device_open_seconds" && name != "genericjob_time_seconds_total" && name != "genericjob_device_seconds_total", named, name)
	}
	for _, m := range has["genericjob_device_open_seconds"].GetMetric() {
		if m.GetLabel()[0].GetValue() == string(v1beta1.TimeProductive) && m.GetLabel()[2].GetValue() == "one" {
			require.InDelta(t, 160, m.GetGauge().GetValue(), 0.01)
		}
	}

	there = there[2:]
	require.Equal(t, map[string]int{"two": each}, series(all()["genericjob_time_open_seconds"]), "gauges go with the last job")
	require.Equal(t, map[string]int{"one": each, "two": each, "three": each}, series(all()["genericjob_time_seconds_total"]), "counters stay")
}

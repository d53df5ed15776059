package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Open says what the present time of a job is spent on; nil if that is over, or nobody keeps it.
func Open(job *v1beta1.GenericJob) *v1beta1.OpenTime {
	if job.Status.Time == nil || job.DeletionTimestamp != nil {
		return nil
	}
	return job.Status.Time.Open
}

// openTimeDesc and openDevicesDesc describe the gauges of intervals that go on.
func openTimeDesc(byNamespace bool) *prometheus.Desc {
	return prometheus.NewDesc("genericjob_time_open_seconds",
		"Seconds of the intervals of jobs' lives that go on, which genericjob_time_seconds_total has not yet. Only the leader exports it.", timeLabels(byNamespace), nil)
}

func openDevicesDesc(byNamespace bool) *prometheus.Desc {
	return prometheus.NewDesc("genericjob_device_open_seconds",
		"Seconds of the intervals of jobs' lives that go on, each as often as the job asks for accelerators. Only the leader exports it.", timeLabels(byNamespace), nil)
}

// group are the jobs that one series is about: those of a kind, and of a namespace if that is told.
type group struct{ kind, namespace string }

// openSeconds are the seconds of the intervals of a group that go on.
type openSeconds struct{ seconds, devices map[v1beta1.TimeCause]float64 }

// openByGroup are those of all groups that have series.
type openByGroup struct {
	byNamespace bool
	groups      map[group]openSeconds
}

// newOpenByGroup returns 0 for these kinds. Where namespaces are told, only those have series that have jobs now.
func newOpenByGroup(byNamespace bool, kinds []string) *openByGroup {
	t := &openByGroup{byNamespace, map[group]openSeconds{}}
	for _, kind := range kinds {
		if !byNamespace {
			t.at(group{kind: kind})
		}
	}
	return t
}

func (t *openByGroup) at(g group) openSeconds {
	o, ok := t.groups[g]
	if !ok {
		o = openSeconds{map[v1beta1.TimeCause]float64{}, map[v1beta1.TimeCause]float64{}}
		t.groups[g] = o
	}
	return o
}

func (t *openByGroup) add(j Job, now time.Time) {
	g := group{kind: j.Kind}
	if t.byNamespace {
		g.namespace = j.Namespace
	}
	to := t.at(g)
	if j.Open != nil {
		seconds := max(0, now.Sub(j.Open.Since.Time).Seconds())
		to.seconds[j.Open.Cause] += seconds
		to.devices[j.Open.Cause] += seconds * float64(j.Open.Devices)
	}
}

func (t *openByGroup) collect(to chan<- prometheus.Metric) {
	seconds, devices := openTimeDesc(t.byNamespace), openDevicesDesc(t.byNamespace)
	for g, o := range t.groups {
		for _, cause := range v1beta1.TimeCauses {
			values := timeValues(t.byNamespace, g.kind, cause, g.namespace)
			to <- prometheus.MustNewConstMetric(seconds, prometheus.GaugeValue, o.seconds[cause], values...)
			to <- prometheus.MustNewConstMetric(devices, prometheus.GaugeValue, o.devices[cause], values...)
		}
	}
}

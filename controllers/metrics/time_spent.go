package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// timeLabels returns those of the metrics of time. The label namespace is left out by default: an admin knows how many namespaces there are.
func timeLabels(byNamespace bool) []string {
	if byNamespace {
		return []string{"kind", "cause", "namespace"}
	}
	return []string{"kind", "cause"}
}

// timeValues returns the values of timeLabels.
func timeValues(byNamespace bool, kind string, cause v1beta1.TimeCause, namespace string) []string {
	return []string{kind, string(cause), namespace}[:len(timeLabels(byNamespace))]
}

// beginTimes makes the series of a kind, or of its jobs in a namespace. They stay when the last job there is gone: what a scrape has not
// seen yet would be lost.
func (c *Counts) beginTimes(kind, namespace string) {
	for _, cause := range v1beta1.TimeCauses {
		c.seconds.WithLabelValues(timeValues(c.byNamespace, kind, cause, namespace)...)
		c.deviceSeconds.WithLabelValues(timeValues(c.byNamespace, kind, cause, namespace)...)
	}
}

// spent counts the seconds that a write has added to what a job's time was spent on.
func (c *Counts) spent(kind, namespace string, before, after *v1beta1.JobTime) {
	if after == nil {
		return
	}
	if before == nil {
		before = &v1beta1.JobTime{}
	}
	if c.byNamespace {
		c.beginTimes(kind, namespace)
	}
	c.addShares(c.seconds, kind, namespace, &before.TimeShares, &after.TimeShares)
	c.addShares(c.deviceSeconds, kind, namespace, before.DeviceSeconds, after.DeviceSeconds)
}

func (c *Counts) addShares(to *prometheus.CounterVec, kind, namespace string, before, after *v1beta1.TimeShares) {
	if after == nil {
		return
	}
	if before == nil {
		before = &v1beta1.TimeShares{}
	}
	for _, cause := range v1beta1.TimeCauses {
		if n := *after.Of(cause) - *before.Of(cause); n > 0 { // somebody may have written less into the status
			to.WithLabelValues(timeValues(c.byNamespace, kind, cause, namespace)...).Add(float64(n))
		}
	}
}

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// spent counts the seconds that a write has added to what a job's time was spent on.
func (c *Counts) spent(kind string, before, after *v1beta1.JobTime) {
	if after == nil {
		return
	}
	if before == nil {
		before = &v1beta1.JobTime{}
	}
	addShares(c.seconds, kind, &before.TimeShares, &after.TimeShares)
	addShares(c.deviceSeconds, kind, before.DeviceSeconds, after.DeviceSeconds)
}

func addShares(to *prometheus.CounterVec, kind string, before, after *v1beta1.TimeShares) {
	if after == nil {
		return
	}
	if before == nil {
		before = &v1beta1.TimeShares{}
	}
	for _, cause := range v1beta1.TimeCauses {
		if n := *after.Of(cause) - *before.Of(cause); n > 0 { // somebody may have written less into the status
			to.WithLabelValues(kind, string(cause)).Add(float64(n))
		}
	}
}

// Open says what the present time of a job is spent on; nil if that is over, or nobody keeps it.
func Open(job *v1beta1.GenericJob) *v1beta1.OpenTime {
	if job.Status.Time == nil || job.DeletionTimestamp != nil {
		return nil
	}
	return job.Status.Time.Open
}

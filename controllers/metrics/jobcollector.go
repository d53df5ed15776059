package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Job is what a collector asks of a job.
type Job struct {
	// Kind is the one that the user submitted.
	Kind string
	// Namespace is the one that it is in.
	Namespace string
	// Phase is the one that the user sees; "" is Pending.
	Phase v1beta1.JobPhase
	// Reason is what it waits for, "" if it does not, Since since when.
	Reason string
	Since  time.Time
	// Avoids are the nodes that its new pods avoid.
	Avoids []v1beta1.AvoidedNode
	// Open is what the job spends its time on now; nil if the job is over, or keeps no times.
	Open *v1beta1.OpenTime
}

// JobCollector exports gauges of the jobs that there are. It keeps nothing between two scrapes.
type JobCollector struct {
	// Kinds returns all kinds that jobs may have now.
	Kinds func() []string
	// Each calls a function for each job, and reports whether it knew all jobs. If it did not, nothing is exported: unknown is not 0.
	Each func(func(Job)) bool
	// Clock tells for how long jobs wait.
	Clock clock.PassiveClock
	// Counts may count times by namespace. Then the counters of a namespace begin with 0 as soon as it has a job.
	Counts *Counts
}

func (c *JobCollector) byNamespace() bool { return c.Counts != nil && c.Counts.byNamespace }

var (
	jobsThereAre = prometheus.NewDesc("genericjob_jobs",
		"Jobs that there are, as users submitted them. Only the leader exports it.", []string{"kind", "phase"}, nil)
	jobsThatWait = prometheus.NewDesc("genericjob_jobs_waiting",
		"Jobs that wait, by what for; those too that run though something is blocked. Only the leader exports it.", []string{"kind", "reason"}, nil)
	longestWait = prometheus.NewDesc("genericjob_longest_wait_seconds",
		"For how long the job waits that has waited longest. Only the leader exports it.", []string{"kind", "reason"}, nil)
)

// Describe implements prometheus.Collector.
func (c *JobCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{jobsThereAre, jobsThatWait, longestWait, avoidedNodes, openTimeDesc(c.byNamespace()), openDevicesDesc(c.byNamespace())} {
		to <- d
	}
}

type labelPair struct{ kind, value string }

type wait struct {
	jobs  int
	since time.Time
}

// Collect implements prometheus.Collector.
func (c *JobCollector) Collect(to chan<- prometheus.Metric) {
	jobs, waits, nodes, now := map[labelPair]int{}, map[labelPair]wait{}, avoided{}, c.Clock.Now()
	kinds := c.Kinds()
	times := newOpenByGroup(c.byNamespace(), kinds)
	known := c.Each(func(j Job) {
		times.add(j, now)
		if j.Phase == "" {
			j.Phase = v1beta1.JobPending
		}
		jobs[labelPair{j.Kind, string(j.Phase)}]++
		nodes.add(j)
		if j.Reason == "" {
			return
		}
		at := labelPair{j.Kind, j.Reason}
		w := waits[at]
		if w.jobs++; w.jobs == 1 || j.Since.Before(w.since) {
			w.since = j.Since
		}
		waits[at] = w
	})
	if !known {
		return
	}
	nodes.collect(to)
	times.collect(to)
	c.beginTimes(times)
	for _, kind := range kinds {
		for _, phase := range v1beta1.JobPhases() {
			to <- prometheus.MustNewConstMetric(jobsThereAre, prometheus.GaugeValue, float64(jobs[labelPair{kind, string(phase)}]), kind, string(phase))
		}
		for _, reason := range waitReasons {
			w, ok := waits[labelPair{kind, reason}]
			if !ok { // most never are
				continue
			}
			to <- prometheus.MustNewConstMetric(jobsThatWait, prometheus.GaugeValue, float64(w.jobs), kind, reason)
			to <- prometheus.MustNewConstMetric(longestWait, prometheus.GaugeValue, max(0, now.Sub(w.since).Seconds()), kind, reason)
		}
	}
}

// beginTimes makes the counters of the namespaces that have jobs now: one that first appears with a value is no increase to Prometheus.
func (c *JobCollector) beginTimes(t *openByGroup) {
	if c.byNamespace() {
		for g := range t.groups {
			c.Counts.beginTimes(g.kind, g.namespace)
		}
	}
}

package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Counts are what one process of the operator has done and seen through since it started. A nil one counts nothing.
type Counts struct {
	kinds sync.Map // of schema.GroupVersionKind, beside GenericJob

	started, finished, recovery                                        *prometheus.HistogramVec
	restarts, excepted, disruptions, created, deleted, failed, stopped *prometheus.CounterVec
	seconds, deviceSeconds                                             *prometheus.CounterVec

	byNamespace bool // seconds and deviceSeconds have the label namespace
}

const (
	second = float64(1)
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// Most of a start is over in seconds where there is room, and takes hours where there is none.
var startBuckets = []float64{1, 2, 5, 10, 30, minute, 2 * minute, 5 * minute, 15 * minute, hour, 4 * hour, day}

var endBuckets = []float64{10, minute, 5 * minute, 15 * minute, hour, 3 * hour, 8 * hour, day, 3 * day, 7 * day, 30 * day}

// New returns counts of 0 for GenericJob and for these kinds of training jobs.
func New(kinds ...schema.GroupVersionKind) *Counts { return newCounts(false, kinds) }

// NewByNamespace returns what New does, but the counters of time have a label with the namespace of the job.
func NewByNamespace(kinds ...schema.GroupVersionKind) *Counts { return newCounts(true, kinds) }

func newCounts(byNamespace bool, kinds []schema.GroupVersionKind) *Counts {
	c := &Counts{
		byNamespace: byNamespace,
		started: histogram("genericjob_start_duration_seconds", startBuckets,
			"Time from a job's creation until all of its replicas ran for the first time. Jobs that were stopped before that, by a pause or their queue, are left out.", "kind"),
		finished: histogram("genericjob_completion_duration_seconds", endBuckets,
			"Time from a job's creation to its end. Result is Succeeded or Failed; the _count is how many jobs have ended.", "kind", "result"),
		restarts: counter("genericjob_restarts_total",
			"Restarts that a limit counted. Reason is how the replica had ended.", "kind", "reason"),
		excepted: counter("genericjob_excepted_restarts_total",
			"Restarts that a rule of failurePolicy made and no limit counted. Reason is how the replica had ended.", "kind", "reason"),
		disruptions: counter("genericjob_disruptions_total",
			"Replicas replaced because something outside the job ended them. Reason is what did.", "kind", "reason"),
		created: counter("genericjob_pods_created_total", "Pods created.", "kind"),
		deleted: counter("genericjob_pods_deleted_total",
			"Deletions of pods that the operator asked for. How is Stop (it had not finished), Delete, or Force (its node does not answer).", "kind", "how"),
		failed: counter("genericjob_calls_failed_total",
			"Calls for a job that failed, each time: refused, in conflict or not answered. Object is what the call was about, reason is as in the condition Blocked.", "kind", "object", "reason"),
		stopped: counter("genericjob_reconciles_stopped_total",
			"Reconciles that stopped because the job was no longer what they had planned from. By is conflict (what it was to write has another version) or fence (a live look at the job, or at its pods).", "controller", "by"),
	}
	c.seconds = counter("genericjob_time_seconds_total",
		"Seconds of jobs' lives by what they were spent on, as in status.time: of intervals that are over.", timeLabels(byNamespace)...)
	c.deviceSeconds = counter("genericjob_device_seconds_total",
		"Seconds of jobs' lives by what they were spent on, each as often as the job asked for accelerators: of intervals that are over.", timeLabels(byNamespace)...)
	c.recovery = histogram("genericjob_recovery_seconds", recoveryBuckets,
		"Time that jobs took to recover, by what had ended their code: until the operator acted (detect), then until all replicas ran again (replace), then until the first step (step).", "kind", "cause", "part")
	c.begin(v1beta1.KindGenericJob, ControllerOf(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)))
	for _, kind := range kinds {
		c.AddKind(kind)
	}
	return c
}

// AddKind counts jobs of one more kind of training jobs under its name.
func (c *Counts) AddKind(kind schema.GroupVersionKind) {
	if c == nil {
		return
	}
	c.begin(kind.Kind, ControllerOf(kind))
	for _, reason := range creationRefusals {
		c.failed.WithLabelValues(kind.Kind, ObjectGenericJob, reason)
	}
	c.failed.WithLabelValues(kind.Kind, ObjectOther, v1beta1.ReasonRefused)
	c.kinds.Store(kind, true)
}

// RemoveKind counts jobs of a kind that is no longer served as GenericJobs. What was counted stays.
func (c *Counts) RemoveKind(kind schema.GroupVersionKind) {
	if c != nil {
		c.kinds.Delete(kind)
	}
}

func histogram(name string, buckets []float64, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// begin makes the series of a kind: one that first appears with 1 is no increase to Prometheus.
func (c *Counts) begin(kind, controller string) {
	c.started.WithLabelValues(kind)
	c.created.WithLabelValues(kind)
	for _, result := range []v1beta1.JobPhase{v1beta1.JobSucceeded, v1beta1.JobFailed} {
		c.finished.WithLabelValues(kind, string(result))
	}
	if !c.byNamespace {
		c.beginTimes(kind, "")
	}
	for _, cause := range lossCauses {
		for _, part := range []string{partDetect, partReplace, partStep} {
			c.recovery.WithLabelValues(kind, string(cause), part)
		}
	}
	for _, reason := range restartReasons {
		c.restarts.WithLabelValues(kind, reason)
		c.excepted.WithLabelValues(kind, reason)
	}
	for _, reason := range disruptionReasons {
		c.disruptions.WithLabelValues(kind, reason)
	}
	for _, how := range deletionHows {
		c.deleted.WithLabelValues(kind, how)
	}
	for _, object := range []string{ObjectPod, ObjectService, ObjectGroup} {
		for _, reason := range failureReasons {
			c.failed.WithLabelValues(kind, object, reason)
		}
	}
	c.failed.WithLabelValues(kind, ObjectJob, v1beta1.ReasonRefused)
	for _, by := range []string{ByConflict, ByFence} {
		c.stopped.WithLabelValues(controller, by)
	}
}

func (c *Counts) all() []prometheus.Collector {
	return []prometheus.Collector{c.started, c.finished, c.recovery, c.restarts, c.excepted, c.disruptions, c.created, c.deleted, c.failed, c.stopped, c.seconds, c.deviceSeconds}
}

// Describe implements prometheus.Collector.
func (c *Counts) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.all() {
		m.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (c *Counts) Collect(to chan<- prometheus.Metric) {
	for _, m := range c.all() {
		m.Collect(to)
	}
}

// kindOf returns the kind that the user submitted: anybody may write any owner into a GenericJob, so that is one of those that are served.
func (c *Counts) kindOf(job *v1beta1.GenericJob) string {
	owner := metav1.GetControllerOf(job)
	if owner == nil {
		return v1beta1.KindGenericJob
	}
	if _, ok := c.kinds.Load(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)); ok {
		return owner.Kind
	}
	return v1beta1.KindGenericJob
}

// since returns the time in seconds since a job was created, which the apiserver dates in whole seconds, by its own clock.
func since(created metav1.Time, at time.Time) float64 {
	return max(0, at.Sub(created.Time).Seconds())
}

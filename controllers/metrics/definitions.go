package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// How definitions stand.
const (
	definitionServing = "Serving" // its newest text compiles jobs
	definitionWaiting = "Waiting" // for its kind, for rights, or until its jobs are read
	definitionRefused = "Refused" // an older text may serve on
)

var definitionStates = []string{definitionServing, definitionWaiting, definitionRefused}

// DefinitionCollector exports a gauge of the TrainingFrameworks that there are.
type DefinitionCollector struct {
	// Each calls a function for each definition, and reports whether it knew all definitions. If it did not, nothing is exported.
	Each func(func(*v1beta1.TrainingFramework)) bool
}

var definitions = prometheus.NewDesc("genericjob_definitions",
	"TrainingFrameworks that there are. State is Serving, Waiting (for the kind, for rights, or to be read) or Refused (the newest text; an older one may serve on). Only the leader exports it.",
	[]string{"state"}, nil)

// Describe implements prometheus.Collector.
func (c *DefinitionCollector) Describe(to chan<- *prometheus.Desc) { to <- definitions }

// Collect implements prometheus.Collector.
func (c *DefinitionCollector) Collect(to chan<- prometheus.Metric) {
	counts := map[string]int{}
	if !c.Each(func(d *v1beta1.TrainingFramework) {
		if d.DeletionTimestamp == nil {
			counts[stateOf(d)]++
		}
	}) {
		return
	}
	for _, state := range definitionStates {
		to <- prometheus.MustNewConstMetric(definitions, prometheus.GaugeValue, float64(counts[state]), state)
	}
}

func stateOf(d *v1beta1.TrainingFramework) string {
	conditions := d.Status.Conditions
	switch {
	case meta.IsStatusConditionPresentAndEqual(conditions, v1beta1.FrameworkAccepted, metav1.ConditionFalse):
		return definitionRefused
	case meta.IsStatusConditionTrue(conditions, v1beta1.FrameworkAccepted) && meta.IsStatusConditionTrue(conditions, v1beta1.FrameworkServing):
		return definitionServing
	default:
		return definitionWaiting
	}
}

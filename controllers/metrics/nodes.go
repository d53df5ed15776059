package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// mostNodes is how many nodes the metric names: those that most jobs avoid. No other metric names what is not known beforehand.
const mostNodes = 20

var avoidedNodes = prometheus.NewDesc("genericjob_avoided_nodes",
	"Jobs whose new pods avoid a node, by why: of the 20 nodes that most jobs avoid. Only the leader exports it.", []string{"node", "reason"}, nil)

// avoidedNode is what a job avoids.
type avoidedNode struct {
	node   string
	reason v1beta1.AvoidReason
}

// avoided counts jobs by the nodes that they avoid.
type avoided map[avoidedNode]int

func (a avoided) add(j Job) {
	for _, n := range j.Avoids {
		a[avoidedNode{n.Node, n.Reason}]++
	}
}

// collect tells of the worst nodes.
func (a avoided) collect(to chan<- prometheus.Metric) {
	jobs := map[string]int{}
	for n, count := range a {
		jobs[n.node] += count
	}
	var worst []string
	for node := range jobs {
		worst = append(worst, node)
	}
	slices.SortFunc(worst, func(x, y string) int { return cmp.Or(cmp.Compare(jobs[y], jobs[x]), cmp.Compare(x, y)) })
	worst = worst[:min(len(worst), mostNodes)]
	for n, count := range a {
		if slices.Contains(worst, n.node) {
			to <- prometheus.MustNewConstMetric(avoidedNodes, prometheus.GaugeValue, float64(count), n.node, string(n.reason))
		}
	}
}

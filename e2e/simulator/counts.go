package simulator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/metrics"
)

// sums are what metrics count.
type sums struct{ restarts, excepted, disruptions, starts, ends, created, deleted int }

func (s *sums) add(o sums) {
	s.restarts += o.restarts
	s.excepted += o.excepted
	s.disruptions += o.disruptions
	s.starts += o.starts
	s.ends += o.ends
	s.created += o.created
	s.deleted += o.deleted
}

// gained is what the write of a status makes true.
func gained(old, next client.Object) sums {
	was, ok := old.(*v1beta1.GenericJob)
	if !ok {
		return sums{}
	}
	is := next.(*v1beta1.GenericJob)
	s := sums{
		restarts: int(is.Status.BackoffCount - was.Status.BackoffCount), excepted: int(is.Status.ExceptedCount - was.Status.ExceptedCount),
		disruptions: int(is.Status.DisruptionCount - was.Status.DisruptionCount),
	}
	if was.Status.CompletionTime == nil && is.Status.CompletionTime != nil {
		s.ends = 1
	}
	return s
}

// answer notes what a call has done for an operator that has heard so.
func (o *operator) answer(err error, s sums) {
	if err == nil {
		o.answered.add(s)
	}
}

func ifPod(o client.Object, s sums) sums {
	if _, ok := o.(*corev1.Pod); ok {
		return s
	}
	return sums{}
}

// counted compares the metrics of a process that ends with what it had done, by the answers that it got. It compares what all have counted with what
// was written.
func (t *truth) counted(o *operator) {
	has, answered := sumsOf(o.counts), o.answered
	answered.starts = has.starts
	if has != answered {
		t.violated("metrics count what was not done", "%s has counted %+v, and was told of %+v", o.name, has, o.answered)
	}
	t.metrics.add(has)
	if m := t.metrics; m.restarts > t.written.restarts || m.excepted > t.written.excepted || m.disruptions > t.written.disruptions || m.ends > t.written.ends || m.starts > len(t.records) {
		t.violated("metrics count twice", "all operators have counted %+v, and the statuses say %+v", m, t.written)
	}
}

// sumsOf are the sums over all labels. Training jobs that ended without a GenericJob are left out.
func sumsOf(counts *metrics.Counts) sums {
	values := make(chan prometheus.Metric, 256)
	go func() {
		defer close(values)
		counts.Collect(values)
	}()
	var s sums
	names := descriptions{}
	for m := range values {
		name := names.of(m.Desc())
		var v dto.Metric
		if err := m.Write(&v); err != nil {
			panic(fmt.Sprintf("read a metric: %v", err))
		}
		n := int(v.GetCounter().GetValue() + float64(v.GetHistogram().GetSampleCount()))
		training := slices.ContainsFunc(v.GetLabel(), func(l *dto.LabelPair) bool {
			return l.GetName() == "kind" && l.GetValue() != v1beta1.KindGenericJob
		})
		switch {
		case strings.Contains(name, "genericjob_restarts_total"):
			s.restarts += n
		case strings.Contains(name, "genericjob_excepted_restarts_total"):
			s.excepted += n
		case strings.Contains(name, "genericjob_disruptions_total"):
			s.disruptions += n
		case strings.Contains(name, "genericjob_completion_duration_seconds") && !training:
			s.ends += n
		case strings.Contains(name, "genericjob_start_duration_seconds"):
			s.starts += n
		case strings.Contains(name, "genericjob_pods_created_total"):
			s.created += n
		case strings.Contains(name, "genericjob_pods_deleted_total"):
			s.deleted += n
		}
	}
	return s
}

// descriptions are the texts of what describes metrics. Many metrics have the same description, and its text is costly.
type descriptions map[*prometheus.Desc]string

func (d descriptions) of(desc *prometheus.Desc) string {
	if d[desc] == "" {
		d[desc] = desc.String()
	}
	return d[desc]
}

package metrics

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

var update = flag.Bool("update", false, "write the table of metrics into the document")

// document is where people read what there is.
const document = "../../deploy/monitoring/README.md"

var (
	now   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	tfjob = schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "TFJob"}
)

// gather is all that an operator tells that serves TFJobs beside GenericJobs, of which there is one for each reason to wait.
func gather(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(New(tfjob), &JobCollector{
		Kinds: func() []string { return []string{v1beta1.KindGenericJob, tfjob.Kind} }, Clock: testingclock.NewFakePassiveClock(now),
		Each: func(tell func(Job)) bool {
			for _, reason := range waitReasons {
				tell(Job{Kind: tfjob.Kind, Reason: reason, Since: now.Add(-time.Minute)})
			}
			tell(Job{Kind: tfjob.Kind, Avoids: []v1beta1.AvoidedNode{
				{Node: "names of nodes", Reason: v1beta1.AvoidFailed}, {Node: "names of nodes", Reason: v1beta1.AvoidRejected}, {Node: "names of nodes", Reason: v1beta1.AvoidLost},
				{Node: "names of nodes", Reason: v1beta1.AvoidCondition},
			}})
			return true
		},
	}, Build{Version: "as v0.1.0", Commit: "hashes; unknown", Go: "as go1.26.8"}.Collector(),
		&DefinitionCollector{Each: func(func(*v1beta1.TrainingFramework)) bool { return true }})
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]*dto.MetricFamily{}
	for _, f := range families {
		found[f.GetName()] = f
	}
	return found
}

// values are those of each label, in order.
func values(f *dto.MetricFamily) map[string][]string {
	found := map[string][]string{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if !slices.Contains(found[l.GetName()], l.GetValue()) {
				found[l.GetName()] = append(found[l.GetName()], l.GetValue())
			}
		}
	}
	for _, list := range found {
		slices.Sort(list)
	}
	return found
}

func table(families map[string]*dto.MetricFamily) string {
	var text, labels strings.Builder
	text.WriteString("| metric | type | labels | what it says |\n|---|---|---|---|\n")
	labels.WriteString("\n| label | of | values |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		has := values(f)
		names := slices.Sorted(maps.Keys(has))
		fmt.Fprintf(&text, "| `%s` | %s | `%s` | %s |\n", name, strings.ToLower(f.GetType().String()), strings.Join(names, "`, `"), f.GetHelp())
		for _, l := range names {
			if l != "kind" && l != "controller" && name != longest {
				fmt.Fprintf(&labels, "| `%s` | `%s` | %s |\n", l, name, strings.Join(has[l], ", "))
			}
		}
	}
	return text.String() + labels.String()
}

const longest = "genericjob_longest_wait_seconds" // has the reasons of genericjob_jobs_waiting

func TestEveryMetricIsInTheDocument(t *testing.T) {
	const begin, end = "<!-- metrics: go test ./controllers/metrics -update -->\n", "<!-- end -->"
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "%s has no line %q", document, begin)
	has, after, found := strings.Cut(rest, end)
	require.True(t, found)
	want := table(gather(t))
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(before+begin+want+end+after), 0o644))
		return
	}
	require.Equal(t, want, has, "go test ./controllers/metrics -update writes the table")
}

func TestMetricsAreFewAndNamedAsPrometheusWantsIt(t *testing.T) {
	families, series := gather(t), 0
	require.LessOrEqual(t, len(families), 20)
	for name, f := range families {
		require.Regexp(t, `^genericjob_[a-z_]+$`, name)
		require.Equal(t, f.GetType() == dto.MetricType_COUNTER, strings.HasSuffix(name, "_total"), name)
		require.LessOrEqual(t, len(values(f)), 3, name)
		require.Regexp(t, `^[A-Z].*\.$`, f.GetHelp())
		for _, forbidden := range []string{"job", "name", "namespace", "pod", "node", "uid", "message"} {
			if name != "genericjob_avoided_nodes" || forbidden != "node" { // of which there are 20 at most
				require.NotContains(t, values(f), forbidden, name)
			}
		}
		for _, m := range f.GetMetric() {
			series += 1 + len(m.GetHistogram().GetBucket())
		}
	}
	require.Less(t, series, 545, "for two kinds")
}

func TestOnlyTheWorstNodesAreTold(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&JobCollector{
		Kinds: func() []string { return nil }, Clock: testingclock.NewFakePassiveClock(now),
		Each: func(tell func(Job)) bool {
			for i := range 1000 {
				tell(Job{Avoids: []v1beta1.AvoidedNode{{Node: fmt.Sprintf("node-%03d", i), Reason: v1beta1.AvoidFailed}, {Node: "worst", Reason: v1beta1.AvoidLost}}})
			}
			tell(Job{Avoids: []v1beta1.AvoidedNode{{Node: "node-999", Reason: v1beta1.AvoidRejected}}})
			return true
		},
	})
	families, err := registry.Gather()
	require.NoError(t, err)
	told := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "genericjob_avoided_nodes" {
			for _, m := range f.GetMetric() {
				told[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	require.Len(t, told, 21, "20 nodes, of which one has two reasons")
	require.InDelta(t, 1000, told["worst Lost"], 0)
	require.InDelta(t, 1, told["node-999 Failed"], 0)
	require.InDelta(t, 1, told["node-999 Rejected"], 0)
	require.NotContains(t, told, "node-500 Failed")
}

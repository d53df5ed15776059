// Package monitoring holds alerts and a dashboard; its tests keep them in step with each other and with what the operator tells.
// What Prometheus itself makes of them is tested in e2e/metrics.
package monitoring

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write component/prometheusrule.yaml from rules.yaml, and the table of each job into README.md")

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// rules are the groups of rules.yaml.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr         string
			Labels, Annotations map[string]string
		}
	}
}

func alerts(t *testing.T) rules {
	t.Helper()
	var r rules
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "rules.yaml")), &r))
	return r
}

const header = `# rules.yaml, as Prometheus Operator wants it: go test ./deploy/monitoring -update
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: genericjob
  namespace: genericjob-system
  labels: {app.kubernetes.io/name: genericjob}
spec:
`

func TestThePrometheusRuleIsTheRules(t *testing.T) {
	_, groups, found := strings.Cut(read(t, "rules.yaml"), "\ngroups:\n")
	require.True(t, found)
	want := header + "  groups:\n" + regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(groups, "  $1")
	if *update {
		require.NoError(t, os.WriteFile("component/prometheusrule.yaml", []byte(want), 0o644))
	}
	has := read(t, "component/prometheusrule.yaml")
	require.Equal(t, want, has, "go test ./deploy/monitoring -update writes it")
	var plain struct{ Groups any }
	var object struct{ Spec struct{ Groups any } }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "rules.yaml")), &plain))
	require.NoError(t, yaml.Unmarshal([]byte(has), &object))
	require.Equal(t, plain.Groups, object.Spec.Groups)
}

func TestEachAlertSaysWhatToDoAndIsTestedAndInTheDocument(t *testing.T) {
	tests, document, n := read(t, "rules_test.yaml"), read(t, "README.md"), 0
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			n++
			require.NotEmpty(t, r.Labels["severity"], r.Alert)
			for _, a := range []string{"summary", "description", "action"} {
				require.NotEmpty(t, r.Annotations[a], "%s: %s", r.Alert, a)
			}
			require.GreaterOrEqual(t, strings.Count(tests, r.Alert), 2, "%s fires in no test, or always", r.Alert)
			require.Contains(t, document, "| `"+r.Alert+"` |")
		}
	}
	require.Positive(t, n)
}

// dashboard is what of dashboard.json is looked at.
type dashboard struct {
	Panels []struct {
		ID                 int
		Title, Description string
		Targets            []struct{ Expr, LegendFormat string }
	}
}

var (
	named     = regexp.MustCompile(`\b(genericjob|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z_]+`)
	variables = regexp.MustCompile(`\$\w+`)
)

// Of what controller-runtime tells, the document names what is used.
func TestQueriesAskForWhatIsInTheDocument(t *testing.T) {
	var d dashboard
	require.NoError(t, json.Unmarshal([]byte(read(t, "dashboard.json")), &d))
	var queries []string
	for i, p := range d.Panels {
		require.Equal(t, i+1, p.ID)
		require.NotEmpty(t, p.Description, p.Title)
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
			require.NotEmpty(t, target.LegendFormat, p.Title)
			for _, v := range variables.FindAllString(target.Expr, -1) {
				require.Contains(t, []string{"$kind", "$__rate_interval"}, v, p.Title)
			}
		}
	}
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			queries = append(queries, r.Expr)
		}
	}
	document, used := read(t, "README.md"), map[string]bool{}
	for _, q := range queries {
		require.NotEmpty(t, named.FindAllString(q, -1), q)
		for _, name := range named.FindAllString(q, -1) {
			name = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			used[name] = true
			require.Contains(t, document, "`"+name+"`", q)
		}
	}
	for _, name := range regexp.MustCompile("(?m)^\\| `(genericjob_[a-z_]+)` \\| (?:counter|gauge|histogram)").FindAllStringSubmatch(document, -1) {
		require.True(t, used[name[1]], "no panel and no alert uses %s: what is it for?", name[1])
	}
}

// The sum that counts each job once, as the document has it, is one that promtool tests.
func TestTheSumOfJobsInTheDocumentIsTested(t *testing.T) {
	sums := regexp.MustCompile(`(?m)^ *(sum\(genericjob_job_.*)$`).FindAllStringSubmatch(read(t, "README.md"), -1)
	require.Len(t, sums, 1)
	var tests struct {
		Tests []struct {
			Expressions []struct{ Expr string } `json:"promql_expr_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "rules_test.yaml")), &tests))
	tested := map[string]bool{}
	for _, test := range tests.Tests {
		for _, e := range test.Expressions {
			tested[e.Expr] = true
		}
	}
	require.True(t, tested[sums[0][1]], sums[0][1])
}

// stateMetrics is what of kube-state-metrics' configuration is looked at.
type stateMetrics struct {
	Spec struct {
		Resources []struct {
			GroupVersionKind struct{ Kind string }
			MetricNamePrefix string
			Metrics          []struct{ Name, Help string }
		}
	}
}

// kube-state-metrics drops what follows a name that stands twice in the list of a kind.
func TestWhatIsToldOfEachJobIsInTheDocument(t *testing.T) {
	var config stateMetrics
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "kube-state-metrics/config.yaml")), &config))
	table, told := "| metric | what it says |\n|---|---|\n", map[string]string{}
	var kinds []string
	for _, resource := range config.Spec.Resources {
		kinds = append(kinds, resource.GroupVersionKind.Kind)
		own := map[string]bool{}
		for _, m := range resource.Metrics {
			name := resource.MetricNamePrefix + "_" + m.Name
			require.Regexp(t, `^genericjob_[a-z_]+$`, name)
			require.Regexp(t, `^[A-Z1].*\.$`, m.Help, name)
			require.False(t, own[name], "%s stands twice", name)
			own[name] = true
			if help, again := told[name]; again {
				require.Equal(t, help, m.Help, name)
				continue
			}
			told[name] = m.Help
			table += "| `" + name + "` | " + m.Help + " |\n"
		}
	}
	require.Equal(t, []string{"GenericJob", "PyTorchTrainingJob", "TensorFlowTrainingJob", "TrainingFramework"}, kinds)
	for _, training := range config.Spec.Resources[1:3] {
		require.Equal(t, config.Spec.Resources[0].Metrics, training.Metrics, "sums are of GenericJobs alone, which tell all that training jobs tell")
	}
	for _, kind := range kinds {
		require.Regexp(t, `resources: \[.*\b`+strings.ToLower(kind)+`s\b`, read(t, "kube-state-metrics/role.yaml"))
	}
	const begin, end = "<!-- each job: go test ./deploy/monitoring -update -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(read(t, "README.md"), begin)
	require.True(t, found)
	has, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(before+begin+table+end+after), 0o644))
		return
	}
	require.Equal(t, table, has, "go test ./deploy/monitoring -update writes it")
}

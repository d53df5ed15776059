package helm

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the table of values into the chart's README.md")

// value is a row of the README's table: what stands in values.yaml, and the comment above it.
type value struct{ name, standard, meaning string }

// described are the values by the order of values.yaml, those of an object by themselves.
func described(t *testing.T) []value {
	t.Helper()
	raw, err := os.ReadFile(chart + "/values.yaml")
	require.NoError(t, err)
	values := map[string]any{}
	require.NoError(t, yaml.UnmarshalStrict(raw, &values))
	var list []value
	var parent, comment string
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		trimmed := strings.TrimSpace(line)
		indented := strings.HasPrefix(line, "  ")
		key, _, isKey := strings.Cut(trimmed, ":")
		switch {
		case strings.HasPrefix(trimmed, "# "):
			comment = strings.TrimPrefix(trimmed, "# ")
			continue
		case isKey && !indented && comment == "":
			parent = key
		case isKey && !indented:
			parent = ""
			list = append(list, value{key, standard(t, values[key]), comment})
		case isKey && parent != "":
			require.NotEmpty(t, comment, "%s.%s: describe it", parent, key)
			of, ok := values[parent].(map[string]any)
			require.True(t, ok, parent)
			list = append(list, value{parent + "." + key, standard(t, of[key]), comment})
		}
		comment = ""
	}
	return list
}

// standard is a default as the table shows it; what is long stands in values.yaml.
func standard(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	if len(raw) > 80 {
		return "see values.yaml"
	}
	return "`" + string(raw) + "`"
}

func TestTheReadmeTellsOfEachValue(t *testing.T) {
	table := "| value | default | |\n|---|---|---|\n"
	for _, v := range described(t) {
		table += "| `" + v.name + "` | " + v.standard + " | " + v.meaning + " |\n"
	}
	const file = chart + "/README.md"
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	have := regexp.MustCompile(`(?m)^\| value \|.*\n(\|.*\n)+`)
	if *update {
		require.NoError(t, os.WriteFile(file, have.ReplaceAllLiteral(raw, []byte(table)), 0o600))
		return
	}
	require.Equal(t, table, have.FindString(string(raw)), "go test ./deploy/helm -run Readme -update writes it")
}

// elsewhere are the flags that are no entry of the value flags: other values set them, or the manifests, whose ports they are.
var elsewhere = []string{
	"avoid-node-conditions", "avoid-nodes", "avoid-nodes-across-jobs", "gang-scheduler-name", "kubeflow", "mpi-keys", "namespaces", // values of their own
	"health-probe-bind-address", "leader-elect", "metrics-bind-address", // the manifests'
	"kubeconfig", "leader-elect-namespace", // only outside of a pod
	"version", // runs no operator
}

func TestEachFlagOfTheOperatorCanBeSet(t *testing.T) {
	help, err := exec.CommandContext(t.Context(), "go", "run", "../../cmd/manager", "-h").CombinedOutput()
	require.NoError(t, err, string(help))
	settable := slices.Clone(elsewhere)
	raw, err := os.ReadFile(chart + "/values.schema.json")
	require.NoError(t, err)
	var schema struct {
		Properties struct {
			Flags struct {
				Properties map[string]any `json:"properties"`
			} `json:"flags"`
		} `json:"properties"`
	}
	require.NoError(t, json.Unmarshal(raw, &schema))
	for name := range schema.Properties.Flags.Properties {
		settable = append(settable, name)
	}
	var flags []string
	for _, match := range regexp.MustCompile(`(?m)^  -(\S+)`).FindAllStringSubmatch(string(help), -1) {
		flags = append(flags, match[1])
	}
	require.ElementsMatch(t, flags, settable, "flags of the operator, and those of values.schema.json or elsewhere")
}

func TestWrongValuesAreRefusedWithTheirName(t *testing.T) {
	for _, mistake := range []struct{ set, says string }{
		{"replica=2", "additional properties 'replica' not allowed"},
		{"image.repo=x", "at '/image': additional properties 'repo' not allowed"},
		{"replicas=two", "at '/replicas': got string, want integer"},
		{"replicas=null", "missing property 'replicas'"},
		{"networkPolicy=null", "missing property 'networkPolicy'"},
		{"flags.concurency=50", "at '/flags': additional properties 'concurency' not allowed"},
		{"flags.concurrency=0", "at '/flags/concurrency': minimum: got 0, want 1"},
		{"flags.force-replace-after=5", "at '/flags/force-replace-after': got number, want string"},
		{"flags.zap-encoder=xml", "at '/flags/zap-encoder': value must be one of 'json', 'console'"},
		{"namespaces=a", "at '/namespaces': got string, want array"},
		{"namespaces={a,B}", "at '/namespaces/1': 'B' does not match pattern"},
		{"kubeflow=true", "at '/kubeflow': got boolean, want object"},
		{"image.pullPolicy=Sometimes", "at '/image/pullPolicy': value must be one of"},
		{"avoidNodes.conditions={GpuUnhealthy}", "at '/avoidNodes/conditions/0': 'GpuUnhealthy' does not match pattern"},
		{"avoidNodes.default.after=0", "at '/avoidNodes/default/after': minimum: got 0, want 1"},
		{"evictAfterSeconds=null", "missing property 'evictAfterSeconds'"},
		{"evictAfterSeconds=30s", "at '/evictAfterSeconds': got string, want integer"},
		{"flags.leader-elect-lease-duration=500ms", "at '/flags/leader-elect-lease-duration': '500ms' does not match pattern"},
		{"env[0].value=x", "at '/env/0': missing property 'name'"},
		{"env[0].name=MEMORY_LIMIT", "at '/env/0/name': 'not' failed"},
		{"serviceAccount.name=x", "at '/serviceAccount': additional properties 'name' not allowed"},
		{"frameworks={ray}", "at '/frameworks/0': value must be one of 'mpi', 'xgboost'"},
		{"topologySpreadConstraints=zone", "at '/topologySpreadConstraints': got string, want array"},
		{"prometheusRule=true", "at '/prometheusRule': got boolean, want object"},
		{"dashboard.labels.grafana_dashboard=1", "at '/dashboard/labels/grafana_dashboard': got number, want string"},
		{"tolerations=null", "missing property 'tolerations'"},
		{"prometheusRule.labels=null", "at '/prometheusRule': missing property 'labels'"},
		{"serviceMonitor.labels=null", "at '/serviceMonitor': missing property 'labels'"},
		{"dashboard.labels=null", "at '/dashboard': missing property 'labels'"},
		{"networkPolicy.metricsFrom=null", "at '/networkPolicy': missing property 'metricsFrom'"},
		{"kubeflow.mpiKeys=null", "at '/kubeflow': missing property 'mpiKeys'"},
		{"labels.team=7", "at '/labels/team': got number, want string"},
	} {
		text, err := helm(t, "template", chart, "--kube-version", "1.30", "--set", mistake.set)
		require.Error(t, err, mistake.set)
		require.Contains(t, text, mistake.says, mistake.set)
	}
}

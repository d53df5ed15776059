package tools_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// modules are those whose version a row of deploy/integrations/README.md tells, by the name of the tool.
var modules = map[string]string{
	"Kueue": "sigs.k8s.io/kueue", "Kubernetes' own gangs": "k8s.io/kubernetes", "Volcano": "volcano.sh/volcano", "Coscheduling": "sigs.k8s.io/scheduler-plugins",
	"Argo Workflows": "github.com/argoproj/argo-workflows/v4", "Katib": "github.com/kubeflow/katib", "Flyte": "github.com/kubeflow/training-operator",
	"Kubeflow's SDK, kubeflow-training": "kubeflow-training", "Kubeflow's training operator": "github.com/kubeflow/training-operator",
	"Kubeflow's MPI operator": "github.com/kubeflow/mpi-operator", "Helm": "helm.sh/helm/v4", "kstatus, by which Helm and Flux decide": "github.com/fluxcd/cli-utils",
	"Flux": "github.com/fluxcd/pkg/runtime", "Argo CD": "github.com/yuin/gopher-lua", "Prometheus": "github.com/prometheus/prometheus",
	"kube-state-metrics": "k8s.io/kube-state-metrics/v2", "ml-goodput-measurement": "ml_goodput_measurement",
}

// ownParts are programs of the local cluster that are no tools of a reader's: the cluster itself, and what is only measured beside this operator.
var ownParts = regexp.MustCompile(`^(containerd|coredns|etcd.*|kubernetes-.*|jobset)$`)

var (
	ofLink  = regexp.MustCompile(`\[([^]]*)\]\(([^)]*)\)`)
	isTest  = regexp.MustCompile("^(Test[A-Z][A-Za-z0-9]*|test_[a-z_]+)$")
	ofRun   = regexp.MustCompile(`-run "?([A-Za-z|$]+)"?`)
	aTarget = regexp.MustCompile("(?m)^([a-z0-9-]+):.*\n((?:\t.*\n)+)")
)

// integration is a row of the table.
type integration struct {
	tool, version, pinned, was string
	tests, targets             []string
}

// integrations are the rows of a page.
func integrations(t *testing.T, page string) (rows []integration) {
	t.Helper()
	_, table, found := strings.Cut(page, "<!-- tools: ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n")[3:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		require.Len(t, cells, 6, line)
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		row := integration{tool: ofLink.ReplaceAllString(cells[0], "$1"), version: cells[1], was: cells[3]}
		if link := ofLink.FindStringSubmatch(cells[2]); link != nil {
			row.pinned = path.Join("deploy/integrations", link[2])
		}
		for _, word := range quoted.FindAllStringSubmatch(cells[4], -1) {
			require.Regexp(t, isTest, word[1], line)
			row.tests = append(row.tests, word[1])
		}
		for _, word := range quoted.FindAllStringSubmatch(cells[5], -1) {
			target, is := strings.CutPrefix(word[1], "make ")
			require.True(t, is, line)
			row.targets = append(row.targets, target)
		}
		rows = append(rows, row)
	}
	return rows
}

// pinnedVersion is the one that a go.mod, or a list of Python packages, pins; "" if it pins none.
func pinnedVersion(file, module string) string {
	m := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(module) + `(?: v|==)(\S+)`).FindStringSubmatch(file)
	if m == nil {
		return ""
	}
	return m[1]
}

// foldersOfTests are the folders that have a test of a name, in Go or in Python.
func foldersOfTests(t *testing.T) map[string][]string {
	t.Helper()
	found, declares := map[string][]string{}, regexp.MustCompile(`(?m)^(?:func|def) (Test[A-Z][A-Za-z0-9]*|test_[a-z_]+)\(`)
	for _, file := range tracked(t) {
		name := path.Base(file)
		if inPython := strings.HasPrefix(name, "test_") && path.Ext(name) == ".py"; !inPython && !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		require.NoError(t, err)
		for _, test := range declares.FindAllStringSubmatch(string(text), -1) {
			found[test[1]] = append(found[test[1]], path.Dir(file))
		}
	}
	return found
}

// runsTest reports whether a target of the Makefile runs a test of a folder. `make test` runs those that no other target builds something for, and
// the tests of the Python package are run by one in Go.
func runsTest(recipes map[string]string, target, folder, test string) bool {
	if strings.HasPrefix(folder, "cmd/python/") {
		folder = "e2e/python"
	}
	if target == "test" {
		return !slices.ContainsFunc([]string{"e2e/suite", "e2e/metrics", "e2e/python", "e2e/goodput", "deploy/helm"}, func(own string) bool { return own == folder })
	}
	for line := range strings.Lines(recipes[target]) {
		if !strings.Contains(line, folder) {
			continue
		}
		run := ofRun.FindStringSubmatch(line)
		if run == nil || regexp.MustCompile(run[1]).MatchString(test) {
			return true
		}
	}
	return false
}

// recipesOf are the recipes of a Makefile, by target.
func recipesOf(makefile string) map[string]string {
	recipes := map[string]string{}
	for _, m := range aTarget.FindAllStringSubmatch(makefile, -1) {
		recipes[m[1]] = m[2]
	}
	return recipes
}

// Who keeps a tool and replaces the operator asks what was run, and with which version.
func TestWhatIsSaidToHaveBeenRunIsRun(t *testing.T) {
	rows := integrations(t, read(t, "deploy/integrations/README.md"))
	require.Greater(t, len(rows), 25)
	folders, recipes := foldersOfTests(t), recipesOf(read(t, "Makefile"))
	for _, row := range rows {
		assert.False(t, len(row.tests) == 0 && !strings.HasPrefix(row.was, "not run"), "%s: name the test, or say that it was not run", row.tool)
		for _, target := range row.targets {
			assert.NotEmpty(t, recipes[target], "%s: the Makefile has no %s", row.tool, target)
			assert.True(t, slices.ContainsFunc(row.tests, func(test string) bool { return isRunBy(recipes, folders, target, test) }), "%s: make %s runs none of its tests", row.tool, target)
		}
		for _, test := range row.tests {
			assert.NotEmpty(t, folders[test], "%s: there is no %s", row.tool, test)
			assert.True(t, slices.ContainsFunc(row.targets, func(target string) bool { return isRunBy(recipes, folders, target, test) }), "%s: nothing that it names runs %s", row.tool, test)
		}
	}
}

func isRunBy(recipes map[string]string, folders map[string][]string, target, test string) bool {
	return slices.ContainsFunc(folders[test], func(folder string) bool { return runsTest(recipes, target, folder, test) })
}

// A version that is not the one of the tests is a promise that nobody keeps.
func TestVersionsOfToolsAreThosePinned(t *testing.T) {
	var pins []string
	for _, row := range integrations(t, read(t, "deploy/integrations/README.md")) {
		if row.version == "" {
			assert.True(t, strings.HasPrefix(row.was, "not run") && row.pinned == "", "%s has no version", row.tool)
			continue
		}
		require.NotEmpty(t, modules[row.tool], "which module says the version of %s?", row.tool)
		require.NotEmpty(t, row.pinned, row.tool)
		assert.Equal(t, pinnedVersion(read(t, row.pinned), modules[row.tool]), row.version, "%s in %s", row.tool, row.pinned)
		pins = append(pins, row.pinned)
	}
	require.Len(t, pins, len(modules))
	programs, err := os.ReadDir(filepath.Join(root, "e2e/localcluster/binaries"))
	require.NoError(t, err)
	for _, program := range programs {
		if !ownParts.MatchString(program.Name()) {
			assert.Contains(t, pins, "e2e/localcluster/binaries/"+program.Name()+"/go.mod", "the table does not have it")
		}
	}
}

// The tables of schedulers say in their head which version was run.
func TestVersionsOfSchedulersAreThosePinned(t *testing.T) {
	pinned := map[string]string{"kube-scheduler": "Kubernetes' own gangs", "Volcano": "Volcano", "Coscheduling": "Coscheduling", "Kueue": "Kueue"}
	rows := integrations(t, read(t, "deploy/integrations/README.md"))
	head := regexp.MustCompile(`(?m)^\| \| kube-scheduler .*$`).FindString(read(t, "e2e/suite/schedulers.md"))
	require.NotEmpty(t, head)
	for name, tool := range pinned {
		row := rows[slices.IndexFunc(rows, func(r integration) bool { return r.tool == tool })]
		assert.Contains(t, head, "| "+name+" "+row.version+" |", tool)
	}
}

func TestATableThatIsNotTrueIsFound(t *testing.T) {
	rows := integrations(t, "<!-- tools: x -->\n| a |\n|---|\n| [Kueue](k.md) | 1.2 | [kueue](../../go.mod) | it | `TestKueue` | `make e2e` |\n| Other | | | not run | | |\n\n")
	require.Equal(t, []integration{{"Kueue", "1.2", "go.mod", "it", []string{"TestKueue"}, []string{"e2e"}}, {tool: "Other", was: "not run"}}, rows)
	require.Equal(t, "1.2.3", pinnedVersion("require (\n\ta.b/c v1.2.3 // indirect\n)\n", "a.b/c"))
	require.Equal(t, "1.2", pinnedVersion("x==1\na_b==1.2\n", "a_b"))
	require.Empty(t, pinnedVersion("\ta.b/c/v2 v1.2.3\n", "a.b/c"))
	recipes := recipesOf("a: ## One\n\tgo -C e2e/suite test -run \"TestX|TestY$\" .\nb: a\n\tgo test ./e2e/metrics -count=1\n")
	require.True(t, runsTest(recipes, "a", "e2e/suite", "TestY"))
	require.False(t, runsTest(recipes, "a", "e2e/suite", "TestYes"))
	require.False(t, runsTest(recipes, "a", "controllers", "TestX"))
	require.True(t, runsTest(recipes, "b", "e2e/metrics", "TestAny"))
	require.False(t, runsTest(recipes, "test", "e2e/suite", "TestX"))
	require.True(t, runsTest(recipes, "test", "controllers", "TestX"))
}

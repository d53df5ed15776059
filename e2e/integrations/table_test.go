package integrations

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/e2e/states"
)

var update = flag.Bool("update", false, "write the table of deploy/integrations/README.md")

const folder = "../../deploy/integrations"

// recipe is a file of deploy/integrations.
func recipe(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	return text
}

func stateOf(t *testing.T, name string) states.State {
	t.Helper()
	i := slices.IndexFunc(states.All, func(s states.State) bool { return s.Name == name })
	require.NotEqual(t, -1, i, name)
	return states.All[i]
}

// TestTheTableIsWhatTheToolsSay asks each tool about each state.
func TestTheTableIsWhatTheToolsSay(t *testing.T) {
	argo := argoConditions(t)
	own := experimentOf(t, "katib.yaml").Spec.TrialTemplate
	table := "| a job that | Argo Workflows | Katib | Argo Workflows, `kubeflow.org` | Katib, `kubeflow.org` | Flyte, `kubeflow.org` |\n|---|---|---|---|---|---|\n"
	for _, s := range states.All {
		t.Run(s.Name, func(t *testing.T) {
			var ours, theirs string
			for _, k := range []states.Kind{states.Generic, states.PyTorch, states.TensorFlow} {
				job := k.In(t, s)
				katib, _ := byKatib(t, own, job)
				says := fmt.Sprintf("%s | %s", byArgo(t, argo["generic-job"], job), katib)
				require.Contains(t, []string{"", says}, ours, k.Kind)
				ours = says
			}
			for _, k := range []states.Kind{states.KubeflowPyTorch, states.KubeflowTensorFlow} {
				job := k.In(t, s)
				katib, _ := byKatib(t, byDefault(k.Kind), job)
				says := fmt.Sprintf("%s | %s | %s", byArgo(t, argo["pytorch-job"], job), katib, byFlyte(t, job))
				require.Contains(t, []string{"", says}, theirs, k.Kind)
				theirs = says
			}
			table += fmt.Sprintf("| %s | %s | %s |\n", s.Name, ours, theirs)
		})
	}
	hold(t, table)
}

// hold compares the table of the page with what it should be, or writes it.
func hold(t *testing.T, table string) {
	t.Helper()
	text := string(recipe(t, "README.md"))
	at := regexp.MustCompile(`(?s)(<!-- states: [^\n]*-->\n).*?\n(?:\n|$)`)
	require.True(t, at.MatchString(text), "the page has no table")
	next := at.ReplaceAllString(text, "${1}"+strings.ReplaceAll(table, "$", "$$")+"\n")
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "README.md"), []byte(next), 0o644))
		return
	}
	require.Equal(t, text, next, "if the change is meant, run the test with -update")
}

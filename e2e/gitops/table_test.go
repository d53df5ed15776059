package gitops

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/e2e/states"
)

var update = flag.Bool("update", false, "write the tables of deploy/gitops/README.md")

const page = "../../deploy/gitops/README.md"

// TestTheTableIsWhatTheToolsSay asks each library about each state.
func TestTheTableIsWhatTheToolsSay(t *testing.T) {
	argo, ended, started := newArgoCD(t), newFlux(t, "flux-until-succeeded.yaml"), newFlux(t, "flux.yaml")
	own := "| a job that | Helm, Flux | Flux, until it succeeds | Argo CD |\n|---|---|---|---|\n"
	kubeflows := "| a job of Kubeflow's kinds that | Flux | Flux, until it succeeds | Argo CD |\n|---|---|---|---|\n"
	for _, s := range states.All {
		t.Run(s.Name, func(t *testing.T) {
			var row string
			for _, k := range []states.Kind{states.Generic, states.PyTorch, states.TensorFlow} {
				job := k.In(t, s)
				is, why := byKstatus(t, job)
				health, told := argo.health(t, job)
				t.Logf("%s: %s (%s), %s (%s)", k.Kind, is, why, health, told)
				require.Equal(t, is, started.takesFor(t, job), "no expression is for %s", k.Kind)
				if row != "" {
					require.Equal(t, row, fmt.Sprintf("| %s | %s | %s | %s |\n", s.Name, is, ended.takesFor(t, job), health), k.Kind)
				}
				row = fmt.Sprintf("| %s | %s | %s | %s |\n", s.Name, is, ended.takesFor(t, job), health)
			}
			own += row
			job := states.KubeflowPyTorch.In(t, s)
			health, told := argo.health(t, job)
			t.Logf("%s: %s (%s)", states.KubeflowPyTorch.Kind, health, told)
			kubeflows += fmt.Sprintf("| %s | %s | %s | %s |\n", s.Name, started.takesFor(t, job), ended.takesFor(t, job), health)
		})
	}
	hold(t, "jobs", own)
	hold(t, "kubeflow", kubeflows)
}

// hold compares a table of the page with what it should be, or writes it.
func hold(t *testing.T, name, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	at := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^\n]*-->\n).*?(\n(?:\n|$)|$)`)
	require.True(t, at.Match(text), "%s has no table %s", page, name)
	next := at.ReplaceAllString(string(text), "${1}"+strings.TrimSuffix(table, "\n")+"\n\n")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(next), 0o644))
		return
	}
	require.Equal(t, string(text), next, "if the change is meant, run the test with -update")
}

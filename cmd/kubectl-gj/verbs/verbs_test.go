package verbs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/verbs"
)

func TestEveryVerbHasExamplesOfItselfAndIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("cmd/kubectl-gj/README.md")
	require.NoError(t, err)
	for _, c := range verbs.New(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		require.NotEmpty(t, c.Short)
		require.NotEmpty(t, c.Example, c.Name())
		require.Regexp(t, "(?m)^\\|.*`"+c.Name()+"\\b", string(page), "the table of verbs")
		for line := range strings.Lines(c.Example) {
			require.Contains(t, line, "kubectl gj "+c.Name(), "an example of another verb")
		}
		c.VisitParents(func(p *cobra.Command) { require.NotEmpty(t, p.Example) })
	}
}

func TestTheHelpHasTheExitCodesOfThePage(t *testing.T) {
	page, err := os.ReadFile("cmd/kubectl-gj/README.md")
	require.NoError(t, err)
	codes := func(row, text string) (list []string) {
		for _, m := range regexp.MustCompile(row).FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		return list
	}
	onPage := codes(`(?m)^\| (\d+) \|`, string(page))
	require.Contains(t, onPage, "130")
	require.Equal(t, onPage, codes(`(?m)^  (\d+) `, verbs.New(genericiooptions.NewTestIOStreamsDiscard()).Long))
}

func TestMistakesOfTheCommandLine(t *testing.T) {
	s := newSpace(t)
	for _, line := range []string{
		"nothing", "tree", "tree a b", "tree a/b/c", "tree job/a", "tree a --nothing", "tree a -o xml", "tree a -w -o json", "why", "top a -A",
		"logs", "logs a --first-failure -f", "logs a -c b --all-containers", "pause", "resume", "debug", "debug a b", "debug a --off --shell worker-0",
		"scale a", "scale a b", "scale a 0", "scale a =3", "wait a --for=nothing", "translate", "translate -f /absent", "translate x", "report", "report a -o json", "list -o xml",
		"sync", "sync a", "sync a b", "sync a .:app", "sync a .:/", "sync a .:/app b", "sync a .:/app --exclude=[", "restart", "restart a b", "restart a --grace=-1s",
	} {
		_, problem, code := s.types(strings.Fields(line)...)
		require.Equal(t, 2, code, "%s: %s", line, problem)
	}
	for _, line := range []string{"tree", "why", "logs", "pause", "resume", "debug", "wait", "top", "report", "restart"} {
		_, problem, code := s.types(line, "absent")
		require.Equal(t, 4, code, line)
		require.Contains(t, problem, `has no job "absent"`)
	}
}

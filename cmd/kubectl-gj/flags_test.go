package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/verbs"
)

// flagsOf returns the flags of a verb's own, as they are written in documents.
func flagsOf(c *cobra.Command) (names []string) {
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	c.PersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	names = slices.DeleteFunc(names, func(name string) bool { return name == "--help" })
	slices.Sort(names)
	return slices.Compact(names)
}

// verbsOf returns the verbs of the program, without those that cobra adds.
func verbsOf(program *cobra.Command) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	for _, c := range program.Commands() {
		if c.Name() != "help" && c.Name() != "completion" {
			all[c.Name()] = c
		}
	}
	return all
}

// flagRows returns the flags that the page's table has for each verb.
func flagRows(t *testing.T, page string) map[string][]string {
	t.Helper()
	_, table, found := strings.Cut(page, "| verb | its flags |\n|---|---|\n")
	require.True(t, found, "README.md has no table of flags")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		flags := regexp.MustCompile(`--[a-z-]+`).FindAllString(cells[2], -1)
		slices.Sort(flags)
		for _, verb := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(cells[1], -1) {
			require.NotContains(t, rows, verb[1])
			rows[verb[1]] = flags
		}
	}
	return rows
}

func TestEachFlagStandsInTheTable(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	rows := flagRows(t, string(page))
	for name, c := range verbsOf(verbs.New(genericiooptions.NewTestIOStreamsDiscard())) {
		if own := flagsOf(c); len(own) > 0 {
			require.Equal(t, own, rows[name], "kubectl gj %s", name)
		} else {
			require.NotContains(t, rows, name, "it has no flags")
		}
		delete(rows, name)
	}
	require.Empty(t, rows, "verbs that the program does not have")
}

// command matches a command of the plugin in a document, up to what it passes on.
var command = regexp.MustCompile("kubectl gj ([a-z]+)([^`|&>#\n\"]*)")

// unknownFlags returns what a text has of commands of the plugin whose verb or flags are not there.
func unknownFlags(program *cobra.Command, text string) (unknown []string) {
	all := verbsOf(program)
	for _, m := range command.FindAllStringSubmatch(text, -1) {
		c := all[m[1]]
		if c == nil {
			unknown = append(unknown, m[0])
			continue
		}
		arguments, _, _ := strings.Cut(m[2], " -- ")
		for _, word := range strings.Fields(arguments) {
			name, _, _ := strings.Cut(strings.TrimRight(word, ".,;:)'"), "=")
			long, isLong := strings.CutPrefix(name, "--")
			short, isShort := strings.CutPrefix(name, "-")
			switch {
			case name == "--help":
			case isLong && c.Flag(long) == nil,
				!isLong && isShort && len(short) == 1 && c.Flags().ShorthandLookup(short) == nil && c.InheritedFlags().ShorthandLookup(short) == nil:
				unknown = append(unknown, m[0])
			}
		}
	}
	return unknown
}

func TestDocumentsNameFlagsThatAreThere(t *testing.T) {
	program, pages, commands := verbs.New(genericiooptions.NewTestIOStreamsDiscard()), 0, 0
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "dist"):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		pages, commands = pages+1, commands+len(command.FindAll(text, -1))
		require.Empty(t, unknownFlags(program, string(text)), path)
		return err
	})
	require.NoError(t, err)
	require.Greater(t, pages, 30)
	require.Greater(t, commands, 50)
}

func TestAFlagThatIsNotThereIsFound(t *testing.T) {
	program := verbs.New(genericiooptions.NewTestIOStreamsDiscard())
	require.Equal(t, []string{"kubectl gj logs mnist --folow", "kubectl gj forget it", "kubectl gj tree -x"},
		unknownFlags(program, "`kubectl gj logs mnist --folow`, `kubectl gj logs mnist -f --tail=3 -n team --context=x`, `kubectl gj forget it`\n    kubectl gj tree -x\n    kubectl gj debug a --shell worker-0 -- ls --all\n"))
	require.Equal(t, map[string][]string{"list": {"--a", "--b"}, "top": {"--a", "--b"}}, flagRows(t, "| verb | its flags |\n|---|---|\n| `list`, `top` | `--b`, `-a`/`--a` |\n\n| `x` | `--y` |\n"))
}

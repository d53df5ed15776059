package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flagsOf returns the flags of a program's help, with the defaults that it tells. One that is off, or empty, has none.
func flagsOf(help string) map[string]string {
	flags := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  -(\S+).*\n((?: {4}\t.*\n?)*)`).FindAllStringSubmatch(help, -1) {
		flags[m[1]] = ""
		if standard := regexp.MustCompile(`\(default "?([^")]+)"?\)`).FindStringSubmatch(m[2]); standard != nil {
			flags[m[1]] = standard[1]
		}
	}
	return flags
}

// switchesOf returns the rows of a page's table of switches, with the default that each tells, by flag.
func switchesOf(t *testing.T, page string) map[string]string {
	t.Helper()
	_, table, found := strings.Cut(page, "<!-- switches: ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]string{}
	for _, line := range strings.Split(table, "\n")[3:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		require.Len(t, cells, 6, line)
		name := strings.Trim(cells[1], " `")
		if name == "" {
			continue // no flag switches it
		}
		require.NotContains(t, rows, name, line)
		require.True(t, strings.HasPrefix(name, "--"), line)
		rows[strings.TrimPrefix(name, "--")] = strings.TrimSpace(cells[2])
	}
	return rows
}

// sameDefault reports whether a page and a program's help tell the same default. The page may say it in words where the help says none.
func sameDefault(page, help string) bool {
	if long, err := time.ParseDuration(help); err == nil {
		short, err := time.ParseDuration(page)
		return err == nil && short == long
	}
	return page != "" && (page == help || help == "")
}

// An admin finds each flag in one table, with its default, and how it is switched off.
func TestEachFlagStandsInTheTableOfSwitches(t *testing.T) {
	help, err := exec.CommandContext(t.Context(), binary, "-h").CombinedOutput()
	require.NoError(t, err)
	page, err := os.ReadFile("../../deploy/README.md")
	require.NoError(t, err)
	flags, rows := flagsOf(string(help)), switchesOf(t, string(page))
	require.Greater(t, len(flags), 20)
	delete(flags, "kubeconfig") // only outside of a cluster
	for name, standard := range flags {
		if assert.Contains(t, rows, name, "a flag of the operator that deploy/README.md does not have") {
			assert.True(t, sameDefault(rows[name], standard), "--%s is %q by default, and not %q", name, standard, rows[name])
		}
		delete(rows, name)
	}
	assert.Empty(t, rows, "flags that the operator does not have")
}

func TestAFlagThatHasNoRowIsFound(t *testing.T) {
	flags := flagsOf("Usage of x:\n  -a\n    \tdoes (default 5m0s)\n  -b string\n    \tis (default \"c\")\n  -d value\n    \tmore; default: none\n")
	require.Equal(t, map[string]string{"a": "5m0s", "b": "c", "d": ""}, flags)
	rows := switchesOf(t, "<!-- switches: x -->\n| what | flag |\n|---|---|\n| a | `--a` | 5m | | | |\n| it | | on | | | no |\n\n| not | `--this` | | | | |\n")
	require.Equal(t, map[string]string{"a": "5m"}, rows)
	require.True(t, sameDefault("5m", "5m0s"))
	require.False(t, sameDefault("4m", "5m0s"))
	require.False(t, sameDefault("off", "30"))
	require.False(t, sameDefault("", ""))
}

// A flag that has no effect would leave an admin to wait for one.
func TestFlagsAboutKubeflowNeedKubeflow(t *testing.T) {
	for flag, kinds := range map[string]string{"--gang-scheduler-name=volcano": "Kubeflow's jobs", "--mpi-keys": "Kubeflow's MPIJobs"} {
		require.Contains(t, saidWithoutCluster(t, flag), "manager: "+flag+" has no effect without --kubeflow: it is about "+kinds)
		require.NotContains(t, saidWithoutCluster(t, flag, "--kubeflow"), "has no effect")
	}
}

// An admin would take two operators for one that works and one that waits.
func TestFlagsAboutALeaseNeedLeaderElect(t *testing.T) {
	for _, flag := range []string{"--leader-elect-namespace=a", "--leader-elect-lease-duration=40s", "--leader-elect-renew-deadline=17s", "--leader-elect-retry-period=1s"} {
		require.Contains(t, saidWithoutCluster(t, flag), "manager: "+flag+" has no effect without --leader-elect: give that, too, or leave it out")
		require.NotContains(t, saidWithoutCluster(t, flag, "--leader-elect"), "has no effect")
	}
	require.NotContains(t, saidWithoutCluster(t, "--leader-elect-lease-duration=30s"), "has no effect", "the default says nothing")
}

// Go's flags end at the first word that is none: an operator that was to serve one namespace would serve all.
func TestWordsThatAreNoFlagsAreRefused(t *testing.T) {
	require.Contains(t, saidWithoutCluster(t, "--leader-elect", "true", "--namespaces=a"), `manager: argument "true" is no flag, and flags behind it would have no effect`)
	require.NotContains(t, saidWithoutCluster(t, "--leader-elect=true", "--namespaces", "a"), "no flag")
}

// saidWithoutCluster returns what the operator says that finds no cluster, or that refuses its flags before.
func saidWithoutCluster(t *testing.T, flags ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, append([]string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}, flags...)...)
	c.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=/does/not/exist"}
	out, err := c.CombinedOutput()
	require.Error(t, err)
	return string(out)
}

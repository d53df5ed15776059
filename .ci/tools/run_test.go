package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program puts a script in place of a program.
func program(t *testing.T, folder, name, script string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/usr/bin/env bash\nset -euo pipefail\n"+script), 0o700))
}

// All of CI takes an hour and a cluster. So its make is played: it notes what it is asked for, and with which caches.
func TestCIRemovesTheClusterThatItStartedAndNoOther(t *testing.T) {
	const before, down = "cluster-down of the person's own", "cluster-down of this run"
	for name, tc := range map[string]struct {
		fails string
		want  []string
	}{
		"all is well":                    {"never", []string{before, down}},
		"an early stage fails":           {"verify", nil},
		"the tests fail":                 {"test", nil},
		"another's cluster does not end": {"cluster-down of the person", []string{before}},
		"the cluster does not start":     {"cluster of this run", []string{before, down}},
		"the job fails":                  {"e2e-smoke", []string{before, down}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			program(t, folder, "make", `
whose="this run"
[[ $GENERICJOB_CACHE != /own ]] || whose="the person's own"
call="$2 of $whose"
echo "$call $GOWORK" >>"$CALLS"
[[ ! $call =~ ^$FAILS ]]
`)
			program(t, folder, "go", "echo true") // what .ci/vulncheck would call
			calls := filepath.Join(folder, "calls")
			t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
			t.Setenv("GENERICJOB_CACHE", "/own")
			t.Setenv("CALLS", calls)
			t.Setenv("FAILS", tc.fails)
			text, err := run(t, root, ".ci/run")
			require.Equal(t, tc.fails == "never", err == nil, text)
			raw, err := os.ReadFile(calls)
			require.NoError(t, err)
			var downs []string
			for _, call := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
				call, hasWork := strings.CutSuffix(call, " off")
				require.True(t, hasWork, "a go.work above the checkout would matter")
				if strings.HasPrefix(call, "cluster-down ") {
					downs = append(downs, call)
				}
			}
			require.Equal(t, tc.want, downs)
		})
	}
}

package tools_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A day takes more than an hour and a cluster. So its make is played: it notes what it is asked for, and where.
func TestADayHasItsOrderAndFailsIfAStepDoes(t *testing.T) {
	const demo, twice, cloned = "make demo", "make test, twice at once", "make test, in that folder"
	for name, tc := range map[string]struct {
		fails string
		steps []string
	}{
		"all is well":           {"never", nil},
		"a demo fails":          {"demo", []string{demo, demo + ", again"}},
		"the second of two":     {"test in .*, call 3", []string{twice}},
		"a path with a space":   {"test in .*, call 4", []string{cloned}},
		"the cluster stays":     {"cluster-down", []string{"make cluster-down"}},
		"every test, each time": {"test", []string{"make test, while the cluster of the demo runs", twice, cloned}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			calls := filepath.Join(folder, "calls")
			played := `#!/usr/bin/env bash
set -euo pipefail
[[ $1 != -C ]] || { cd "$2"; shift 2; }
exec 9>>"$CALLS"
flock 9
call="$* in $PWD, call $(($(grep -c "^$* " "$CALLS" || true) + 1))"
echo "$call" >&9
[[ ! $call =~ ^$FAILS ]]
`
			stub := filepath.Join(folder, "make")
			require.NoError(t, os.WriteFile(stub, []byte(played), 0o700))
			t.Setenv("MAKE", stub)
			t.Setenv("CALLS", calls)
			t.Setenv("FAILS", tc.fails)
			t.Setenv("TMPDIR", t.TempDir())
			text, err := run(t, root, "e2e/day")
			require.Equal(t, len(tc.steps) == 0, err == nil, text)

			_, table, found := strings.Cut(text, "\nexit  seconds  step\n")
			require.True(t, found, text)
			var failed []string
			for _, row := range regexp.MustCompile(`(?m)^ *(\d+) +\d+  (.*)$`).FindAllStringSubmatch(table, -1) {
				if row[1] != "0" {
					failed = append(failed, row[2])
				}
			}
			require.Equal(t, tc.steps, failed, table)

			raw, err := os.ReadFile(calls)
			require.NoError(t, err)
			var called, folders []string
			for _, call := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
				words := strings.SplitN(call, " in ", 2)
				called = append(called, words[0])
				folders = append(folders, words[1])
			}
			require.Equal(t, []string{"demo", "test", "demo", "cluster-down", "test", "test", "test"}, called)
			require.Contains(t, folders[6], "/a folder with spaces/genericjob, call 4")
			left, err := os.ReadDir(os.Getenv("TMPDIR"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

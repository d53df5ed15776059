package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testsOf are the names of all tests and fuzz tests of this repository, of Go and of Python.
func testsOf(t *testing.T) map[string]bool {
	t.Helper()
	names, holds := map[string]bool{}, regexp.MustCompile(`_test\.go$|^test_\w+\.py$`)
	begins := regexp.MustCompile(`(?m)^(?:func|def) ((?:Test|Fuzz|test_)\w+)\(`)
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(name, ".") && name != ".ci" || name == "dist"):
			return fs.SkipDir
		case !holds.MatchString(name):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range begins.FindAllSubmatch(text, -1) {
			names[string(name[1])] = true
		}
		return err
	}))
	return names
}

// A row that names a test which has gone, or none, promises what nobody holds.
func TestEachAttackNamesTestsThatThereAre(t *testing.T) {
	tests := testsOf(t)
	raw, err := os.ReadFile("attacks.md")
	require.NoError(t, err)
	var rows []string
	for _, table := range strings.Split(string(raw), "|---|---|---|\n")[1:] {
		table, _, _ = strings.Cut(table, "\n\n")
		rows = append(rows, strings.Split(strings.TrimSpace(table), "\n")...)
	}
	require.Greater(t, len(rows), 40)
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		require.Len(t, cells, 3, row)
		named := regexp.MustCompile("[*`](\\w+)[*`]").FindAllStringSubmatch(cells[2], -1)
		require.NotEmpty(t, named, row)
		for _, name := range named {
			require.True(t, tests[name[1]], "%s: there is no test %s", row, name[1])
		}
	}
}

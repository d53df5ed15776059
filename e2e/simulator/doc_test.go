package simulator

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheTableOfFilesIsComplete keeps the table of doc.go: it names each file once.
func TestTheTableOfFilesIsComplete(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n// # Where things are\n")
	require.True(t, found)
	table, _, found := strings.Cut(rest, "\n// # Words\n")
	require.True(t, found)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") || f == "doc.go" })
	require.ElementsMatch(t, files, regexp.MustCompile(`\w+\.go`).FindAllString(table, -1))
}

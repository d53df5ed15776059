package tools_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	code     = regexp.MustCompile("`[^`\n]*`")
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	named    = regexp.MustCompile(`<a id="([^"]+)">`)
	marks    = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// anchors are the names by which GitHub knows the headings of a document, and those that it gives itself.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, heading := range headings.FindAllStringSubmatch(string(text), -1) {
		names[strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")] = true
	}
	for _, name := range named.FindAllStringSubmatch(string(text), -1) {
		names[name[1]] = true
	}
	return names
}

// What a document links to in this repository is there. Other sites are not asked.
func TestLinksLeadSomewhere(t *testing.T) {
	found := 0
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "dist") {
			return filepath.SkipDir
		}
		if filepath.Ext(file) != ".md" {
			return nil
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, link := range links.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			found++
			to, anchor, _ := strings.Cut(link[1], "#")
			target := file
			if to != "" {
				target = filepath.Join(filepath.Dir(file), to)
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", file, link[1])
			if anchor != "" {
				require.True(t, anchors(t, target)[anchor], "%s links to %s", file, link[1])
			}
		}
		return nil
	}))
	require.Greater(t, found, 50)
}

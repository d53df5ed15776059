package tools_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// quoted are the words in backticks of a document's text.
	quoted = regexp.MustCompile("`([^`\n]+)`")
	// isName matches a name of code, perhaps of a package's.
	isName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)?$`)
	// isPath matches a file or a folder of the checkout. What is in angle brackets stands for anything.
	isPath = regexp.MustCompile(`^[A-Za-z0-9_.<>*-]*(/[A-Za-z0-9_.<>*-]*)+$|^[A-Za-z0-9_<>*-]+\.(go|md|yaml|txt|svg|json)$`)
	// anything is what stands for any name in a path.
	anything = regexp.MustCompile(`<[a-z]+>`)
)

// notOfTheCheckout are paths that begin so, and names that others define.
var notOfTheCheckout = regexp.MustCompile(`^(\$|~|/|dist|ghcr\.io/|\.\./|image\.tar|genericjob\.test/|go\.mod$|stdout$|br_netfilter$)`)

// section is the text of a document under a heading, up to the next of the same level.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, below, found := strings.Cut(text, "\n## "+heading+"\n")
	require.True(t, found, "no heading %q", heading)
	section, _, _ := strings.Cut(below, "\n## ")
	return section
}

// tracked are the files of the checkout, by path.
func tracked(t *testing.T) []string {
	t.Helper()
	list, err := run(t, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
}

// wordsOf are those of all files that match a pattern, but for CONTRIBUTING.md.
func wordsOf(t *testing.T, files []string, pattern string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, file := range files {
		if matches, err := path.Match(pattern, path.Base(file)); err != nil || !matches || file == "CONTRIBUTING.md" {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		require.NoError(t, err)
		for _, word := range regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`).FindAllString(string(raw), -1) {
			found[word] = true
		}
	}
	return found
}

// isThere reports whether a file or folder of that path is in the checkout. A name without a folder may be anywhere.
func isThere(files []string, name string) bool {
	name = strings.TrimSuffix(anything.ReplaceAllString(name, "*"), "/")
	for _, file := range files {
		for at := file; at != "."; at = path.Dir(at) {
			if matches, _ := path.Match(name, at); matches {
				return true
			}
			if matches, _ := path.Match(name, path.Base(at)); matches && !strings.Contains(name, "/") {
				return true
			}
		}
	}
	return false
}

func contributing(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	return string(raw)
}

func TestWhatTheRecipesNameIsThere(t *testing.T) {
	files := tracked(t)
	code := wordsOf(t, files, "*.go")
	paths, names := 0, 0
	for _, heading := range []string{"Where things go", "Recipes"} {
		for _, match := range quoted.FindAllStringSubmatch(section(t, contributing(t), heading), -1) {
			switch name := match[1]; {
			case notOfTheCheckout.MatchString(name):
			case isPath.MatchString(name):
				assert.True(t, isThere(files, name), "%s is not in the checkout", name)
				paths++
			case isName.MatchString(name) && !isThere(files, name):
				for _, part := range strings.Split(name, ".") {
					assert.True(t, code[part], "no code has the name %s", name)
				}
				names++
			}
		}
	}
	require.Greater(t, paths, 80)
	require.Greater(t, names, 20)
}

// anchorOf is what a link to a heading ends with.
func anchorOf(heading string) string {
	return strings.ReplaceAll(strings.ToLower(regexp.MustCompile(`[^A-Za-z ]`).ReplaceAllString(heading, "")), " ", "-")
}

// Records and designs name files, too.
func TestFilesThatDocumentsNameAreThere(t *testing.T) {
	files, named := tracked(t), 0
	for _, document := range []string{"DECISIONS.md", "kernel/DESIGN.md", "kernel/README.md", "kernel/reference.md", "e2e/README.md", "e2e/suite/README.md", "e2e/simulator/README.md", "e2e/simulator/FIELD.md", "deploy/THREAT-MODEL.md"} {
		raw, err := os.ReadFile(filepath.Join(root, document))
		require.NoError(t, err)
		for _, match := range quoted.FindAllStringSubmatch(string(raw), -1) {
			name := match[1]
			if !strings.HasSuffix(name, ".go") || !isPath.MatchString(name) {
				continue
			}
			assert.True(t, isThere(files, name) || isThere(files, path.Join(path.Dir(document), name)), "%s names %s, which is not in the checkout", document, name)
			named++
		}
	}
	require.NotZero(t, named)
}

// mostWords is how many words a newcomer is asked to learn.
const mostWords = 40

func TestEachWordOfTheGlossaryIsUsed(t *testing.T) {
	files := tracked(t)
	used := wordsOf(t, files, "*.go")
	for word := range wordsOf(t, files, "*.md") {
		used[word] = true
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z ]+) \| .+ \|$`).FindAllStringSubmatch(section(t, contributing(t), "Glossary"), -1)
	require.Greater(t, len(rows), 20)
	require.LessOrEqual(t, len(rows)-1, mostWords) // without the table's head
	before := ""
	for _, row := range rows[1:] {
		require.Greater(t, row[1], before, "the words are in their order, each once")
		before = row[1]
		for _, word := range strings.Fields(row[1]) {
			assert.True(t, used[word] || used[word+"s"], "nobody says %s", row[1])
		}
	}
}

// Who changes what the manual promises looks for its section first.
func TestEachSectionOfTheManualStandsWhereThingsGo(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "kernel/README.md"))
	require.NoError(t, err)
	contributing, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	places := section(t, string(contributing), "Where things go")
	found := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(raw), -1)
	require.Greater(t, len(found), 10)
	for _, heading := range found {
		assert.Contains(t, places, "| ["+heading[1]+"](kernel/README.md#", "a row with the files that decide what this section says")
	}
}

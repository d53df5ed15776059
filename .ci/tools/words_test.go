package tools_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// longestSentence is how many words a reader can hold whose first language is another.
const longestSentence = 25

// plainDocuments are those whose sentences are short, with how many words each may have as `wc -w` counts them; 0 stands for any number.
var plainDocuments = map[string]int{
	"README.md":                        0,
	"CONTRIBUTING.md":                  0,
	"DECISIONS.md":                     4000,
	"kernel/README.md":                 3000,
	"kernel/DESIGN.md":                 0,
	"kernel/ends.md":                   0,
	"kernel/rare-faults.md":            0,
	"kernel/reference.md":              0,
	"kernel/first-failure.md":          0,
	"kernel/avoid-nodes.md":            0,
	"kernel/history.md":                0,
	"kernel/lost-nodes.md":             0,
	"kernel/time.md":                   0,
	"cmd/kubectl-gj/README.md":         0,
	"cmd/wrapper/README.md":            0,
	"cmd/wrapper/signs.md":             0,
	"translators/README.md":            0,
	"translators/add-a-framework.md":   0,
	"deploy/gitops/README.md":          0,
	"deploy/integrations/README.md":    0,
	"deploy/tenant/README.md":          0,
	"deploy/kubeflow/README.md":        0,
	"deploy/LIMITS.md":                 0,
	"deploy/RELEASING.md":              0,
	"deploy/VERSIONS.md":               0,
	"e2e/README.md":                    0,
	"e2e/drawn/README.md":              0,
	"e2e/simulator/README.md":          0,
	"e2e/simulator/mutants/README.md":  0,
	"e2e/suite/README.md":              0,
	"e2e/suite/schedulers.md":          0,
	"e2e/localcluster/README.md":       0,
	"e2e/simulator/BRANCHES.md":        0,
	"e2e/simulator/FIELD.md":           0,
	"e2e/simulator/KUBELET.md":         0,
	"cmd/python/README.md":             0,
	"deploy/README.md":                 0,
	"deploy/THREAT-MODEL.md":           0,
	"deploy/attacks.md":                0,
	"deploy/memory.md":                 0,
	"deploy/rights.md":                 0,
	"deploy/coming-from.md":            0,
	"deploy/helm/genericjob/README.md": 0,
	"deploy/kueue/README.md":           0,
	"deploy/monitoring/README.md":      0,
	"deploy/recipes.md":                0,
	"e2e/bench/README.md":              0,
	"e2e/peers/README.md":              0,
	"kernel/failure-policy.md":         0,
}

var (
	// isBlock matches what is not prose: code blocks, indented commands, headings and pictures.
	isBlock = regexp.MustCompile("(?ms)^```.*?^```$|^    .*?$|^#.*?$|^!\\[.*?$")
	// begins matches where a new piece of text begins, whatever stands before. Pieces are items of a list, rows and cells of a table, and
	// paragraphs.
	begins = regexp.MustCompile(`\n\s*([-*]|\d+\.) |\n+\||\n\n+| \| `)
	// inRow matches a row of a table. A list in a cell has colons and semicolons where prose has sentences.
	inRow = regexp.MustCompile(`(?m)^\|.*$`)
	// isList matches a cell that lists names, and says nothing of them.
	isList = regexp.MustCompile(`^\w+(, \w+){3,}[ |]*$`)
	// isCode matches a span of code, and the address of a link: both are one word.
	isCode = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")
	// ends matches the end of a sentence.
	ends = regexp.MustCompile(`[.!?]["')*]*(\s|$)`)
)

// sentencesOf are the sentences of a document, without what is not prose.
func sentencesOf(text string) (sentences []string) {
	text = isCode.ReplaceAllString(isBlock.ReplaceAllString(text, "\n"), "x")
	text = inRow.ReplaceAllStringFunc(text, func(row string) string { return strings.NewReplacer(": ", ". ", "; ", ". ").Replace(row) })
	for _, piece := range begins.Split(text, -1) {
		for _, sentence := range ends.Split(piece, -1) {
			if fields := strings.Fields(sentence); len(fields) > 0 && !isList.MatchString(sentence) {
				sentences = append(sentences, strings.Join(fields, " "))
			}
		}
	}
	return sentences
}

func TestDocumentsArePlain(t *testing.T) {
	for file, most := range plainDocuments {
		raw, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		if most > 0 {
			assert.LessOrEqual(t, len(strings.Fields(string(raw))), most, "words of %s: move what few readers need to another page", file)
		}
		for _, sentence := range sentencesOf(string(raw)) {
			assert.LessOrEqual(t, len(strings.Fields(sentence)), longestSentence, "%s: make two sentences of this one: %s", file, sentence)
		}
	}
}

func TestALongSentenceIsFound(t *testing.T) {
	text := "# A heading of no interest\n\n| reason | One, Two, Three, Four, Five |\n\n- One `span of code` ends here. Two\n  goes on: here.\n\n| three | four; five: six |\n\n```text\nnot this\n```\n    nor this\n"
	require.Equal(t, []string{"reason", "One x ends here", "Two goes on: here", "three", "four", "five", "six |"}, sentencesOf(text))
}

// commentsOf are the comments of a source file, each one a paragraph. Lines that begin with a tab are tables and code. Those that begin
// with a plus are directives, as are those that go/ast leaves out. A generated file has comments that nobody writes.
func commentsOf(t *testing.T, name string, source any) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	require.NoError(t, err)
	if ast.IsGenerated(file) {
		return nil
	}
	for _, group := range file.Comments {
		texts = append(texts, isNoProse.ReplaceAllString(group.Text(), "\n"))
	}
	return texts
}

// isNoProse matches lines of a comment that are not prose.
var isNoProse = regexp.MustCompile(`(?m)^[\t+].*$`)

// Comments of apis are the descriptions of the CRDs, too.
func TestCommentsArePlain(t *testing.T) {
	found := 0
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case filepath.Ext(file) != ".go":
			return nil
		}
		for _, text := range commentsOf(t, file, nil) {
			for _, sentence := range sentencesOf(text) {
				found++
				assert.LessOrEqual(t, len(strings.Fields(sentence)), longestSentence, "%s: make two sentences of this one: %s", file, sentence)
			}
		}
		return nil
	}))
	require.Greater(t, found, 5000)
}

func TestALongSentenceInACommentIsFound(t *testing.T) {
	source := "// Package p is one.\n// Two goes\n// on.\n//\n//\ta table\n//\n//   - three\n// +kubebuilder:not=this\n//\n//nolint:nor this\npackage p\n\nvar v int // four\n"
	var sentences []string
	for _, text := range commentsOf(t, "p.go", source) {
		sentences = append(sentences, sentencesOf(text)...)
	}
	require.Equal(t, []string{"Package p is one", "Two goes on", "three", "four"}, sentences)
}

// A decision whose reason nobody questions is never looked at again.
func TestEachDecisionSaysWhyAndWhenToRevisitIt(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "DECISIONS.md"))
	require.NoError(t, err)
	records := strings.Split(string(raw), "\n## ")[1:]
	require.Greater(t, len(records), 15)
	for _, record := range records {
		name, _, _ := strings.Cut(record, "\n")
		assert.Contains(t, record, "\n**Why:** ", name)
		assert.Contains(t, record, "\n**Revisit** ", name)
	}
}

// readers are those for whom pages are.
var readers = regexp.MustCompile(`(?i)\bfor (contributors|maintainers|everybody|people|users|cluster admins|security reviewers|platform teams|ML engineers)\b|\*\*Who it is for:\*\*`)

// A reader who does not know whether a page is for him reads all of it, or none.
func TestEachPageSaysForWhomItIs(t *testing.T) {
	for file := range plainDocuments {
		raw, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		beginning, _, _ := strings.Cut(string(raw), "\n## ")
		paragraphs := strings.Split(beginning, "\n\n")
		assert.Regexp(t, readers, strings.Join(paragraphs[:min(len(paragraphs), 3)], "\n\n"), "%s begins with its readers: For contributors. After this page you can ...", file)
	}
}

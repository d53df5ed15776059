package tools_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ofOthers are names that comments say, and no code of ours.
var ofOthers = map[string]bool{
	// products and their parts
	"CoreDNS": true, "GitHub": true, "LightGBM": true, "OpenAPI": true, "PyPI": true, "TorchTitan": true, "WebSocket": true,
	// Kubernetes and its programs
	"EndpointSlices": true, "GetMatchingTolerations": true, "MarkPodsNotReady": true, "NoSchedule": true, "containerLogs": true,
	"convertToAPIContainerStatuses": true, "selectableFields": true, "structType": true,
	// other libraries and formats, and CamelCase itself
	"ActualCostEstimator": true, "BadputType": true, "CamelCase": true, "CostEstimator": true, "ListObjectsV2": true, "artifactType": true,
}

var (
	// isWord matches a name without dots.
	isWord = regexp.MustCompile(`[A-Za-z_]\w*`)
	// isCamelCase matches names that no prose has.
	isCamelCase = regexp.MustCompile(`\b[A-Za-z]*[a-z][A-Z]\w*\b`)
	// leadsTo matches what sends a reader to one name, or to a file. What goes on after it is prose.
	leadsTo = regexp.MustCompile(`\b(to )?(?:[Ss]ee|[Bb]egin with|[Tt]hen read) ([A-Za-z_]\w*(?:\.\w+)*)(?:[.,;:)]|$)`)
	// isElsewhere matches what is not looked up: addresses, paths, and markers for code generators.
	isElsewhere = regexp.MustCompile(`\S*/\S*|(?m)^\+.*$`)
	// isFile matches the name of a file.
	isFile = regexp.MustCompile(`\.(go|md|sh|py|yaml)$`)
	// isPronoun matches what is no name after see.
	isPronoun = regexp.MustCompile(`^(it|each|there|whole|job)$`)
)

// names are those that comments may say.
type names struct {
	all      map[string]bool            // the names in all code, and the words of its texts
	folders  map[string]map[string]bool // those of the code in one folder
	packages map[string]bool            // the names of folders that have code
	files    map[string]bool            // without their folders
}

// add adds the names in a file of code, and the words of its texts: these are said to others, who know them.
func (n *names) add(file string, text []byte) {
	folder := n.folders[filepath.Dir(file)]
	if folder == nil {
		folder = map[string]bool{}
		n.folders[filepath.Dir(file)] = folder
		n.packages[filepath.Base(filepath.Dir(file))] = true
	}
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", files.Base(), len(text)), text, nil, 0)
	for {
		_, kind, literal := s.Scan()
		if kind == token.EOF {
			return
		}
		if kind != token.IDENT && kind != token.STRING {
			continue
		}
		for _, word := range isWord.FindAllString(literal, -1) {
			n.all[word], folder[word] = true, true
		}
	}
}

// has reports whether somebody has a name. At the beginning of a sentence a parameter has a capital; and there may be several of a kind.
func (n *names) has(name string) bool {
	small := strings.ToLower(name[:1]) + name[1:]
	return n.all[name] || n.all[small] || n.all[strings.TrimSuffix(name, "s")] || ofOthers[name]
}

// isThere reports whether a reader finds what a comment in a folder names. That is a file, a package, or a name of the folder's own code.
func (n *names) isThere(folder, target string) bool {
	first, rest, dotted := strings.Cut(target, ".")
	switch {
	case n.files[target] || isFile.MatchString(target):
		return n.files[target]
	case isPronoun.MatchString(target):
		return true
	case dotted:
		return (n.has(first) || n.packages[first]) && !slices.ContainsFunc(strings.Split(rest, "."), func(name string) bool { return !n.has(name) })
	default:
		return n.folders[folder][target] || n.packages[target] || isCamelCase.MatchString(target) && n.has(target)
	}
}

// stale returns the names in a comment that are nowhere, or not where it sends its reader.
func (n *names) stale(folder, comment string) (stale []string) {
	comment = strings.Join(strings.Fields(isElsewhere.ReplaceAllString(comment, "/")), " ")
	for _, name := range isCamelCase.FindAllString(comment, -1) {
		if !n.has(name) {
			stale = append(stale, name)
		}
	}
	for _, match := range leadsTo.FindAllStringSubmatch(comment, -1) {
		if match[1] == "" && !n.isThere(folder, match[2]) { // what wants to see something leads to nothing
			stale = append(stale, match[2])
		}
	}
	return stale
}

func TestCommentsNameWhatIsThere(t *testing.T) {
	n := &names{all: map[string]bool{}, packages: map[string]bool{}, folders: map[string]map[string]bool{}, files: map[string]bool{}}
	sources := map[string][]byte{}
	for _, file := range tracked(t) {
		n.files[filepath.Base(file)] = true
		if text, err := os.ReadFile(filepath.Join(root, file)); err == nil && filepath.Ext(file) == ".go" {
			sources[file] = text
			n.add(file, text)
		}
	}
	require.Greater(t, len(sources), 500)
	for file, text := range sources {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		if ast.IsGenerated(parsed) {
			continue
		}
		for _, group := range parsed.Comments {
			assert.Empty(t, n.stale(filepath.Dir(file), group.Text()), "%s: no code has what its comments name so. Mend the comment; names of others belong to the list ofOthers", file)
		}
	}
}

func TestAStaleNameInACommentIsFound(t *testing.T) {
	n := &names{all: map[string]bool{}, packages: map[string]bool{}, folders: map[string]map[string]bool{}, files: map[string]bool{"there.go": true}}
	n.add("a/a.go", []byte("package a\n\nfunc settle(longName int) { print(`jobField`, corev1.PodFailed) }"))
	n.add("b/b.go", []byte("package b\n\ntype Task struct{ task int }"))
	for comment, want := range map[string][]string{
		"LongName is jobField; a Task is prose, and GitHub is known. See settle.": nil,
		"See there.go, package b, and b.Task. PodFailed, PodFaileds":              nil,
		"+kubebuilder:validation:messageExpression\nSee https://a.b/camelCase":    nil,
		"Begin with Task, then gone.go: see settles.":                             {"Task", "settles"},
		"OldName is gone\n(see\ngone.go).":                                        {"OldName", "gone.go"},
		"It wants to see settles. See longName, PodFailed; see it.":               nil,
		"see b.Tusk; see the end.":                                                {"b.Tusk"},
	} {
		require.Equal(t, want, n.stale("a", comment), comment)
	}
}

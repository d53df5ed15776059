package documents

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// comments are those of a script, or of a workflow.
var comments = regexp.MustCompile(`(?m)^\s*#.*$`)

// runs is the code that a runner runs, without comments.
func (r runner) runs(t *testing.T) string {
	t.Helper()
	folder, test, isTest := strings.Cut(r.file, ":")
	if !isTest {
		raw, err := os.ReadFile(filepath.Join(root, r.file))
		require.NoError(t, err, "%s", r.command)
		return comments.ReplaceAllString(string(raw), "")
	}
	return reached(t, functionsOf(t, filepath.Join(root, folder)), test)
}

// functionsOf are the functions and methods in the tests of a package, by name. Methods of several types may have one name.
func functionsOf(t *testing.T, folder string) map[string][]*ast.FuncDecl {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	functions := map[string][]*ast.FuncDecl{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declared := range file.Decls {
			if f, is := declared.(*ast.FuncDecl); is && f.Body != nil {
				functions[f.Name.Name] = append(functions[f.Name.Name], f)
			}
		}
	}
	return functions
}

// reached is the code of a test and of all functions that it names, and that these name.
func reached(t *testing.T, functions map[string][]*ast.FuncDecl, test string) string {
	t.Helper()
	require.NotEmpty(t, functions[test], "there is no %s", test)
	var code bytes.Buffer
	seen, next := map[string]bool{test: true}, []string{test}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		for _, f := range functions[name] {
			require.NoError(t, printer.Fprint(&code, token.NewFileSet(), f))
			code.WriteByte('\n')
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if id, is := n.(*ast.Ident); is && !seen[id.Name] && functions[id.Name] != nil {
					seen[id.Name] = true
					next = append(next, id.Name)
				}
				return true
			})
		}
	}
	return code.String()
}

func TestWhatATestDoesNotRunIsNoneOfItsCode(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a_test.go"), []byte(`package a
func TestRuns(t *testing.T) { s{}.installs() }
func (s) installs()         { run("helm", "install") } // helm upgrade
func nobodyCalls()          { run("helm", "rollback") }
`), 0o600))
	code := reached(t, functionsOf(t, folder), "TestRuns")
	require.Contains(t, code, `"install"`)
	require.NotContains(t, code, "upgrade")
	require.NotContains(t, code, "rollback")
}

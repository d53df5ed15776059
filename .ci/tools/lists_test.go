package tools_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tenants decide how long a list from the apiserver is, and how large its objects are. 300 pods of 1.35 MB took 1,314 MiB of the operator's
// memory. So each has a limit. What a cache holds is compact, and may be listed. A reconcile's client reads all from a cache but what is
// unstructured.
func TestNoLiveListIsWithoutALimit(t *testing.T) {
	limited, cached := 0, 0
	for _, file := range productFiles(t, "controllers", "cmd/manager") {
		for _, call := range listsIn(t, file) {
			switch {
			case call.limited:
				limited++
			case call.byCache:
				cached++
			default:
				t.Errorf("%s lists %s by %s without client.Limit: use calls.Pages, or ask for a page", call.at, call.what, call.by)
			}
		}
	}
	require.NotZero(t, limited)
	require.NotZero(t, cached)
}

func TestAListWithoutALimitIsFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	require.NoError(t, os.WriteFile(file, []byte(`package a
func f() {
	cached, groups := &corev1.PodList{}, &unstructured.UnstructuredList{}
	r.Client.List(ctx, cached)
	r.Client.List(ctx, groups)
	r.Client.List(ctx, blank())
	r.Live.List(ctx, cached)
	reader.List(ctx, cached)
	r.Live.List(ctx, cached, client.Limit(1))
}`), 0o600))
	var found []string
	for _, call := range listsIn(t, file) {
		if !call.limited && !call.byCache {
			found = append(found, call.by+" "+call.what)
		}
	}
	require.Equal(t, []string{
		"r.Client unstructured.UnstructuredList", "r.Client ", "r.Live corev1.PodList", "reader corev1.PodList",
	}, found)
}

// Every reader of the apiserver refuses, when it runs, what the test above does not find.
func TestReconcilesReadTheApiserverByAReaderThatWantsLimits(t *testing.T) {
	made := 0
	for _, file := range productFiles(t, "controllers") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		made += strings.Count(string(text), "compact.Live(mgr.GetAPIReader())")
		require.NotContains(t, strings.ReplaceAll(string(text), "compact.Live(mgr.GetAPIReader())", ""), "GetAPIReader", file)
	}
	require.Equal(t, 1, made)
}

// productFiles are the Go files of folders that are no tests.
func productFiles(t *testing.T, folders ...string) (files []string) {
	t.Helper()
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				files = append(files, path)
			}
			return nil
		}))
	}
	require.NotEmpty(t, files)
	return files
}

// listCall is a call of a client's List.
type listCall struct {
	at, by, what     string
	limited, byCache bool
}

// listsIn are the calls List(context, list, options...) of a file.
func listsIn(t *testing.T, file string) (calls []listCall) {
	t.Helper()
	places := token.NewFileSet()
	parsed, err := parser.ParseFile(places, file, nil, 0)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		types := typesIn(d)
		ast.Inspect(d, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) < 2 {
				return true
			}
			f, is := call.Fun.(*ast.SelectorExpr)
			if !is || f.Sel.Name != "List" || forwards(call) {
				return true
			}
			what, by := types[words(call.Args[1])], words(f.X)
			calls = append(calls, listCall{
				at: places.Position(call.Pos()).String(), by: by, what: what,
				limited: strings.Contains(words(call), "client.Limit"),
				byCache: strings.HasSuffix(by, ".cache") || strings.HasSuffix(by, ".Client") && what != "" && what != "unstructured.UnstructuredList",
			})
			return true
		})
	}
	return calls
}

// forwards reports whether a call hands on the options that its function was called with: that of a client around another.
func forwards(call *ast.CallExpr) bool {
	last := words(call.Args[len(call.Args)-1])
	return call.Ellipsis.IsValid() && (last == "opts" || last == "options")
}

// typesIn are the types of variables that are made as &Type{} or new(Type), by name.
func typesIn(d ast.Decl) map[string]string {
	types := map[string]string{}
	ast.Inspect(d, func(n ast.Node) bool {
		a, is := n.(*ast.AssignStmt)
		if !is || len(a.Lhs) != len(a.Rhs) {
			return true
		}
		for i, value := range a.Rhs {
			if pointer, is := value.(*ast.UnaryExpr); is {
				if made, is := pointer.X.(*ast.CompositeLit); is {
					types[words(a.Lhs[i])] = words(made.Type)
				}
			}
		}
		return true
	})
	return types
}

// words are the names in an expression, as they stand there.
func words(n ast.Node) string {
	var all []string
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			all = append(all, words(n.X)+"."+n.Sel.Name)
			return false
		case *ast.Ident:
			all = append(all, n.Name)
		}
		return true
	})
	return strings.Join(all, " ")
}

package run

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// setters are the functions that begin a state, and those that end it.
type setters struct{ begin, end []string }

// note adds a function to a list, once.
func note(list *[]string, function string) {
	if !slices.Contains(*list, function) {
		*list = append(*list, function)
		slices.Sort(*list)
	}
}

// settersOf returns who sets each field of the wrapper, in a file. Those who set it to its zero value end the state.
func settersOf(t *testing.T, file string, found map[string]*setters) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		f, isFunction := d.(*ast.FuncDecl)
		if !isFunction {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			assignment, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for i, left := range assignment.Lhs {
				field, ok := left.(*ast.SelectorExpr)
				if !ok {
					continue
				}
				s := found[field.Sel.Name]
				if of, ok := field.X.(*ast.Ident); !ok || of.Name != "w" || s == nil {
					continue
				}
				list := &s.begin
				if len(assignment.Rhs) == len(assignment.Lhs) && isZero(assignment.Rhs[i]) {
					list = &s.end
				}
				note(list, f.Name.Name)
			}
			return true
		})
	}
}

func isZero(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "false" || e.Name == "nil"
	case *ast.BasicLit:
		return e.Value == "0"
	default:
		return false
	}
}

func TestTheTableOfStatesIsThatOfTheCode(t *testing.T) {
	source, err := os.ReadFile("state.go")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(source), "//\tstate ")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n//\n")
	want, found := map[string]*setters{}, map[string]*setters{}
	for _, row := range strings.Split(table, "\n//\t")[1:] {
		cells := regexp.MustCompile(" {2,}").Split(row, 4)
		require.Len(t, cells, 4, row)
		want[cells[0]], found[cells[0]] = &setters{begin: functions(cells[1]), end: functions(cells[2])}, &setters{}
	}
	require.Len(t, want, 7)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			settersOf(t, file, found)
		}
	}
	require.Equal(t, want, found)
}

// functions are those that a cell of the table names.
func functions(cell string) (names []string) {
	if cell == "-" {
		return nil
	}
	names = strings.Split(cell, ", ")
	slices.Sort(names)
	return names
}

package kernel

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

// notStages are calls in Plan that are no stage: they look something up, or put results together.
var notStages = []string{"Avoiding", "FirstCreated", "IsOver", "HaveStarted", "forgetSeries", "append", "misplacedRanks", "creates", "changes", "soonest"}

// callsIn returns the names of the functions that a function calls, in the order in which they run.
func callsIn(t *testing.T, file, function string) (calls []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		var inner []func()
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if n == nil { // the end of a node: a call runs after its arguments
				inner[len(inner)-1]()
				inner = inner[:len(inner)-1]
				return false
			}
			end := func() {}
			if call, ok := n.(*ast.CallExpr); ok {
				switch called := call.Fun.(type) {
				case *ast.Ident:
					end = func() { calls = append(calls, called.Name) }
				case *ast.SelectorExpr:
					end = func() { calls = append(calls, called.Sel.Name) }
				}
			}
			inner = append(inner, end)
			return true
		})
	}
	return slices.DeleteFunc(calls, func(name string) bool { return slices.Contains(notStages, name) })
}

// A newcomer reads the walk in doc.go to learn what Plan does, and in which order.
func TestTheWalkHasTheStagesOfPlanInTheirOrder(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	_, walk, found := strings.Cut(parsed.Doc.Text(), "# The walk of a failed pod")
	require.True(t, found)
	var told, stages []string
	for _, stage := range callsIn(t, "plan.go", "Plan") {
		stages = append(append(stages, stage), callsIn(t, "plan.go", stage)...)
	}
	require.Greater(t, len(stages), 20)
	_, walk, _ = strings.Cut(walk, "in that order.")
	for _, name := range regexp.MustCompile(`\w+`).FindAllString(walk, -1) {
		if slices.Contains(stages, name) && !slices.Contains(told, name) {
			told = append(told, name)
		}
	}
	require.Equal(t, stages, told)
}

// Each file of this package stands once in the table of doc.go, with stages that there are and a test that there is.
func TestTheTableHasEachFile(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "//\tfile  ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n//\n")
	stages := append(callsIn(t, "plan.go", "Plan"), "all", "the caller", "kubectl gj why")
	var files []string
	for _, row := range strings.Split(table, "\n")[1:] {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimPrefix(row, "//\t"), -1)
		require.Len(t, cells, 4, row)
		require.Subset(t, stages, strings.Split(cells[1], ", "), row)
		require.FileExists(t, cells[3], row)
		files = append(files, cells[0])
	}
	there, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.Equal(t, slices.DeleteFunc(there, func(f string) bool { return f == "doc.go" || strings.HasSuffix(f, "_test.go") }), files)
}

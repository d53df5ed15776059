package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
)

// place is a function of a file.
type place struct{ file, function string }

// reason is why nothing runs so many branches of a function.
type reason struct {
	branches int
	why      string
}

const typed = "cannot happen: a typed object of this API is always JSON."

// reasons are those of the branches of the kernel that neither lives nor tests take.
var reasons = map[place]reason{
	{"kernel/finish.go", "printRule"}:        {1, typed},
	{"kernel/kueue/workload.go", "template"}: {1, typed},
	{"kernel/ledger/history.go", "close"}:    {1, "needs a status that somebody has edited, and a clock that was set back."},
	{"kernel/ledger/history.go", "size"}:     {1, typed},
	{"kernel/spec/hash.go", "PodsHash"}:      {1, typed},
	{"kernel/spec/spec.go", "hashOf"}:        {1, typed},
}

// withoutAPIServer are the packages of controllers whose tests need no apiserver.
var withoutAPIServer = []string{
	"./controllers/calls", "./controllers/dependents", "./controllers/jobs", "./controllers/metrics", "./controllers/remember", "./controllers/training", "./controllers/wake",
}

// testedBy says which tests run the branches of a folder of controllers that no life takes.
var testedBy = map[string]string{
	"controllers":             "no life runs it. Its own tests start the operator beside an apiserver.",
	"controllers/badnodes":    "its own tests feed it with events of nodes and of jobs. `badnodes_test.go` of `controllers` has a node with a condition beside an apiserver.",
	"controllers/announce":    "`announce_test.go` and `log_test.go` of `controllers` read the events and the log beside an apiserver.",
	"controllers/calls":       "its own tests count calls, refusals and waits on a clock of their own. Tests of `controllers` see refusals of an apiserver.",
	"controllers/compact":     "its own tests pack and open objects, and read lists and streams of an apiserver.",
	"controllers/definitions": "no life runs it. Its own tests do, beside a fake of the apiserver. `definitions_test.go` and `definitions_kind_test.go` of `controllers` do, beside an apiserver.",
	"controllers/dependents":  "its own tests see its writes, and refuse them, beside a fake of the apiserver. `tensorboard_test.go` and `kubeflow_test.go` of `controllers` have the objects made.",
	"controllers/jobs":        "its own tests ask pods over the network. Tests of `controllers` run its caches and watches beside an apiserver.",
	"controllers/metrics":     "its own tests count on a clock of their own. `metrics_test.go` of `controllers` reads what an operator serves.",
	"controllers/remember":    "its own test.",
	"controllers/training":    "its own tests refuse annotations and updates. `kubeflow_test.go`, `sshkeys_test.go` and others of `controllers` run it beside an apiserver.",
	"controllers/wake":        "its own tests gather events and note writes. Tests of `controllers` run its watches beside an apiserver.",
	"controllers/wiring":      "every test of `controllers` starts the operator by it.",
}

// functionAt is the name of the function in which a line of a file stands; "" if it stands in none.
func functionAt(file, line string) string {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		return ""
	}
	n, _ := strconv.Atoi(line)
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && fset.Position(f.Pos()).Line <= n && n <= fset.Position(f.End()).Line {
			return f.Name.Name
		}
	}
	return ""
}

// page is the document: lives, whether the tests of controllers had an apiserver, the table, and the reasons.
const page = `# Branches that no simulated life takes

` + "`make sim-branches`" + ` writes this page for contributors. It lives %d lives, then runs the tests of ` + "`kernel`" + `, then those of ` + "`controllers`" + ` %s an apiserver.
A branch is a block of statements that the compiler counts. Of those that no life takes, each stands in one column more: the first that runs it.
Files of which lives take all branches have no row. Neither have packages that none of these import.

| file | branches | not lived | kernel's tests | controllers' tests | none of these |
| --- | --- | --- | --- | --- | --- |
%s
## What runs the others, or why nothing does

Of the kernel each branch is explained that nothing runs: else ` + "`make sim-branches`" + ` fails. Of controllers the folders' tests are named.

%s`

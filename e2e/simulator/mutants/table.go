package main

import (
	"fmt"
	"os"
	"strings"
)

// document has the tables of what the last sweeps found.
const document = "e2e/simulator/mutants/README.md"

// table is a table in the document, between two lines.
type table struct{ head, beginLine, endLine string }

// The tables that there are.
var (
	lives = table{
		"| mutant | found in life | as |\n| --- | --- | --- |\n",
		"<!-- The table is written by `make sim-mutants UPDATE=-update`. -->\n\n", "\n<!-- The end of the table of mutants. -->\n",
	}
	deviations = table{
		"| mutant | deviations | in miniature | as |\n| --- | --- | --- | --- |\n",
		"<!-- The table is written by `make sim-mutants UPDATE='-k 2 -update'`. -->\n\n", "\n<!-- The end of the table of deviations. -->\n",
	}
)

// read returns the text of the document before the table, the rows by their mutants' names, and the text behind it.
func (t table) read() (before string, rows map[string]string, after string, err error) {
	text, err := os.ReadFile(document)
	if err != nil {
		return "", nil, "", err
	}
	before, rest, begins := strings.Cut(string(text), t.beginLine)
	inside, after, ends := strings.Cut(rest, t.endLine)
	if !begins || !ends {
		return "", nil, "", fmt.Errorf("%s has no table between the lines %q and %q", document, t.beginLine, t.endLine)
	}
	rows = map[string]string{}
	for row := range strings.Lines(strings.TrimPrefix(inside, t.head)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		rows[name] = row
	}
	return before, rows, after, nil
}

// writeTable puts rows into the table, and takes out those of mutants that are gone. Mutants that did not run keep their rows.
func (t table) writeTable(ran map[string]string) error {
	before, rows, after, err := t.read()
	if err != nil {
		return err
	}
	inside := t.head
	for _, m := range mutants {
		if row, ok := ran[m.Name]; ok {
			rows[m.Name] = row
		}
		inside += rows[m.Name]
	}
	return os.WriteFile(document, []byte(before+t.beginLine+inside+t.endLine+after), 0o600)
}

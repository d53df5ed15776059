package main

import (
	"fmt"
	"os"
	"strings"
)

// document has the table of what the last sweep found, between two marks.
const (
	document  = "e2e/README.md"
	head      = "| mutant | found in life | as |\n| --- | --- | --- |\n"
	beginMark = "<!-- The table is written by `make sim-mutants UPDATE=-update`. -->\n\n"
	endMark   = "\n<!-- The end of the table of mutants. -->\n"
)

// table returns the text of the document before the table, the rows by their mutants' names, and the text behind it.
func table() (before string, rows map[string]string, after string, err error) {
	text, err := os.ReadFile(document)
	if err != nil {
		return "", nil, "", err
	}
	before, rest, begins := strings.Cut(string(text), beginMark)
	inside, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return "", nil, "", fmt.Errorf("%s has no table between the marks %q and %q", document, beginMark, endMark)
	}
	rows = map[string]string{}
	for row := range strings.Lines(strings.TrimPrefix(inside, head)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		rows[name] = row
	}
	return before, rows, after, nil
}

// writeTable puts rows into the table, and takes out those of mutants that are gone. Mutants that did not run keep their rows.
func writeTable(ran map[string]string) error {
	before, rows, after, err := table()
	if err != nil {
		return err
	}
	inside := head
	for _, m := range mutants {
		if row, is := ran[m.Name]; is {
			rows[m.Name] = row
		}
		inside += rows[m.Name]
	}
	return os.WriteFile(document, []byte(before+beginMark+inside+endMark+after), 0o600)
}

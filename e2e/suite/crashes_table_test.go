package suite_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// judgements collects what became of the runs, by cell, in the order in which they came.
type judgements struct {
	mu    sync.Mutex
	cells []*cellResults
}

type cellResults struct {
	name string
	runs []ranCrash
}

type ranCrash struct {
	crash
	judgement
}

func (t *judgements) add(c crash, v judgement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.cells, func(have *cellResults) bool { return have.name == c.cell() })
	if i < 0 {
		i, t.cells = len(t.cells), append(t.cells, &cellResults{name: c.cell()})
	}
	t.cells[i].runs = append(t.cells[i].runs, ranCrash{c, v})
}

// print writes a table in Markdown, and below it the reasons of what is listed, and what is wrong.
func (t *judgements) print(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.cells, func(a, b *cellResults) int { return strings.Compare(a.name, b.name) })
	fmt.Fprint(out, "\n| job, restarts, fault | runs | right | listed | WRONG | at the end | said first |\n|---|---|---|---|---|---|---|\n")
	sums := map[string]int{}
	for _, cell := range t.cells {
		n := map[string]int{}
		for _, run := range cell.runs {
			n[run.word()]++
			sums[run.word()]++
		}
		first := cell.runs[0]
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %s | %s |\n", cell.name, len(cell.runs), n["right"], n["listed"], n["WRONG"], first.counts, first.brief)
	}
	fmt.Fprintf(out, "\n%d right, %d listed, %d WRONG\n", sums["right"], sums["listed"], sums["WRONG"])
	t.printReasons(out)
}

func (t *judgements) printReasons(out io.Writer) {
	listed := map[string][]string{}
	for _, cell := range t.cells {
		for _, run := range cell.runs {
			switch run.word() {
			case "WRONG":
				fmt.Fprintf(out, "\nWRONG: %s\n- %s\n", run.crash, strings.Join(run.wrong, "\n- "))
			case "listed":
				listed[run.listed] = append(listed[run.listed], run.crash.String())
			}
		}
	}
	for reason, runs := range listed {
		fmt.Fprintf(out, "\nlisted: %s:\n- %s\n", reason, strings.Join(runs, "\n- "))
	}
}

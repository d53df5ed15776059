package suite_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// table collects what was measured, by workload and entrant, in the order in which it came.
type table struct {
	workloads []*workloadRows
}

type workloadRows struct {
	name string
	cols []*column
}

type column struct {
	name string
	list []measured
}

func (t *table) add(w workload, e entrant, m measured) {
	i := slices.IndexFunc(t.workloads, func(r *workloadRows) bool { return r.name == w.name })
	if i < 0 {
		i, t.workloads = len(t.workloads), append(t.workloads, &workloadRows{name: w.name})
	}
	rows := t.workloads[i]
	j := slices.IndexFunc(rows.cols, func(c *column) bool { return c.name == e.name })
	if j < 0 {
		j, rows.cols = len(rows.cols), append(rows.cols, &column{name: e.name})
	}
	rows.cols[j].list = append(rows.cols[j].list, m)
}

// print writes a table in Markdown for each workload. Where repetitions differ in what is counted, all are shown.
func (t *table) print(out io.Writer) {
	for _, w := range t.workloads {
		fmt.Fprintf(out, "\n| %s |", w.name)
		for _, c := range w.cols {
			fmt.Fprintf(out, " %s |", c.name)
		}
		fmt.Fprintf(out, "\n|---|%s\n", strings.Repeat("---|", len(w.cols)))
		for _, line := range []struct {
			name string
			cell func(column) string
		}{
			{"failure to all processes running again, median (least to most)", func(c column) string { return seconds(c, func(m measured) time.Duration { return m.again }) }},
			{"failure to the next step of all, median (least to most)", func(c column) string { return seconds(c, func(m measured) time.Duration { return m.step }) }},
			{"failure to the order to stop", func(c column) string { return seconds(c, func(m measured) time.Duration { return m.stop }) }},
			{"failure to the order to go on", func(c column) string { return seconds(c, func(m measured) time.Duration { return m.goOn }) }},
			{"pods created", func(c column) string { return counts(c, func(m measured) string { return fmt.Sprint(m.created) }) }},
			{"restarts counted", func(c column) string { return counts(c, func(m measured) string { return m.restarts }) }},
			{"load average before the failure, least to most", loads},
			{"repetitions", func(c column) string { return fmt.Sprint(len(c.list)) }},
		} {
			fmt.Fprintf(out, "| %s |", line.name)
			for _, c := range w.cols {
				fmt.Fprintf(out, " %s |", line.cell(*c))
			}
			fmt.Fprintln(out)
		}
	}
}

func seconds(c column, of func(measured) time.Duration) string {
	list := make([]time.Duration, 0, len(c.list))
	for _, m := range c.list {
		list = append(list, of(m))
	}
	slices.Sort(list)
	if list[0] == 0 {
		return "-"
	}
	middle := (list[(len(list)-1)/2] + list[len(list)/2]) / 2
	return fmt.Sprintf("%.1f s (%.1f to %.1f)", middle.Seconds(), list[0].Seconds(), list[len(list)-1].Seconds())
}

func counts(c column, of func(measured) string) string {
	var list []string
	for _, m := range c.list {
		list = append(list, of(m))
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", ")
}

func loads(c column) string {
	least := slices.MinFunc(c.list, func(a, b measured) int { return int(100*a.load) - int(100*b.load) })
	most := slices.MaxFunc(c.list, func(a, b measured) int { return int(100*a.load) - int(100*b.load) })
	return fmt.Sprintf("%.1f to %.1f", least.load, most.load)
}

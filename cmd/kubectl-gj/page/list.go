package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/list"
)

// List is the page of a sweep's jobs.
type List struct {
	Frame
	Count string
	// Namespaces says that the table has a column of them.
	Namespaces bool
	// Same are labels that all jobs have; Labels are the keys of the others.
	Same   []Fact
	Labels []string
	Rows   []ListRow
	// More says which labels are not shown.
	More string
}

// ListRow is a job.
type ListRow struct {
	Namespace, Name, Phase, Duration, Restarts, Step, Loss, Cause, LastFailure string
	Labels                                                                     []string
}

// mostLabels is how many columns of labels a page has.
const mostLabels = 8

// ListOf returns the page of jobs. A label by which they differ is a column; one that all have stands above the table.
func ListOf(rows []list.Row, all bool, now time.Time) *List {
	l := &List{Frame: frame("Training jobs", now), Count: fmt.Sprintf("%d jobs", len(rows)), Namespaces: all}
	if len(rows) == 1 {
		l.Count = "1 job"
	}
	if len(rows) > 0 && !all {
		l.Title += " in " + rows[0].Namespace
	}
	l.split(rows)
	if n := len(l.Labels) - mostLabels; n > 0 {
		l.More = fmt.Sprintf("%d more labels are not shown: %s.", n, strings.Join(l.Labels[mostLabels:], ", "))
		l.Labels = l.Labels[:mostLabels]
	}
	for _, r := range rows {
		row := ListRow{Namespace: r.Namespace, Name: r.Name, Phase: cmp.Or(string(r.Phase), "Unseen"), Duration: r.Took(now), Restarts: fmt.Sprint(r.Restarts),
			Step: cmp.Or(r.Reached(), "-"), Loss: cmp.Or(r.Loss, "-"), Cause: cmp.Or(string(r.Cause), "-"), LastFailure: cmp.Or(r.LastFailure, "-")}
		for _, key := range l.Labels {
			row.Labels = append(row.Labels, r.Labels[key])
		}
		l.Rows = append(l.Rows, row)
	}
	return l
}

// split tells labels that all jobs have from others.
func (l *List) split(rows []list.Row) {
	values, have := map[string]string{}, map[string]int{}
	for _, r := range rows {
		for key, value := range r.Labels {
			if values[key] == value || have[key] == 0 {
				have[key]++
			}
			if have[key] == 1 {
				values[key] = value
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(rows) > 1 && have[key] == len(rows) {
			l.Same = append(l.Same, Fact{key, values[key]})
		} else {
			l.Labels = append(l.Labels, key)
		}
	}
}

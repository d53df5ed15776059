// Package top sorts jobs, or the replicas of one, by how often they were started again. All of it is pure.
package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/kernel/ledger"
)

// Row is a job, or a replica.
type Row struct {
	Namespace string `json:"namespace"`
	// Name is kind and name of a job, or type and rank of a replica.
	Name string `json:"name"`
	// Restarts are those that a limit counts.
	Restarts int32 `json:"restarts"`
	// Disruptions are the replicas of a job that something outside it ended; Excepted are its restarts that rules do not count.
	Disruptions int32 `json:"disruptions,omitempty"`
	Excepted    int32 `json:"excepted,omitempty"`
	// Uncounted are the starts of a replica's own that no limit counts.
	Uncounted int32 `json:"uncounted,omitempty"`
	// Worst is the replica of a job that was started again most often.
	Worst string `json:"worst,omitempty"`
	// Step and Loss are the last that the code of a job told.
	Step *int64 `json:"step,omitempty"`
	Loss string `json:"loss,omitempty"`
	// Last is how the last one failed that the status knows, and Time when.
	Last string       `json:"last,omitempty"`
	Time *metav1.Time `json:"time,omitempty"`
}

// Jobs returns the rows of jobs, those with most restarts first. Jobs of which nothing was ever started again are left out.
func Jobs(list []v1beta1.GenericJob) []Row {
	var rows []Row
	for i := range list {
		job := &list[i]
		if job.Status.BackoffCount+job.Status.DisruptionCount+job.Status.ExceptedCount == 0 {
			continue
		}
		kind := v1beta1.KindGenericJob
		if owner := metav1.GetControllerOf(job); owner != nil {
			kind = owner.Kind
		}
		row := Row{Namespace: job.Namespace, Name: kind + "/" + job.Name,
			Restarts: job.Status.BackoffCount, Disruptions: job.Status.DisruptionCount, Excepted: job.Status.ExceptedCount}
		if replicas := Replicas(job); len(replicas) > 0 {
			row.Worst = fmt.Sprintf("%s (%d)", replicas[0].Name, replicas[0].Restarts+replicas[0].Uncounted)
		}
		if p := job.Status.Progress; p != nil {
			row.Step, row.Loss = p.Step, p.Loss
		}
		if n := len(job.Status.Failures); n > 0 {
			row.Last, row.Time = tree.Describe(job.Status.Failures[n-1]), job.Status.Failures[n-1].Time
		}
		rows = append(rows, row)
	}
	return sorted(rows)
}

// Replicas returns the rows of a job's replicas that were started again by themselves, those with most restarts first. A ledger that cannot be read has none: it
// may name any number of ranks.
func Replicas(job *v1beta1.GenericJob) []Row {
	var rows []Row
	if _, err := ledger.Load(job); err != nil {
		return nil
	}
	for _, l := range job.Status.Ledger {
		for _, r := range l.Replicas {
			for rank := r.Rank; rank <= max(r.Rank, r.LastRank); rank++ {
				row := Row{Namespace: job.Namespace, Name: fmt.Sprintf("%s-%d", l.Type, rank), Restarts: r.Restarts, Uncounted: max(0, r.Attempt-r.Restarts)}
				for _, failure := range job.Status.Failures {
					if hasSuffix(failure.Pod, row.Name) {
						row.Last, row.Time = tree.Describe(failure), failure.Time
					}
				}
				rows = append(rows, row)
			}
		}
	}
	return sorted(rows)
}

// hasSuffix reports whether a pod's name ends with a replica's.
func hasSuffix(pod, replica string) bool {
	n := len(pod) - len(replica)
	return n > 0 && pod[n-1] == '-' && pod[n:] == replica
}

func sorted(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Restarts, a.Restarts), cmp.Compare(b.Disruptions, a.Disruptions), cmp.Compare(b.Excepted, a.Excepted), cmp.Compare(b.Uncounted, a.Uncounted),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// TableOfJobs returns a table of jobs. With all, it has their namespaces; steps and losses, if any code told some.
func TableOfJobs(rows []Row, all bool, now time.Time) [][]string {
	t := table(rows, []string{"RESTARTS", "DISRUPTIONS", "EXCEPTED"}, func(r Row) []int32 { return []int32{r.Restarts, r.Disruptions, r.Excepted} }, now)
	if all {
		t[0] = append([]string{"NAMESPACE"}, t[0]...)
		for i, r := range rows {
			t[i+1] = append([]string{r.Namespace}, t[i+1]...)
		}
	}
	return t
}

// TableOfReplicas returns a table of replicas.
func TableOfReplicas(rows []Row, now time.Time) [][]string {
	return table(rows, []string{"RESTARTS", "NOT COUNTED"}, func(r Row) []int32 { return []int32{r.Restarts, r.Uncounted} }, now)
}

// table returns a table of rows, which begins with the names of its columns. Some of these are for counts.
func table(rows []Row, counts []string, of func(Row) []int32, now time.Time) [][]string {
	tell := slices.ContainsFunc(rows, func(r Row) bool { return r.Step != nil || r.Loss != "" })
	line := func(name string, counts []string, step, loss, worst, last, ago string) []string {
		cells := append([]string{name}, counts...)
		if tell {
			cells = append(cells, step, loss)
		}
		return append(cells, worst, strings.Join(strings.Fields(last), " "), ago) // the words of code may be of several lines
	}
	out := [][]string{line("NAME", counts, "STEP", "LOSS", "WORST", "LAST FAILURE", "AGO")}
	for _, r := range rows {
		ago, step := "-", "-"
		if r.Time != nil {
			ago = duration.HumanDuration(now.Sub(r.Time.Time))
		}
		if r.Step != nil {
			step = fmt.Sprint(*r.Step)
		}
		var numbers []string
		for _, n := range of(r) {
			numbers = append(numbers, fmt.Sprint(n))
		}
		out = append(out, line(r.Name, numbers, step, cmp.Or(r.Loss, "-"), cmp.Or(r.Worst, "-"), cmp.Or(r.Last, "-"), ago))
	}
	return out
}

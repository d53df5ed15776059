// Package top sorts jobs, or the replicas of one, by how often they were started again. All of it is pure.
package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Row is what the rows of jobs and of replicas have in common.
type Row struct {
	Namespace string `json:"namespace"`
	// Name is how commands call a job, as in pj/mnist, or type and rank of a replica.
	Name string `json:"name"`
	// Restarts are those that a limit counts.
	Restarts int32 `json:"restarts"`
	// Last is how the last one failed that the status knows, and Time when.
	Last string       `json:"last,omitempty"`
	Time *metav1.Time `json:"time,omitempty"`
}

// Job is the row of a job. In JSON its counts are always there, as are those of a replica.
type Job struct {
	Row
	// Disruptions are the replicas that something outside the job ended; Excepted are the restarts excepted by rules.
	Disruptions int32 `json:"disruptions"`
	Excepted    int32 `json:"excepted"`
	// Worst is the replica that was started again most often, and how often; empty if that is not known.
	Worst string `json:"worst,omitempty"`
	// Step and Loss are the last that the code reported.
	Step *int64 `json:"step,omitempty"`
	Loss string `json:"loss,omitempty"`
}

// Replica is the row of a replica.
type Replica struct {
	Row
	// WithJob are the starts of the whole job that are not among Restarts.
	WithJob int32 `json:"withJob"`
	// Uncounted are the starts of the replica alone that no limit counts.
	Uncounted int32 `json:"uncounted"`
	// More are the starts of which the status does not tell what they were. PerhapsMore says that there may have been others.
	More        int32 `json:"more"`
	PerhapsMore bool  `json:"perhapsMore"`
}

// starts returns how often a replica was started again, as far as is known.
func (r Replica) starts() int32 { return r.Restarts + r.WithJob + r.Uncounted + r.More }

// Jobs returns the rows of jobs, those with most restarts first. Jobs of which nothing was ever started again are left out.
func Jobs(list []v1beta1.GenericJob) []Job {
	rows := []Job{} // in JSON, an empty list is not null
	for i := range list {
		job := &list[i]
		replicas := Replicas(job)
		if job.Status.BackoffCount+job.Status.DisruptionCount+job.Status.ExceptedCount == 0 && len(replicas) == 0 {
			continue
		}
		row := Job{Row: Row{Namespace: job.Namespace, Name: jobs.AddressOf(job), Restarts: job.Status.BackoffCount},
			Worst: worst(replicas), Disruptions: job.Status.DisruptionCount, Excepted: job.Status.ExceptedCount}
		if p := job.Status.Progress; p != nil {
			row.Step, row.Loss = p.Step, p.Loss
		}
		if n := len(job.Status.Failures); n > 0 {
			row.Last, row.Time = tree.Describe(job.Status.Failures[n-1]), job.Status.Failures[n-1].Time
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Job) int {
		return cmp.Or(cmp.Compare(b.Restarts, a.Restarts), cmp.Compare(b.Disruptions, a.Disruptions), cmp.Compare(b.Excepted, a.Excepted), a.compareNames(b.Row))
	})
	return rows
}

// worst names the replica that was started again most often, as in worker-1 (6). If others were as often, it says how many.
func worst(replicas []Replica) string {
	if len(replicas) == 0 {
		return ""
	}
	most := slices.MaxFunc(replicas, func(a, b Replica) int { return cmp.Compare(a.starts(), b.starts()) }) // the first of several
	others := 0
	for _, r := range replicas {
		if r.starts() == most.starts() && r.Name != most.Name {
			others++
		}
	}
	switch {
	case most.starts() == 0:
		return ""
	case others > 0:
		return fmt.Sprintf("%s and %d more (%d each)", most.Name, others, most.starts())
	default:
		return fmt.Sprintf("%s (%d)", most.Name, most.starts())
	}
}

// Replicas returns the rows of a job's replicas that were started again, those with most restarts first. A ledger that cannot be read has none: it
// may name any number of ranks.
func Replicas(job *v1beta1.GenericJob) []Replica {
	rows := []Replica{}
	l, err := ledger.Load(job)
	if err != nil {
		return rows
	}
	failures := lastFailures(job)
	for replicaType, ranks := range ranksOf(job, l.Ledger) {
		account := l.Account(replicaType)
		for rank := range ranks {
			s := l.Starts(account, rank)
			if s.All() == 0 && !s.PerhapsMore {
				continue
			}
			row := Replica{Row: Row{Namespace: job.Namespace, Name: fmt.Sprintf("%s-%d", replicaType, rank), Restarts: s.Restarts},
				WithJob: s.WithJob, Uncounted: s.Uncounted, More: s.More, PerhapsMore: s.PerhapsMore}
			if failure, ok := failures[row.Name]; ok {
				row.Last, row.Time = tree.Describe(failure), failure.Time
			}
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(b.Restarts, a.Restarts), cmp.Compare(b.WithJob, a.WithJob), cmp.Compare(b.Uncounted, a.Uncounted), cmp.Compare(b.More, a.More), a.compareNames(b.Row))
	})
	return rows
}

// ranksOf returns, of each type, the ranks of which something may be told. They are those that the ledger names, and all of the job if it was
// started over.
func ranksOf(job *v1beta1.GenericJob, l *ledger.Ledger) map[string]map[int]bool {
	out := map[string]map[int]bool{}
	add := func(replicaType string, from, to int) {
		if out[replicaType] == nil {
			out[replicaType] = map[int]bool{}
		}
		for rank := from; rank <= to; rank++ {
			out[replicaType][rank] = true
		}
	}
	for _, t := range job.Status.Ledger {
		for _, r := range t.Replicas {
			add(t.Type, int(r.Rank), int(max(r.Rank, r.LastRank)))
		}
	}
	for _, a := range l.Accounts() {
		if l.JobAttempt() > 0 {
			add(a.Type, 0, min(a.N, spec.MaxAllReplicas)-1) // a spec may ask for more, and is invalid then
		}
	}
	return out
}

// lastFailures returns the last failure of each replica that the status knows.
func lastFailures(job *v1beta1.GenericJob) map[string]v1beta1.ReplicaFailure {
	out := map[string]v1beta1.ReplicaFailure{}
	for _, failure := range job.Status.Failures {
		if replicaType, rank, ok := jobs.ReplicaOf(job, failure.Pod); ok {
			out[fmt.Sprintf("%s-%d", replicaType, rank)] = failure
		}
	}
	return out
}

// compareNames compares namespaces, then names, and ranks behind equal ones as numbers.
func (r Row) compareNames(with Row) int {
	typeA, rankA := cutRank(r.Name)
	typeB, rankB := cutRank(with.Name)
	return cmp.Or(cmp.Compare(r.Namespace, with.Namespace), cmp.Compare(typeA, typeB), cmp.Compare(rankA, rankB), cmp.Compare(r.Name, with.Name))
}

// cutRank cuts a name at its rank; 0 if it has none.
func cutRank(name string) (string, int) {
	at := strings.LastIndexByte(name, '-')
	rank, err := strconv.Atoi(name[at+1:])
	if at < 0 || err != nil {
		return name, 0
	}
	return name[:at], rank
}

// TableOfJobs returns a table of jobs. With all, it has their namespaces; steps and losses, if any code reported some.
func TableOfJobs(rows []Job, all bool, now time.Time) [][]string {
	tell := slices.ContainsFunc(rows, func(r Job) bool { return r.Step != nil || r.Loss != "" })
	columns := []column[Job]{
		{"NAMESPACE", all, func(r Job) string { return r.Namespace }},
		{"NAME", true, func(r Job) string { return r.Name }},
		{"RESTARTS", true, func(r Job) string { return fmt.Sprint(r.Restarts) }},
		{"DISRUPTIONS", true, func(r Job) string { return fmt.Sprint(r.Disruptions) }},
		{"EXCEPTED", true, func(r Job) string { return fmt.Sprint(r.Excepted) }},
		{"STEP", tell, step},
		{"LOSS", tell, func(r Job) string { return r.Loss }},
		{"WORST", true, func(r Job) string { return r.Worst }},
	}
	return table(rows, append(columns, ofFailures(now, func(r Job) Row { return r.Row })...))
}

// TableOfReplicas returns a table of replicas. A column tells starts of which the status does not tell what they were, if there are some.
func TableOfReplicas(rows []Replica, now time.Time) [][]string {
	unclear := slices.ContainsFunc(rows, func(r Replica) bool { return r.More > 0 || r.PerhapsMore })
	columns := []column[Replica]{
		{"NAME", true, func(r Replica) string { return r.Name }},
		{"RESTARTS", true, func(r Replica) string { return fmt.Sprint(r.Restarts) }},
		{"WITH JOB", true, func(r Replica) string { return fmt.Sprint(r.WithJob) }},
		{"NOT COUNTED", true, func(r Replica) string { return fmt.Sprint(r.Uncounted) }},
		{"MORE", unclear, func(r Replica) string { return tree.MoreWords(r.More, r.PerhapsMore) }},
	}
	return table(rows, append(columns, ofFailures(now, func(r Replica) Row { return r.Row })...))
}

// column is one of a table, which may be left out.
type column[R any] struct {
	name  string
	shown bool
	of    func(R) string
}

// ofFailures returns the columns of what failed last.
func ofFailures[R any](now time.Time, row func(R) Row) []column[R] {
	return []column[R]{
		{"LAST FAILURE", true, func(r R) string { return strings.Join(strings.Fields(row(r).Last), " ") }}, // the words of code may be of several lines
		{"AGO", true, func(r R) string {
			at := row(r).Time
			if at == nil {
				return ""
			}
			return duration.HumanDuration(now.Sub(at.Time))
		}},
	}
}

func step(r Job) string {
	if r.Step == nil {
		return ""
	}
	return fmt.Sprint(*r.Step)
}

// table returns a table of rows, which begins with the names of its columns. What is not known is "-".
func table[R any](rows []R, columns []column[R]) [][]string {
	columns = slices.DeleteFunc(columns, func(c column[R]) bool { return !c.shown })
	out := make([][]string, len(rows)+1)
	for _, c := range columns {
		out[0] = append(out[0], c.name)
		for i, r := range rows {
			out[i+1] = append(out[i+1], cmp.Or(c.of(r), "-"))
		}
	}
	return out
}

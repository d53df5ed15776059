package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// FirstFailure is the failure that others followed from.
type FirstFailure struct {
	FailureRow
	Summary  string
	Probable bool
}

// FailureRow is how a replica failed.
type FailureRow struct {
	Replica, Pod, Node, Time     string
	Exit, Kind, Role, Codes      string
	Exception, Frame, Words      string
	Follows, ProcessRank, Worker string
}

func firstOf(f *jobs.Family) *FirstFailure {
	first := f.Status().FirstFailure
	if first == nil {
		return nil
	}
	return &FirstFailure{failureRow(f, &first.ReplicaFailure), cmp.Or(first.Summary, first.Why), first.Probable}
}

// failuresOf returns the last failures, the newest first.
func failuresOf(f *jobs.Family) (out []FailureRow) {
	list := f.Status().Failures
	for i := range slices.Backward(list) {
		out = append(out, failureRow(f, &list[i]))
	}
	return out
}

func failureRow(f *jobs.Family, r *v1beta1.ReplicaFailure) FailureRow {
	out := FailureRow{Replica: logs.Failure{ReplicaFailure: *r}.Replica(f), Pod: r.Pod, Node: r.Node, Exception: r.Exception, Frame: r.Frame, Words: strings.TrimSpace(r.Message), Follows: r.Follows}
	if r.Time != nil {
		out.Time = stamp(r.Time.Time)
	}
	if r.ExitCode != nil {
		out.Exit = podstate.Code(*r.ExitCode)
	}
	if r.Reason != "Error" {
		out.Exit = join(out.Exit, r.Reason)
	}
	if r.Cause != nil {
		out.Kind, out.Role, out.Codes = string(r.Cause.Kind), string(r.Cause.Role), strings.Join(r.Cause.Codes, ", ")
	}
	if r.ProcessRank != nil {
		out.ProcessRank = fmt.Sprint(*r.ProcessRank)
	}
	if r.WorkerExitCode != nil {
		out.Worker = "exit code " + podstate.Code(*r.WorkerExitCode)
	}
	out.Worker = join(out.Worker, r.WorkerSignal)
	return out
}

// Between is what came between the job's work, from status.history.
type Between struct {
	Rows    []BetweenRow
	Earlier []string
}

// BetweenRow is an entry of the history.
type BetweenRow struct {
	Is                                         state
	What, Begin, Took, Restarts, Replica, Node string
	Words, Exit, Cause                         string
	Open                                       bool
}

// between returns what the history has; nil if the operator keeps none.
func (in *Input) between() *Between {
	if in.History == nil {
		return nil
	}
	b := &Between{}
	_, to := in.window()
	for _, e := range in.History.Entries {
		row := BetweenRow{Is: state(e.Kind.TimeCause()), What: string(e.Kind), Begin: stamp(e.Begin.Time), Took: spell(to.Sub(e.Begin.Time)), Node: e.Node,
			Restarts: unlessZero(e.Restarts), Cause: string(e.Cause), Words: e.Message, Open: e.End == nil}
		if e.End != nil {
			row.Took = spell(e.End.Sub(e.Begin.Time))
		}
		if e.Kind == v1beta1.HistoryScale {
			row.Took, row.Open, row.Words = "", false, wordsOf(&e)
		}
		if e.Pod != "" {
			row.Replica = logs.Failure{ReplicaFailure: v1beta1.ReplicaFailure{Pod: e.Pod}}.Replica(in.Family)
		}
		if e.ExitCode != nil {
			row.Exit = podstate.Code(*e.ExitCode)
		}
		b.Rows = append(b.Rows, row)
	}
	for _, s := range in.History.Earlier {
		text := fmt.Sprintf("%d of kind %s, %s in all", s.Count, s.Kind, jobs.Spell(s.Seconds))
		if s.Restarts > 0 {
			text += ", " + plural.Count(s.Restarts, "restart")
		}
		b.Earlier = append(b.Earlier, text)
	}
	return b
}

// EventRow is an event about the job.
type EventRow struct {
	Time, Type, Reason, Message string
	Count                       int32
}

// mostEvents is how many events a page shows: the last ones.
const mostEvents = 50

// eventsOf returns the last events, the newest first.
func eventsOf(list []corev1.Event) (out []EventRow) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b corev1.Event) int { return jobs.HappenedAt(&b).Compare(jobs.HappenedAt(&a)) })
	for _, e := range list[:min(len(list), mostEvents)] {
		row := EventRow{Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(1, e.Count)}
		if at := jobs.HappenedAt(&e); !at.IsZero() {
			row.Time = stamp(at)
		}
		if e.Series != nil {
			row.Count = e.Series.Count
		}
		out = append(out, row)
	}
	return out
}

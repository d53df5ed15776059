package kernel

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/text"
)

// The first failure. Where one rank fails, others fail because it has gone, and kubelets report all of them in any order. Counts do not depend on
// which came first. So the first is found apart from them: among the ends that a reconcile records, and those that are reported later, until the
// replicas run again.

const (
	// belongsWithin is how much later than the first a failure still belongs to it that tells a cause of its own.
	belongsWithin = time.Minute
	// causeWithin is how long to wait for the cause, where all that is known follows from the end of another. A process that has raised an exception
	// lets go of its connections some seconds before it has ended.
	causeWithin = 4 * time.Second
	// causeAfterEnd is how long after the end of a job its pods are looked at for an earlier failure: thousands of pods have thousands of texts.
	causeAfterEnd = time.Minute
	// mostOrElse is how many pods are named that may have failed first as well.
	mostOrElse = 4
	// mostSummary is how many bytes a summary has at most.
	mostSummary = 900
)

// end is how the code of a replica has ended.
type end struct {
	v1beta1.ReplicaFailure
	why   func() string // asked of one alone: to read last words takes time
	began time.Time     // when its container did; zero if unknown
}

func endOf(pod ending.Pod) end { return end{pod.Record(), pod.Failure, pod.BeganAt()} }

// incident is failures that belong together: all of one start of the job.
type incident struct {
	stored  *v1beta1.FirstFailure
	attempt int32     // of the whole job, in which the code failed
	whole   bool      // a restart is all replicas'
	again   time.Time // since when the replica runs again that failed first; zero if it does not
}

// has reports whether a failure belongs to the first one that is stored.
func (i incident) has(e *end) bool {
	switch {
	case i.stored == nil, i.whole && i.stored.JobAttempt != i.attempt, i.stored.Time == nil:
		return false
	case !i.whole && (e.began.After(i.stored.Time.Time) || e.Pod == i.stored.Pod): // it was started again since
		return false
	case e.Follows != "" && (i.again.IsZero() || i.whole):
		return true
	case e.Follows != "" && e.Time != nil: // it follows from what is still being mended
		return e.Time.Sub(i.again) <= belongsWithin
	default:
		return e.Time == nil || e.Time.Sub(i.stored.Time.Time).Abs() <= belongsWithin
	}
}

// runsAgain returns since when the replica of a failure runs again; zero if it does not.
func runsAgain(replicas *roster.Roster, f *v1beta1.FirstFailure) time.Time {
	if f == nil || f.Time == nil {
		return time.Time{}
	}
	for i := range replicas.Types {
		for rank, pod := range replicas.Types[i].Pods {
			if pod == nil || pod.Name != f.Pod {
				continue
			}
			if at := replicas.Types[i].Pod(rank).RunsSince(); !at.Before(f.Time.Time) {
				return at
			}
		}
	}
	return time.Time{}
}

// isRecent reports whether kubelets may still report ends that belong to the incident: its replicas run, or are being restarted.
func (i incident) isRecent(l *ledger.Ledger) bool {
	return i.stored == nil || i.stored.JobAttempt == i.attempt || i.stored.JobAttempt == l.JobAttempt()-1
}

// firstOf returns the first of the failures that this reconcile has recorded; nil if there is none.
func firstOf(ended []restart) *restart {
	var list []v1beta1.ReplicaFailure
	var of []int
	for i := range ended {
		if r := &ended[i]; isFailure(r) {
			list, of = append(list, r.pod.Record()), append(of, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	first, _ := ending.First(list, 0)
	return &ended[of[first]]
}

// root returns the restart of which a failure is told: that of the first one, where all replicas restart because of it.
func (r restart) root() restart {
	if r.first != nil {
		return *r.first
	}
	return r
}

func isFailure(r *restart) bool { return r.counted() && !r.succeeded }

// untilCause returns how long to wait before failures are recorded. It waits where each of them follows from another's end, or hangs, and somebody
// still runs. A kubelet reports the other soon; once that replica is stopped, nobody would know why it ended.
func untilCause(job *v1beta1.GenericJob, replicas *roster.Roster, ended []restart, disturbed bool, now time.Time) time.Duration {
	if len(ended) == 0 || disturbed || job.Generation != job.Status.ObservedGeneration || replicas.Unfinished() <= len(ended) {
		return 0
	}
	wait := causeWithin
	for i := range ended {
		r := &ended[i]
		since := now.Sub(r.pod.EndedAt())
		if !isFailure(r) || r.pod.Code() == 143 || since < 0 || since >= causeWithin {
			return 0
		}
		if f := r.pod.Record(); f.Follows == "" && !ending.Hung(&f) {
			return 0
		}
		wait = min(wait, causeWithin-since)
	}
	return wait
}

// firstFailure returns the failure that others followed from, as far as this reconcile knows; nil if there is none. Before is what the status
// said of it, if that was something else.
func firstFailure(w World, l *ledger.Ledger, replicas *roster.Roster, o *outcomes, over bool) (first *v1beta1.FirstFailure, before string) {
	if o.wait > 0 || isLongOver(w) { // while failures wait, what has ended is of the present start, and none of it is recorded
		return w.Job.Status.FirstFailure, ""
	}
	ended := o.ended
	recorded, stored := failuresOf(ended), w.Job.Status.FirstFailure
	is := incident{stored: stored, attempt: w.Job.Status.JobAttempt, whole: l.WholeJob()}
	if !is.whole && len(recorded) > 0 {
		is.again = runsAgain(replicas, stored)
	}
	if slices.ContainsFunc(recorded, func(e end) bool { return !is.has(&e) }) {
		is.stored = nil
	}
	if is.stored == nil && len(recorded) == 0 {
		return w.Job.Status.FirstFailure, ""
	}
	if is.whole && is.isRecent(l) {
		restarted := is.stored != nil && is.stored.JobAttempt < l.JobAttempt() || len(ended) > 0 && !over
		recorded = addLate(recorded, late(w, l, replicas, restarted))
	}
	return is.choose(recorded)
}

// isLongOver reports whether the job has ended so long ago that no kubelet reports another end of its code.
func isLongOver(w World) bool {
	done := w.Job.Status.CompletionTime
	return done != nil && w.Now.After(done.Add(causeAfterEnd))
}

// failuresOf are the failures among some ends.
func failuresOf(ended []restart) (list []end) {
	for i := range ended {
		if isFailure(&ended[i]) {
			list = append(list, endOf(ended[i].pod))
		}
	}
	return list
}

// addLate adds ends of pods that have none among some ends.
func addLate(list, more []end) []end {
	for _, e := range more {
		if !slices.ContainsFunc(list, func(have end) bool { return have.Pod == e.Pod }) {
			list = append(list, e)
		}
	}
	return list
}

// choose tells which of the ends was first: the stored one, which was heard of before the others, or another.
func (i incident) choose(ends []end) (first *v1beta1.FirstFailure, before string) {
	var list []v1beta1.ReplicaFailure
	known := 0
	if i.stored != nil {
		list, known = append(list, i.stored.ReplicaFailure), 1
		ends = slices.DeleteFunc(ends, func(e end) bool { return e.Pod == i.stored.Pod })
	}
	for _, e := range ends {
		list = append(list, e.ReplicaFailure)
	}
	n, orElse := ending.First(list, known)
	out := &v1beta1.FirstFailure{ReplicaFailure: list[n], JobAttempt: i.attempt, Others: int32(len(list) - 1)}
	for _, j := range orElse[:min(len(orElse), mostOrElse)] {
		out.OrElse = append(out.OrElse, list[j].Pod)
	}
	why := ""
	if n >= known {
		why = ends[n-known].why()
	}
	if i.stored != nil {
		out.JobAttempt, out.Others = i.stored.JobAttempt, max(out.Others, i.stored.Others)
		if n < known {
			out.OrElse, why = add(i.stored.OrElse, out.OrElse), i.stored.Why
		}
		before = i.stored.Summary
	}
	out.Probable = out.Follows != "" || len(out.OrElse) > 0
	out.Why, out.Summary = text.Cut(why, mostSummary/2), ""
	out.Summary = text.Cut(summaryOf(out), mostSummary)
	if before == out.Summary {
		before = ""
	}
	return out, before
}

// add adds pods to some, as far as they are named.
func add(to, pods []string) []string {
	for _, name := range pods {
		if len(to) < mostOrElse && !slices.Contains(to, name) {
			to = append(slices.Clone(to), name)
		}
	}
	return to
}

// summaryOf says which failure came first, how sure that is, and how many followed.
func summaryOf(f *v1beta1.FirstFailure) string {
	out := f.Why
	switch {
	case f.Follows != "":
		out += fmt.Sprintf(" (probably because %s: whose failure came first is not known)", f.Follows)
	case len(f.OrElse) > 0:
		out += fmt.Sprintf(" (or first was Pod[%s]: %s)", strings.Join(f.OrElse, "] or Pod["), whyNotKnown(f))
	}
	switch f.Others {
	case 0:
		return out
	case 1:
		return out + "; 1 other followed"
	default:
		return out + fmt.Sprintf("; %d others followed", f.Others)
	}
}

// whyNotKnown says why another may have failed first as well.
func whyNotKnown(f *v1beta1.FirstFailure) string {
	if ending.Hung(&f.ReplicaFailure) {
		return "which of them the others wait for is not known"
	}
	return "they ended within the same second"
}

// late returns ends of code of the start before the present one, or of a job that is over. Nobody records them any more.
func late(w World, l *ledger.Ledger, replicas *roster.Roster, before bool) (list []end) {
	back := 0
	if before {
		back = 1
	}
	for i := range replicas.Types {
		t := &replicas.Types[i]
		begun := begunTogether(w, l, t)
		for rank, pod := range t.Pods {
			if pod == nil || t.Auxiliary || t.HasSucceeded(rank) {
				continue
			}
			attempt := l.Attempt(t.Account, rank) - back
			if e, is := lateEnd(w, t, rank, attempt, begun); is {
				list = append(list, e)
			}
		}
	}
	return list
}

// begunTogether is when the replicas of a type were last told to go on; zero if never.
func begunTogether(w World, l *ledger.Ledger, t *roster.Type) time.Time {
	if lived, bounds := l.LivedTogether(t.Account, w.Now); bounds {
		return w.Now.Add(-lived)
	}
	return time.Time{}
}

// lateEnd is how the code of a replica has ended by itself in an attempt, which began then.
func lateEnd(w World, t *roster.Type, rank, attempt int, begun time.Time) (end, bool) {
	pod := t.Pod(rank)
	m := ending.MarksOf(pod.Pod)
	if report := w.Reports[pod.UID]; m.Order != nil && report.Pod == string(pod.UID) && report.Ended != nil && report.Ended.Attempt == attempt {
		e := endOf(ending.Pod{Pod: pod.Holding(barrier.Terminated(report.Ended)), Template: pod.Template}.AtLastExit())
		return e, !report.Ended.Asked || e.Follows == "" && ending.NamesCause(&e.ReplicaFailure)
	}
	switch {
	case m.At() != attempt && m.Order == nil, m.Attempt > attempt:
		return end{}, false
	case m.Order != nil && !pod.Ended():
		return endOf(pod.AtLastExit()), pod.Exits() > t.Exits(rank, pod.UID)
	default:
		own := pod.AtOwnEnd()
		return endOf(own), own.FailedByItself() && !(pod.HasWaited() && own.EndedAt().Before(begun))
	}
}

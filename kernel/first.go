package kernel

import (
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
)

// The first failure. Where one rank fails, others fail because it has gone, and kubelets report all of them in any order. With restartScope Job,
// rules of the failure policy judge the first failure. Of several hangs, the limit counts the first. Apart from that, no count depends on which failure came first. The
// first is looked for among the ends that a reconcile records, and among those reported later, until the replicas run again.

const (
	// belongsWithin is how long after the first failure another one still belongs to it, though it tells a cause of its own.
	belongsWithin = time.Minute
	// causeWithin is how long to wait for the cause, where all that is known follows from the end of another. A process that has raised an exception
	// lets go of its connections some seconds before it has ended.
	causeWithin = 4 * time.Second
	// causeAfterEnd is how long after the end of a job its pods are looked at for an earlier failure. Thousands of pods have thousands of
	// texts.
	causeAfterEnd = time.Minute
	// maxSuspects is how many pods are named that may have failed first as well.
	maxSuspects = 4
	// maxWhy is how many bytes of a sentence are kept that says what failed, and maxSummary how many a summary has at most.
	maxWhy, maxSummary = ending.MaxFailure + 60, 1100
)

// codeEnd is how the code of a replica has ended.
type codeEnd struct {
	v1beta1.ReplicaFailure
	pod   ending.Pod
	why   func() string // asked of one alone: to read last words takes time
	began time.Time     // when its container did; zero if unknown
	final bool          // it stands in the ledger that the replica has failed for good
}

func codeEndOf(pod ending.Pod) codeEnd {
	return codeEnd{ReplicaFailure: pod.Record(), pod: pod, why: pod.Failure, began: pod.BeganAt()}
}

// firstOf returns the first of the failures that this reconcile has recorded; nil if there is none.
func firstOf(ended []end) *end {
	var list []v1beta1.ReplicaFailure
	for _, e := range failuresOf(ended) {
		list = append(list, e.ReplicaFailure)
	}
	if len(list) == 0 {
		return nil
	}
	n, _ := ending.First(list, 0)
	i := slices.IndexFunc(ended, func(e end) bool { return e.pod.Name == list[n].Pod })
	return &ended[i]
}

// root returns the end of which a failure is told: that of the first one, where all replicas restart because of it.
func (e end) root() end {
	if e.first != nil {
		return *e.first
	}
	return e
}

func isFailure(e *end) bool {
	return (e.counted() || e.countsAs == ledger.Excepted) && !e.succeeded()
}

// untilCause returns how long to wait before failures are recorded. There is a wait where each of them follows from another's end, or hangs, and
// somebody still runs. A kubelet reports the other soon; once that replica is stopped, nobody would know why it ended.
func untilCause(job *v1beta1.GenericJob, replicas *roster.Roster, ended []end, disturbed bool, now time.Time) time.Duration {
	if len(ended) == 0 || disturbed || job.Generation != job.Status.ObservedGeneration || replicas.Unfinished() <= len(ended) {
		return 0
	}
	wait := causeWithin
	for i := range ended {
		e := &ended[i]
		since := now.Sub(e.pod.EndedAt())
		if !isFailure(e) || e.pod.Code() == ending.ToldToEnd || since < 0 || since >= causeWithin {
			return 0
		}
		if f := e.pod.Record(); f.Follows == "" && !ending.Hung(&f) {
			return 0
		}
		wait = min(wait, causeWithin-since)
	}
	return wait
}

// firstFailure returns the failure that others followed from, as far as this reconcile knows; nil if there is none. Before is what the status
// said of it, if that was something else.
func firstFailure(w World, l *ledger.Ledger, replicas *roster.Roster, o *outcomes, over bool) (first *v1beta1.FirstFailure, before string) {
	if o.uncountedFor > 0 || isLongOver(w) { // while failures wait, what has ended is of the present start, and none of it is recorded
		return w.Job.Status.FirstFailure, ""
	}
	ended := o.ended
	recorded := failuresOf(ended)
	i := incidentOf(w, l, replicas, recorded)
	if i.stored == nil && len(recorded) == 0 {
		return w.Job.Status.FirstFailure, ""
	}
	if i.isRecent(l) && (i.whole || over) {
		restarted := i.isRestarted(l) || i.whole && len(ended) > 0 && !over
		recorded = addLate(recorded, i.belonging(late(w, l, replicas, restarted)))
	}
	return i.choose(recorded)
}

// isLongOver reports whether the job has ended so long ago that no kubelet reports another end of its code.
func isLongOver(w World) bool {
	done := w.Job.Status.CompletionTime
	return done != nil && w.Now.After(done.Add(causeAfterEnd))
}

// disrupted is what a failure follows from that is excused and names no cause, beside a disruption that is final.
const disrupted = "another pod of the job was disrupted"

// failuresOf are the failures among some ends. Under the restart policy Never a disruption is a failure, too. A disruption follows from nothing that
// a replica did.
func failuresOf(ended []end) (list []codeEnd) {
	beside := slices.ContainsFunc(ended, isFinalDisruption)
	for i := range ended {
		e := &ended[i]
		if !isFailure(e) && (e.countsAs != ledger.Disruption || e.allowed) {
			continue
		}
		c := codeEndOf(e.pod)
		if e.countsAs == ledger.Disruption {
			c.why = func() string { return e.why }
		}
		switch {
		case isFinalDisruption(*e):
			c.Follows = ""
		case e.excused && beside && !ending.NamesCause(&c.ReplicaFailure):
			c.Follows = disrupted
		}
		list = append(list, c)
	}
	return list
}

func isFinalDisruption(e end) bool {
	return e.countsAs == ledger.Disruption && !e.allowed && !e.excused
}

// addLate adds ends of pods that have none among some ends.
func addLate(list, more []codeEnd) []codeEnd {
	for _, e := range more {
		if !slices.ContainsFunc(list, func(have codeEnd) bool { return have.Pod == e.Pod }) {
			list = append(list, e)
		}
	}
	return list
}

// choose tells which of the ends was first: the stored one, which was heard of before the others, or another.
func (i incident) choose(ends []codeEnd) (first *v1beta1.FirstFailure, before string) {
	var list []v1beta1.ReplicaFailure
	known := 0
	if i.stored != nil {
		list, known = append(list, i.stored.ReplicaFailure), 1
		ends = slices.DeleteFunc(ends, func(e codeEnd) bool { return e.Pod == i.stored.Pod })
	}
	for _, e := range ends {
		list = append(list, e.ReplicaFailure)
	}
	n, orElse := ending.First(list, known)
	out := &v1beta1.FirstFailure{ReplicaFailure: list[n], JobAttempt: i.jobAttempt, Others: int32(len(list) - 1)}
	for _, j := range orElse[:min(len(orElse), maxSuspects)] {
		out.OrElse = append(out.OrElse, list[j].Pod)
	}
	why := ""
	if n >= known {
		why = ends[n-known].why()
		out.Cause = ends[n-known].pod.CauseOf(&out.ReplicaFailure)
	}
	if i.stored != nil {
		out.JobAttempt, out.Others = i.stored.JobAttempt, max(out.Others, i.stored.Others+i.alone)
		if n < known {
			out.OrElse, why = add(i.stored.OrElse, out.OrElse), i.stored.Why
		}
		before = i.stored.Summary
	}
	out.Probable = out.Follows != "" || len(out.OrElse) > 0
	out.Why, out.Summary = text.Cut(why, maxWhy), ""
	out.Summary = text.Cut(status.FirstSummary(out), maxSummary)
	if before == out.Summary {
		before = ""
	}
	return out, before
}

// add adds pods to some, as far as they are named.
func add(to, pods []string) []string {
	for _, name := range pods {
		if len(to) < maxSuspects && !slices.Contains(to, name) {
			to = append(slices.Clone(to), name)
		}
	}
	return to
}

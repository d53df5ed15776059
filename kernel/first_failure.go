package kernel

import (
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
)

// The first failure. When one rank fails, other ranks fail because they lose it, and kubelets report all of them in any order. So the first one is
// looked for among the ends that a reconcile records. Until the replicas run again, it is also looked for among ends that are reported later.
//
// Two decisions depend on which failure came first. With restartScope Job, rules of the failure policy judge the first one. Of several hangs, the first
// is counted. Apart from these, no count depends on it.

const (
	// belongsWithin is how long after the first failure another one still belongs to the same incident, though it names a cause of its own.
	belongsWithin = time.Minute
	// causeWithin is how long to wait for the cause if all known failures follow from another replica's end. A process that has raised an exception
	// closes its connections some seconds before it has ended.
	causeWithin = 4 * time.Second
	// causeAfterEnd is how long after the end of a job its pods are searched for an earlier failure. The search reads the last words of all pods, and
	// there may be thousands.
	causeAfterEnd = time.Minute
	// maxSuspects is how many other pods are named that may have failed first.
	maxSuspects = 4
	// maxWhy is how many bytes are kept of the sentence about what failed, maxSummary how many of a summary.
	maxWhy, maxSummary = podstate.MaxFailure + 60, 1100
)

// codeEnd is how the code of a replica has ended.
type codeEnd struct {
	v1beta1.ReplicaFailure
	pod     podstate.Pod
	why     func() string // is called for the first failure only, because it takes time to read last words
	beganAt time.Time     // when the container began; zero if unknown
	isFinal bool          // the ledger says that the replica has failed for good
}

func codeEndOf(pod podstate.Pod) codeEnd {
	return codeEnd{ReplicaFailure: pod.Failure(), pod: pod, why: pod.FailureSentence, beganAt: pod.BeganAt()}
}

// firstOf returns the first of the failures that this reconcile has recorded; nil if there is none.
func firstOf(ended []end) *end {
	var records []v1beta1.ReplicaFailure
	for _, e := range failuresOf(ended) {
		records = append(records, e.ReplicaFailure)
	}
	if len(records) == 0 {
		return nil
	}
	n, _ := podstate.First(records, 0)
	i := slices.IndexFunc(ended, func(e end) bool { return e.pod.Name == records[n].Pod })
	return &ended[i]
}

// untilCause returns how long to wait before failures are counted. It waits if all of them follow from another replica's end, or are hangs, while some
// replica still runs. That replica may be the cause, and its kubelet reports it soon. If it were stopped first, nobody would know why it ended.
func untilCause(job *v1beta1.GenericJob, replicas *roster.Roster, ended []end, disturbed bool, now time.Time) time.Duration {
	if len(ended) == 0 || disturbed || job.Generation != job.Status.ObservedGeneration || replicas.UnfinishedWithPods() <= len(ended) {
		return 0
	}
	wait := causeWithin
	for i := range ended {
		e := &ended[i]
		since := now.Sub(e.pod.EndedAt())
		if !isFailure(e) || e.pod.Code() == podstate.ExitSIGTERM || since < 0 || since >= causeWithin {
			return 0
		}
		if f := e.pod.Failure(); f.Follows == "" && !podstate.IsHang(&f) {
			return 0
		}
		wait = min(wait, causeWithin-since)
	}
	return wait
}

// firstFailure returns the first failure, as far as this reconcile knows; nil if there is none. Before is the summary that the status still has, if the
// new one differs from it; otherwise "".
func firstFailure(w World, l *ledger.Ledger, replicas *roster.Roster, o *outcomes, over bool) (first *v1beta1.FirstFailure, before string) {
	if o.waitsFor > 0 || isLongOver(w) { // failures that wait to be counted are not recorded yet
		return w.Job.Status.FirstFailure, ""
	}
	ended := o.ended
	recorded := failuresOf(ended)
	i := incidentOf(w, l, replicas, recorded)
	if i.stored == nil && len(recorded) == 0 {
		return w.Job.Status.FirstFailure, ""
	}
	if i.isRecent(l) && (i.restartsTogether || over) {
		restarted := i.isRestarted(l) || i.restartsTogether && len(ended) > 0 && !over
		recorded = addLate(recorded, i.belonging(lateFailures(w, l, replicas, restarted)))
	}
	return i.choose(recorded)
}

// isLongOver reports whether the job ended so long ago that its pods need not be searched for an earlier failure any more.
func isLongOver(w World) bool {
	done := w.Job.Status.CompletionTime
	return done != nil && w.Now.After(done.Add(causeAfterEnd))
}

// disrupted is what an excused failure follows from, if it names no cause, and another replica's disruption is final.
const disrupted = "another pod of the job was disrupted"

// failuresOf returns the failures among some ends. Under restart policy Never these include disruptions, which follow from no other replica's end.
func failuresOf(ended []end) (list []codeEnd) {
	hasFinalDisruption := slices.ContainsFunc(ended, isFinalDisruption)
	for i := range ended {
		e := &ended[i]
		if !isFailure(e) && (e.countsAs != ledger.Disruption || e.mayRunAgain) {
			continue
		}
		c := codeEndOf(e.pod)
		if e.countsAs == ledger.Disruption {
			c.why = func() string { return e.why }
		}
		switch {
		case isFinalDisruption(*e):
			c.Follows = ""
		case e.isExcused && hasFinalDisruption && !podstate.NamesCause(&c.ReplicaFailure):
			c.Follows = disrupted
		}
		list = append(list, c)
	}
	return list
}

// isFinalDisruption reports whether a replica was disrupted itself, and is not run again.
func isFinalDisruption(e end) bool {
	return e.countsAs == ledger.Disruption && !e.mayRunAgain && !e.isExcused
}

// addLate adds to a list the ends of pods that have no end in it. There may be thousands of both.
func addLate(list, more []codeEnd) []codeEnd {
	have := make(map[string]bool, len(list)+len(more))
	for _, e := range list {
		have[e.Pod] = true
	}
	for _, e := range more {
		if !have[e.Pod] {
			have[e.Pod], list = true, append(list, e)
		}
	}
	return list
}

// choose returns which end was first: the stored one, or one of ends, which the operator heard of later.
func (i incident) choose(ends []codeEnd) (first *v1beta1.FirstFailure, before string) {
	var list []v1beta1.ReplicaFailure
	known := 0 // how many at the beginning of list are stored: one or none
	if i.stored != nil {
		list, known = append(list, i.stored.ReplicaFailure), 1
		ends = slices.DeleteFunc(ends, func(e codeEnd) bool { return e.Pod == i.stored.Pod })
	}
	for _, e := range ends {
		list = append(list, e.ReplicaFailure)
	}
	n, orElse := podstate.First(list, known)
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
		out.JobAttempt, out.Others = i.stored.JobAttempt, max(out.Others, i.stored.Others+i.newFailures)
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

// add adds the names of pods to others, up to maxSuspects, and each once.
func add(to, pods []string) []string {
	for _, name := range pods {
		if len(to) < maxSuspects && !slices.Contains(to, name) {
			to = append(slices.Clone(to), name)
		}
	}
	return to
}

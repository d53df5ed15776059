package kernel

import (
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/incident"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
)

// The first failure. This file says which of the ends that a reconcile records are failures. Package incident finds the first one among these, and
// among ends that are reported later. So there are two:
//
//   - firstRecorded has the first among ends of this reconcile. Stages that count and restart ask it, because they come before the other is known.
//   - planning.firstFailure is what the status tells. It may be a stored failure, or one that came too late to be counted.
//
// Two decisions depend on which failure came first. With restartScope Job, rules of the failure policy decide about the first one. Of several hangs, the
// first is counted. Apart from these, no count depends on it.

// causeWithin is how long to wait for the cause if all known failures follow from another replica's end. A process that has raised an exception
// closes its connections some seconds before it has ended.
const causeWithin = 4 * time.Second

// firstRecorded returns the first of the failures among some ends, of which the status knows none yet; nil if there is none.
func firstRecorded(ended []*end) *end {
	var records []v1beta1.ReplicaFailure
	for _, f := range failuresOf(ended) {
		records = append(records, f.ReplicaFailure)
	}
	if len(records) == 0 {
		return nil
	}
	n, _ := incident.FirstOf(records, 0)
	return ended[slices.IndexFunc(ended, func(e *end) bool { return e.pod.Name == records[n].Pod })]
}

// untilCause returns how long to wait before failures are counted. It waits if all of them follow from another replica's end, or are hangs, while
// some replica still runs. That replica may be the cause, and its kubelet reports it soon. If it were stopped first, nobody would know why it ended.
// Disturbed says that something outside the job ends code: that is the cause.
func untilCause(job *v1beta1.GenericJob, replicas *roster.Roster, ended []*end, disturbed bool, now time.Time) time.Duration {
	if len(ended) == 0 || disturbed || job.Generation != job.Status.ObservedGeneration || replicas.UnfinishedWithPods() <= len(ended) {
		return 0
	}
	wait := 2 * causeWithin
	for _, e := range ended {
		left := leftOf(causeWithin, e, now)
		if !isFailure(e) || e.pod.Code() == podstate.ExitSIGTERM || left == 0 {
			return 0
		}
		if f := e.pod.Failure(); f.Follows == "" && !podstate.IsHang(&f) {
			return 0
		}
		wait = min(wait, left)
	}
	return wait
}

// leftOf returns how much is left of a wait that begins with an end; 0 if nothing is. The clock of the node that tells the end may be ahead, by less
// than the wait: then it is longer.
func leftOf(wait time.Duration, e *end, now time.Time) time.Duration {
	since := now.Sub(e.pod.EndedAt())
	if since.Abs() >= wait {
		return 0
	}
	return wait - since
}

// incidentOf returns the incident to which the recorded failures belong. It is found before restarts are written, because nodes are counted before
// them.
func incidentOf(w World, l *ledger.Ledger, replicas *roster.Roster, o *outcomes) incident.Incident {
	return incident.Of(incident.Inputs{Job: w.Job, Now: w.Now, Reports: w.Reports, Ledger: l, Roster: replicas}, failuresOf(o.ended))
}

// reportFirst has the first of the recorded failures of the incident be the one that users hear of. It comes to the head of failures, or becomes the
// reason for the restart of all replicas. But if a rule fails the job, the failure about which it decided stays at the head.
func (p *planning) reportFirst() {
	o, first := &p.recorded, firstRecorded(p.endsOf(p.incident.Number()))
	if first == nil {
		return
	}
	if p.draft.RestartsTogether() && len(o.allowedRestarts) > 0 && isFailure(&o.allowedRestarts[0]) {
		o.reasonForAll = first
	}
	if i := slices.IndexFunc(o.failures, func(s status.Failure) bool { return s.Pod == first.pod.Name }); i > 0 && (o.failingRule == "" || first.failsJob()) {
		o.failures[0], o.failures[i] = o.failures[i], o.failures[0]
	}
}

// findFirstFailure returns the first failure, as far as this reconcile knows; nil if there is none. Before is the summary that the status still has, if
// the new one differs from it; otherwise "".
func (p *planning) findFirstFailure() (first *v1beta1.FirstFailure, before string) {
	if p.recorded.waitsFor > 0 { // failures that wait to be counted are not recorded yet
		return p.Job.Status.FirstFailure, ""
	}
	return p.incident.First(p.verdict.IsOver())
}

// disrupted is what an excused failure follows from, if it names no cause, and another replica's disruption is final.
const disrupted = "another pod of the job was disrupted"

// failuresOf returns the failures among some ends. Under restart policy Never these include disruptions, which follow from no other replica's end.
func failuresOf(ended []*end) (list []incident.Failure) {
	hasFinalDisruption := slices.ContainsFunc(ended, isFinalDisruption)
	for _, e := range ended {
		if !isFailure(e) && (e.countsAs != ledger.Disruption || e.mayRunAgain) {
			continue
		}
		why := e.pod.FailureSentence
		if e.countsAs == ledger.Disruption {
			why = func() string { return e.why }
		}
		f := incident.FailureOf(e.pod, why)
		f.OthersGoOn = e.othersGoOn
		switch {
		case isFinalDisruption(e):
			f.Follows = ""
		case e.isExcused && hasFinalDisruption && !podstate.NamesCause(&f.ReplicaFailure):
			f.Follows = disrupted
		}
		list = append(list, f)
	}
	return list
}

// isFinalDisruption reports whether a replica was disrupted itself, and is not run again.
func isFinalDisruption(e *end) bool {
	return e.countsAs == ledger.Disruption && !e.mayRunAgain && !e.isExcused
}

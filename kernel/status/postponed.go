package status

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// Two kinds of news wait before they are written.
//
// A change that only refreshes the view of the pods waits until the last write is viewInterval old. In large jobs it waits longer, viewIntervalOfRow
// for each row of the status, because the apiserver decodes and validates every row in each write.
//
// A success that decides nothing waits as long. Otherwise 500 pods that end within a second would cost a dozen writes of 500 rows. The pod keeps its
// finalizer until its success is written. If the pod is being deleted, somebody waits for it, and the success is written at once.
const (
	viewInterval      = time.Second
	viewIntervalOfRow = 5 * time.Millisecond
)

// The first status of a job that just begins says nothing that its spec does not say. So it waits for the first view of the pods, which are created
// meanwhile. That saves every small job one of its few writes.
//
// This is safe because all pods that are created without a status are alike. They are of attempt 0, mode Immediate, mode generation 0, and the first
// generation of the spec. If the spec has been edited since, the first status is not postponed, and begins mode generation 1. The reason is that pods
// of mode generation 0 may exist that no cache shows yet.

// firstStatusWithin is how old a job may become without a status: viewInterval, and a second because creationTimestamp has whole seconds. If the
// clocks of operator and apiserver differ by more, nothing is postponed.
const firstStatusWithin = viewInterval + time.Second

// mostReplicas is the number of replicas up to which the first status waits. Creating the pods of a much larger job takes longer than
// firstStatusWithin, and one write more does not matter to it.
const mostReplicas = 100

// PostponedFor returns how long the write of the status s may be postponed; 0 if s has anything that must be written now.
func PostponedFor(f Findings, s *v1beta1.GenericJobStatus) time.Duration {
	switch {
	case f.SuccessMayVanish || f.Ledger == nil:
		return 0
	case f.Ledger.HasNoStatus():
		return untilFirstStatus(f, s)
	}
	wait := untilView(f)
	if wait > 0 && !equality.Semantic.DeepEqual(essence(&f.Job.Status), essence(s)) {
		return 0
	}
	return wait
}

// untilView returns how long a change of the view has to wait; 0 if it need not.
func untilView(f Findings) time.Duration {
	last := f.Job.Status.LastUpdateTime
	if last == nil {
		return 0
	}
	rows := 0
	for i := range f.Job.Status.Tasks {
		rows += len(f.Job.Status.Tasks[i].Replicas)
	}
	interval := max(viewInterval, time.Duration(rows)*viewIntervalOfRow)
	wait := interval - f.Now.Sub(last.Time)
	if wait > interval {
		return 0 // the clock was set back
	}
	return max(wait, 0)
}

// essence returns the parts of a status that must be written at once. It leaves out what merely shows the pods at the moment, and what time was spent
// on. It also leaves out successes, because only what they decide is essential, and how many failures followed the first one. The result shares
// memory with s.
func essence(s *v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	out := *s
	out.Aggregate = v1beta1.Aggregate{}
	out.Time, out.History, out.Recovery = nil, nil, nil              // they are dated by what happened, and not by the write
	out.Running, out.LastUpdateTime, out.UnstartedSpec = "", nil, "" // an edit that needs other pods begins a mode generation
	out.Tasks, out.Conditions = slices.Clone(s.Tasks), slices.DeleteFunc(slices.Clone(s.Conditions), isDerived)
	for i := range out.Tasks {
		out.Tasks[i].Replicas = nil
	}
	out.Ledger = nil
	for _, l := range s.Ledger {
		l.Succeeded = ""
		if l.Failed != "" || len(l.Replicas) > 0 {
			out.Ledger = append(out.Ledger, l)
		}
	}
	for i := range out.Conditions {
		if t := out.Conditions[i].Type; t == v1beta1.ConditionRunning || t == v1beta1.ConditionReplicaFailure {
			out.Conditions[i] = v1beta1.JobCondition{Type: t}
		}
	}
	uncountOthers(&out)
	return out
}

// isDerived reports whether a condition follows from others, and from the phase: see SetReady.
func isDerived(c v1beta1.JobCondition) bool {
	return c.Type == v1beta1.ConditionReady || c.Type == v1beta1.ConditionReconciling || c.Type == v1beta1.ConditionStalled
}

// uncountOthers takes out of a status how many failures followed the first one, its summary in conditions included.
func uncountOthers(s *v1beta1.GenericJobStatus) {
	if s.FirstFailure == nil {
		return
	}
	first := *s.FirstFailure
	for i := range s.Conditions {
		s.Conditions[i].Message = strings.Replace(s.Conditions[i].Message, first.Summary, "", 1)
	}
	first.Others, first.Summary = 0, ""
	s.FirstFailure = &first
}

// untilFirstStatus returns how long the first status of the job may wait; 0 if it must be written now.
func untilFirstStatus(f Findings, s *v1beta1.GenericJobStatus) time.Duration {
	age := f.Now.Sub(f.Job.CreationTimestamp.Time)
	replicas := 0
	for _, t := range f.Ledger.ReplicaTypes() {
		replicas += t.N
	}
	if age < 0 || age >= firstStatusWithin || replicas > mostReplicas || !onlyBegins(f, s) {
		return 0
	}
	return firstStatusWithin - age
}

// onlyBegins reports whether the status of this reconcile says no more, beside the view of the pods, than that the job begins.
func onlyBegins(f Findings, s *v1beta1.GenericJobStatus) bool {
	if f.Verdict.Course != verdict.Run || f.Ledger.IsEdited() || Condition(s.Conditions, v1beta1.ConditionBlocked) != nil {
		return false
	}
	rest := essence(s)
	rest.Tasks, rest.Conditions = nil, nil
	if rest.Phase == v1beta1.JobRunning { // all run already: that is told with the rest
		rest.Phase = v1beta1.JobPending
	}
	return equality.Semantic.DeepEqual(rest, v1beta1.GenericJobStatus{
		ObservedGeneration: f.Job.Generation, Phase: v1beta1.JobPending, Mode: spec.ModeImmediate, StartTime: s.StartTime,
		LedgerVersion: v1beta1.LedgerVersion,
	})
}

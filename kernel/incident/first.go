package incident

import (
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
)

const (
	// CauseAfterEnd is how long after the end of a job its pods are searched for an earlier failure. The search reads the last words of all pods, and
	// there may be thousands.
	CauseAfterEnd = time.Minute
	// maxSuspects is how many other pods are named that may have failed first.
	maxSuspects = 4
	// maxWhy is how many bytes are kept of the sentence about what failed, maxSummary how many of a summary.
	maxWhy, maxSummary = podstate.MaxFailure + 60, 1100
)

// First returns the first failure, as far as this reconcile knows; nil if there is none. Before is the summary that the status still has, if the
// new one differs from it; otherwise "". IsOver says that the job is over.
func (i Incident) First(isOver bool) (first *v1beta1.FirstFailure, before string) {
	if i.isLongOver() || i.stored == nil && len(i.recorded) == 0 {
		return i.Job.Status.FirstFailure, ""
	}
	failures := i.recorded
	if i.isRecent() && (i.restartsTogether() || isOver) {
		failures = addLate(failures, i.belonging(i.lateFailures()))
	}
	return i.choose(failures)
}

// isLongOver reports whether the job ended so long ago that its pods need not be searched for an earlier failure any more.
func (i Incident) isLongOver() bool {
	done := i.Job.Status.CompletionTime
	return done != nil && i.Now.After(done.Add(CauseAfterEnd))
}

// UntilGivenUp returns how much longer the pods of a job that has just failed are searched for the cause. It is zero or less if the cause is known,
// or was not found in time. SinceEnd is how long ago the job ended.
func UntilGivenUp(first *v1beta1.FirstFailure, now time.Time, sinceEnd time.Duration) time.Duration {
	if first == nil || first.Follows == "" || first.Time == nil || now.Add(-sinceEnd).Sub(first.Time.Time) > belongsWithin {
		return 0
	}
	return CauseAfterEnd - sinceEnd
}

// choose returns which end was first: the stored one, or one of failures, which the operator heard of later. It asks FirstOf itself, because it alone
// knows the stored one and those that came late.
func (i Incident) choose(failures []Failure) (first *v1beta1.FirstFailure, before string) {
	var list []v1beta1.ReplicaFailure
	known := 0 // how many at the beginning of list are stored: one or none
	if i.stored != nil {
		list, known = append(list, i.stored.ReplicaFailure), 1
		failures = slices.DeleteFunc(slices.Clone(failures), func(f Failure) bool { return f.Pod == i.stored.Pod })
	}
	for _, f := range failures {
		list = append(list, f.ReplicaFailure)
	}
	n, orElse := FirstOf(list, known)
	out := &v1beta1.FirstFailure{ReplicaFailure: list[n], JobAttempt: i.jobAttempt, Others: int32(len(list) - 1)}
	for _, j := range orElse[:min(len(orElse), maxSuspects)] {
		out.OrElse = append(out.OrElse, list[j].Pod)
	}
	why := ""
	if n >= known {
		why = failures[n-known].why()
		out.Cause = failures[n-known].pod.CauseOf(&out.ReplicaFailure)
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

// addLate adds to a list the failures of pods that have none in it. There may be thousands of both.
func addLate(list, more []Failure) []Failure {
	have := make(map[string]bool, len(list)+len(more))
	for _, f := range list {
		have[f.Pod] = true
	}
	for _, f := range more {
		if !have[f.Pod] {
			have[f.Pod], list = true, append(list, f)
		}
	}
	return list
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

package simulator

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/spec"
)

// This file checks what statuses say of a job's time. Each second has one cause, so the shares add up to the age of the job, whoever writes, and
// whatever comes between two writes.

// hangSilence is for how long code has shown no sign of life that is found to hang.
const hangSilence = 3 * time.Second

// hangsSaid is what a wrapper says of it.
const hangsSaid = output.HangBegins + "no line of output matched for 3 s (steadySeconds)"

// hangsInstead has some code that fails hang, and be killed for that.
func (l *Life) hangsInstead(code int32) int32 {
	if code == 1 && l.tape.spare(3, 3) {
		return output.HangCode
	}
	return code
}

// timeWritten checks a status against the one before.
func (t *truth) timeWritten(was, is *v1beta1.GenericJob) {
	before, after := was.Status.Time, is.Status.Time
	if after == nil {
		if is.Status.Phase != "" { // else the operator has only warned about a job that was deleted before it began
			t.violated("a second is lost", "%s says nothing of its time", keyOf(is))
		}
		return
	}
	for _, s := range []struct{ was, is *v1beta1.TimeShares }{
		{sharesOf(before, func(j *v1beta1.JobTime) *v1beta1.TimeShares { return &j.TimeShares }), &after.TimeShares},
		{sharesOf(before, func(j *v1beta1.JobTime) *v1beta1.TimeShares { return j.ReplicaSeconds }), after.ReplicaSeconds},
		{sharesOf(before, func(j *v1beta1.JobTime) *v1beta1.TimeShares { return j.DeviceSeconds }), after.DeviceSeconds},
	} {
		t.sharesWritten(s.was, s.is)
	}
	t.addsUp(is, before)
	if before != nil && before.Open != nil && after.Open != nil {
		t.followsInTime(was, is)
		t.weighsBySize(before, after)
	}
	if now := t.life.writer.latest; after.Open != nil && before == nil && after.Since.After(now) {
		t.violated("a second is made up", "time since %s, which is later than now", after.Since)
	}
}

func sharesOf(j *v1beta1.JobTime, of func(*v1beta1.JobTime) *v1beta1.TimeShares) *v1beta1.TimeShares {
	if j == nil {
		return nil
	}
	return of(j)
}

// sharesWritten checks that shares add up, and only grow.
func (t *truth) sharesWritten(was, is *v1beta1.TimeShares) {
	if was == nil {
		was = &v1beta1.TimeShares{}
	}
	if is == nil {
		is = &v1beta1.TimeShares{}
	}
	sum := is.Queued + is.Starting + is.Productive + is.Paused + is.Lost.Restart + is.Lost.Hang + is.Lost.Disruption + is.Lost.Node
	if sum != is.Total {
		t.violated("a second has two causes", "%+v", *is)
	}
	for _, cause := range v1beta1.TimeCauses {
		if *is.Of(cause) < *was.Of(cause) {
			t.violated("time is taken back", "%s from %d to %d s", cause, *was.Of(cause), *is.Of(cause))
		}
	}
}

// addsUp checks that the shares and the open interval are the age of the job.
func (t *truth) addsUp(job *v1beta1.GenericJob, before *v1beta1.JobTime) {
	is := job.Status.Time
	since := t.beginning(job, before)
	if !is.Since.Equal(&since) {
		t.violated("a second is lost", "time since %s, not %s", is.Since, since)
	}
	until := since.Add(time.Duration(is.Total) * time.Second)
	switch end := job.Status.CompletionTime; {
	case is.Open != nil && !until.Equal(is.Open.Since.Time):
		t.violated("a second is lost", "%d s since %s, and open since %s", is.Total, since, is.Open.Since)
	case is.Open == nil && end == nil:
		t.violated("a second is lost", "no interval is open of a job that goes on")
	case is.Open != nil && end != nil:
		t.violated("a finished job ages", "%s is open since %s", is.Open.Cause, is.Open.Since)
	case is.Open == nil && until.Before(end.Truncate(time.Second)):
		t.violated("a second is lost", "%d s since %s, and the job ended at %s", is.Total, since, end)
	}
}

// beginning is when the time of a job has to begin.
func (t *truth) beginning(job *v1beta1.GenericJob, before *v1beta1.JobTime) metav1.Time {
	is, created := job.Status.Time.Since, job.CreationTimestamp
	switch {
	case before != nil:
		return before.Since
	case is.Before(&created) && !is.Time.Before(t.life.writer.earliest.Truncate(time.Second)):
		return is // the operator's clock was behind the apiserver's when it planned
	default:
		return created
	}
}

// followsInTime checks what an interval is for by what else the status says.
func (t *truth) followsInTime(was, is *v1beta1.GenericJob) {
	before, after, s := was.Status.Time.Open, is.Status.Time.Open, &is.Status
	if cause := stoppedBy(s.Mode); cause != "" && after.Cause != cause {
		t.violated("a second has a wrong cause", "mode %s, and the time is %s", s.Mode, after.Cause)
	}
	trains, trained := after.Cause == v1beta1.TimeProductive, before.Cause == v1beta1.TimeProductive
	if trains && !trained && s.Phase != v1beta1.JobRunning && !needsNotAll(&is.Spec) {
		t.violated("a second has a wrong cause", "the time is productive in phase %s", s.Phase)
	}
	t.anewInTime(was, is)
	if trained && after.Cause == v1beta1.TimeLostToHang {
		t.hangMoved(was, is)
	}
}

// anewInTime checks what code that begins again makes of the time. A loss ends when all run again, though one may have succeeded since, after which
// all begin again.
func (t *truth) anewInTime(was, is *v1beta1.GenericJob) {
	before, after, trains := was.Status.Time.Open, is.Status.Time.Open, is.Status.Time.Open.Cause == v1beta1.TimeProductive
	if is.Spec.RestartScope == v1beta1.RestartScopeJob && is.Status.JobAttempt > was.Status.JobAttempt && trains {
		t.violated("a second has a wrong cause", "all begin attempt %d, and the time is productive", is.Status.JobAttempt)
	}
	ran := is.Status.Time.Productive > was.Status.Time.Productive
	if t.life.writer.skew < 0 || before.Since.After(t.life.now) { // by a clock that is behind, that was in the future, where no second counts
		ran = ran || t.recordOf(is.UID).lived.together[was.Status.JobAttempt] > 0
	}
	if before.LostBy != "" && after.LostBy == "" && !trains && !ran {
		t.violated("a loss is forgotten", "%s by %s, then %s by %q", before.Cause, before.LostBy, after.Cause, after.LostBy)
	}
}

// stoppedBy is what the time of a job is spent on in a mode in which it does not train; "" in others.
func stoppedBy(mode string) v1beta1.TimeCause {
	switch {
	case mode == spec.ModePaused, strings.HasPrefix(mode, spec.ModeDebug):
		return v1beta1.TimePaused
	case mode == spec.ModeQueued:
		return v1beta1.TimeQueued
	default:
		return ""
	}
}

// needsNotAll reports whether a job trains though not all of its pods run.
func needsNotAll(s *v1beta1.GenericJobSpec) bool {
	return s.Scheduler != nil && s.Scheduler.MinMember != nil || slices.ContainsFunc(s.ReplicaSpecs, func(r v1beta1.ReplicaSpec) bool { return r.Auxiliary })
}

// hangMoved checks that a hang counts from the last sign of life, and no second twice. A new size begins an interval of its own in the middle of it.
// What is in the future of the operator that writes, whose clock is behind, counts from its present on.
func (t *truth) hangMoved(was, is *v1beta1.GenericJob) {
	first, before, after := is.Status.FirstFailure, was.Status.Time.Open, is.Status.Time.Open
	if !isHang(first) || before.Replicas != after.Replicas || before.Devices != after.Devices {
		return
	}
	began, present := before.Since, t.life.writer.earliest.Truncate(time.Second)
	from := func(at time.Time) time.Time {
		if at = at.Add(-hangSilence); at.Before(began.Time) {
			return began.Time
		}
		return at
	}
	earliest := first.Time.Time
	for _, f := range is.Status.Failures {
		if f.Time != nil && f.Time.Time.Before(earliest) && !isKnown(was.Status.Failures, &f) {
			earliest = f.Time.Time
		}
	}
	if at := after.Since.Time; at.Before(from(earliest)) && at.Before(present) || at.After(from(first.Time.Time)) {
		t.violated("a hang is moved wrongly", "it was found at %s, in time since %s, and counts from %s", first.Time, began, at)
	}
}

// isHang reports whether code that hung is the first failure.
func isHang(first *v1beta1.FirstFailure) bool {
	return first != nil && first.Time != nil && first.ExitCode != nil && *first.ExitCode == output.HangCode
}

// isKnown reports whether a failure was told before.
func isKnown(list []v1beta1.ReplicaFailure, f *v1beta1.ReplicaFailure) bool {
	return slices.ContainsFunc(list, func(k v1beta1.ReplicaFailure) bool { return k.Pod == f.Pod && k.Time.Equal(f.Time) })
}

package ledger

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// clock is which mode the job runs in, and since when. The fields are those of the status.
type clock struct {
	mode           string
	modeGeneration int32
	startTime      *metav1.Time
	pauseTime      *metav1.Time
	pausedSeconds  int64
	pauses         int32
	unstarted      string
}

func clockOf(s *v1beta1.GenericJobStatus) clock {
	return clock{s.Mode, s.ModeGeneration, s.StartTime, s.PauseTime, s.PausedSeconds, s.PauseCount, s.UnstartedSpec}
}

func (c *clock) save(s *v1beta1.GenericJobStatus) {
	s.Mode, s.ModeGeneration, s.StartTime, s.PauseTime, s.PausedSeconds, s.PauseCount, s.UnstartedSpec =
		c.mode, c.modeGeneration, c.startTime, c.pauseTime, c.pausedSeconds, c.pauses, c.unstarted
}

// Mode is the run mode for which pods are made now.
func (c *clock) Mode() string { return c.mode }

// ModeGeneration counts the changes of the run mode, and the edits that need other pods. Pods of earlier ones are stopped.
func (c *clock) ModeGeneration() int { return int(c.modeGeneration) }

// StartTime is when the job began; nil before.
func (c *clock) StartTime() *metav1.Time { return c.startTime }

// Active is how long a job that has begun has been active, pauses left out, and whether that time goes on.
func (c *clock) Active(now time.Time) (active time.Duration, ticks bool) {
	if c.pauseTime != nil {
		now = c.pauseTime.Time
	}
	return now.Sub(c.startTime.Time) - Seconds(c.pausedSeconds), c.pauseTime == nil
}

// Resumed reports whether this draft has ended a pause of a job that had begun.
func (l *Ledger) Resumed() bool { return l.resumed }

func (l *Ledger) wanted() string { return spec.Mode(l.job, l.pauses > 0) }

// SetStartTime notes when the job began.
func (d Draft) SetStartTime(at time.Time) { d.startTime = &metav1.Time{Time: at} }

// Recognise notes that a job has begun if its pods say so, and its status does not. Such a job began when its first pod was created. Its deadline
// must not count from a later write, which another operator may make after a long outage.
func (d Draft) Recognise(firstPod, now time.Time) {
	if d.startTime != nil || d.job.Status.CompletionTime != nil || firstPod.IsZero() {
		return
	}
	if firstPod.After(now) { // the clocks may differ
		firstPod = now
	}
	d.SetStartTime(firstPod)
	switch d.mode {
	case "":
		d.mode = spec.ModeImmediate
	case spec.ModePaused, spec.ModeQueued: // the pods were not known when the job was paused
		d.pauseClock(now)
	}
}

// stops reports whether no pods are made for a mode.
func stops(mode string) bool { return mode == spec.ModePaused || mode == spec.ModeQueued }

// Switch follows the spec's run mode, but for a job that is queued. Each change begins a new mode generation, and pods of earlier ones are
// stopped. A queued job is paused by its queue, not by its user.
// A job that is paused before its first status is written had begun if pods of it are known. If they show later, see
// Recognise.
func (d Draft) Switch(now time.Time, queued bool) {
	mode, old := d.wanted(), d.mode
	if queued {
		mode = spec.ModeQueued
	}
	if mode == old {
		return
	}
	started := d.startTime != nil
	if stops(mode) && !stops(old) && started {
		d.pauseClock(now)
	}
	if !stops(mode) && stops(old) && started {
		if t := d.pauseTime; t != nil {
			// Another operator's clock may have been ahead of ours: time that was spent paused is not given back.
			d.pausedSeconds += max(0, int64(now.Sub(t.Time).Seconds()))
		}
		d.pauseTime = nil
		d.resumed = true
	}
	if old != "" {
		d.beginModeGeneration()
	}
	d.mode = mode
}

// beginModeGeneration has the pods stopped that there are.
func (d Draft) beginModeGeneration() {
	d.modeGeneration++
	d.gang.MinMember = 0 // the group of the mode generation before goes with its pods
}

// pauseClock begins a pause of a job that has begun: its deadline does not count, and it resumes by its resumeSpecs.
func (d Draft) pauseClock(now time.Time) {
	d.pauseTime = &metav1.Time{Time: now}
	d.pauses++
}

// AnswerEdit begins a mode generation if pods may have been made from another spec than this, and notes from which they are made now. AnswerEdit
// comes before anything is counted: how pods of another spec end does not matter, unless they have done their work.
func (d Draft) AnswerEdit() {
	if d.edited {
		d.beginModeGeneration()
	}
	if d.edited || d.noStatus {
		d.unstarted = spec.PodsHash(d.job)
	}
}

// ForgetUnstarted notes that code of the job runs, or that the job is over. From then on users can edit templates only in a pause.
func (d Draft) ForgetUnstarted() { d.unstarted = "" }

// Seconds is so many seconds, at most about 146 years. This maximum is half of what a Duration can say, so that sums can be said, too.
func Seconds(n int64) time.Duration {
	const most = int64(math.MaxInt64/time.Second) / 2
	return time.Duration(min(max(n, -most), most)) * time.Second
}

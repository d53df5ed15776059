package ledger

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// clock holds the mode in which the job runs, and its times. The fields are those of the status.
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

// Mode returns the run mode for which pods are made now.
func (c *clock) Mode() string { return c.mode }

// ModeGeneration counts the changes of the run mode, and the edits that need other pods. Pods of earlier ones are stopped.
func (c *clock) ModeGeneration() int { return int(c.modeGeneration) }

// StartTime returns when the job began; nil before.
func (c *clock) StartTime() *metav1.Time { return c.startTime }

// Active returns how long a job that has begun has been active, without pauses. Ticks reports whether that time goes on.
func (c *clock) Active(now time.Time) (active time.Duration, ticks bool) {
	if c.pauseTime != nil {
		now = c.pauseTime.Time
	}
	return now.Sub(c.startTime.Time) - Seconds(c.pausedSeconds), c.pauseTime == nil
}

// WasResumed reports whether this draft has ended a pause of a job that had begun.
func (l *Ledger) WasResumed() bool { return l.resumed }

func (l *Ledger) wantedMode() string { return spec.Mode(l.job, l.pauses > 0) }

// SetStartTime notes when the job began.
func (d Draft) SetStartTime(at time.Time) { d.startTime = &metav1.Time{Time: at} }

// SetMissingStartTime notes that a job has begun, if it has pods though its status has no start time. It began when its first pod was created. The
// deadline must not count from a later write, which an operator may make after a long outage.
func (d Draft) SetMissingStartTime(firstPod, now time.Time) {
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
	case spec.ModePaused, spec.ModeQueued: // the job was paused before these pods were in view
		d.pauseClock(now)
	}
}

// stops reports whether pods are stopped in a mode, and none is created.
func stops(mode string) bool { return mode == spec.ModePaused || mode == spec.ModeQueued }

// SwitchMode changes to the run mode that the spec asks for, or to ModeQueued if the job is queued. A queued job is paused by its queue, and not by
// its user. Each change begins a mode generation, and pods of earlier ones are stopped.
//
// A job may be paused before its first status is written. Whether it had begun then shows by its pods: see SetMissingStartTime.
func (d Draft) SwitchMode(now time.Time, queued bool) {
	mode, old := d.wantedMode(), d.mode
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
			// The clock of another operator may have been ahead of ours. Then the difference is negative, and must not shorten earlier pauses.
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

// beginModeGeneration has all present pods stopped.
func (d Draft) beginModeGeneration() {
	d.modeGeneration++
	d.gang.MinMember = 0 // the group of the mode generation before goes with its pods
}

// pauseClock begins a pause of a job that has begun. The time of the pause does not count for its deadline, and it resumes by its resumeSpecs.
func (d Draft) pauseClock(now time.Time) {
	d.pauseTime = &metav1.Time{Time: now}
	d.pauses++
}

// BeginModeGenerationIfEdited begins a mode generation if existing pods may have been made from another spec, and notes the spec from which pods are
// made now. It comes before anything is counted, because it does not matter how pods of another spec end, unless they have done their work.
func (d Draft) BeginModeGenerationIfEdited() {
	if d.edited {
		d.beginModeGeneration()
	}
	if d.edited || d.noStatus {
		d.unstarted = spec.PodsHash(d.job)
	}
}

// NoteCodeStarted notes that code of the job has started, or that the job is over. From then on users can edit templates only in a pause.
func (d Draft) NoteCodeStarted() { d.unstarted = "" }

// Seconds returns n seconds as a Duration, at most about 146 years. That is half of the longest Duration, so that the sum of two fits.
func Seconds(n int64) time.Duration {
	const most = int64(math.MaxInt64/time.Second) / 2
	return time.Duration(min(max(n, -most), most)) * time.Second
}

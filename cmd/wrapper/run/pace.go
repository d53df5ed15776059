package run

import (
	"slices"
	"strconv"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/output"
)

// Pace is how fast the steps of code follow each other, as its output tells them. What was done twice after a restart can be known by it.

// mostGaps is of how many steps the time is kept, the last ones.
const mostGaps = 64

// pace is that of one attempt's code. A step that is reported again is another process'. Steps that begin anew meanwhile are no count of the work.
type pace struct {
	reported    bool // any step
	resets      bool // a step was lower than the one before
	skips       bool // not each step was reported
	first, last int64
	at          time.Time // when the last was reported
	gaps        []time.Duration
	next        int // where the next gap goes, once there are mostGaps
}

// read notes a step, if the text is one.
func (p *pace) read(step string, at time.Time) {
	if n, err := strconv.ParseInt(step, 10, 64); err == nil && n >= 0 {
		p.see(n, at)
	}
}

// see notes a step.
func (p *pace) see(step int64, at time.Time) {
	if !p.reported {
		p.reported, p.first, p.last, p.at = true, step, step, at
		return
	}
	steps := step - p.last
	switch {
	case steps == 0:
		return
	case steps < 0:
		p.resets = true
		return
	}
	p.skips = p.skips || steps > 1
	gap := at.Sub(p.at) / time.Duration(steps)
	if len(p.gaps) < mostGaps {
		p.gaps = append(p.gaps, gap)
	} else {
		p.gaps[p.next] = gap
		p.next = (p.next + 1) % mostGaps
	}
	p.last, p.at = step, at
}

// median returns how long a step takes; 0 if that is not known.
func (p *pace) median() time.Duration {
	if len(p.gaps) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p.gaps))
	return sorted[len(sorted)/2]
}

// report returns what is reported to the operator of it; nil if the steps do not count the work.
func (p *pace) report(before *int64) *inplace.Pace {
	if !p.reported || p.resets {
		return nil
	}
	return &inplace.Pace{First: p.first, Each: !p.skips, Seconds: p.median().Seconds(), Before: before}
}

// paceReport returns what the operator is told of the pace.
func (s *signs) paceReport(before *int64) *inplace.Pace {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pace.report(before)
}

// pace returns what the operator is told of the speed of the code. It returns nothing after a developer has started the code again: steps that the
// code repeats then are not lost work.
func (w *wrapper) pace() *inplace.Pace {
	if w.Developed {
		return nil
	}
	return w.signs.paceReport(w.Step)
}

// noteStep notes how far code has come that has ended, and reports whether that is news. If nobody knows for certain, it forgets what was noted of
// code that ran earlier. Code that has reported no step, or not run at all, has come no further.
func (w *wrapper) noteStep() (isNews bool) {
	text := w.lastFurthest()
	if w.signs == nil || text == output.NoStep {
		return false
	}
	had := w.Step
	w.Step = nil
	if last, err := strconv.ParseInt(text, 10, 64); err == nil {
		w.Step = &last
	}
	return had != nil || w.Step != nil
}

// keepStep notes how far code has come, and saves it for the container that comes after this one.
func (w *wrapper) keepStep() {
	if w.fixedOrder != nil || !w.noteStep() {
		return
	}
	if err := w.save(); err != nil {
		w.say("%v", err)
	}
}

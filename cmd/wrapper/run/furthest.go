package run

import (
	"cmp"
	"strconv"

	"github.com/genericjob/genericjob/kernel/output"
)

// The highest step tells how far code had come when it ended. The operator compares it with that of earlier attempts (failurePolicy.noProgress).
// So the wrapper tells the exact step, or none.

// steps are what an output has reported of its steps. Two outputs of a process are read in any order.
type steps struct {
	highest  int64
	reported bool // any step
	unsure   bool // one was no whole number, or lower than one before: the code has begun to count anew, say
}

// see notes a step, as the code wrote it; "" is none.
func (s *steps) see(text string) {
	if text == "" {
		return
	}
	n, err := strconv.ParseInt(text, 10, 64)
	s.unsure = s.unsure || err != nil || n < 0 || s.reported && n < s.highest
	s.highest, s.reported = max(n, s.highest), true
}

// with returns what two outputs have reported.
func (s steps) with(o steps) steps {
	return steps{highest: max(s.highest, o.highest), reported: s.reported || o.reported, unsure: s.unsure || o.unsure}
}

// String returns the highest step, as output.Failure has it.
func (s steps) String() string {
	switch {
	case s.unsure:
		return ""
	case !s.reported:
		return output.NoStep
	default:
		return strconv.FormatInt(s.highest, 10)
	}
}

// furthest returns the highest step that the output of an attempt's code has reported; "" if nobody can say that for certain.
func (w *wrapper) furthest() string {
	if line := cmp.Or(w.beat.progress, w.beat.line); w.signs == nil || w.Developed || line == nil || line.SubexpIndex("step") < 0 {
		return ""
	}
	w.signs.mu.Lock()
	defer w.signs.mu.Unlock()
	all := steps{}
	for _, p := range w.pumps {
		all = all.with(p.steps)
	}
	return all.String()
}

// lastFurthest returns the highest step of code that has ended; "" if the wrapper has not read all its output yet.
func (w *wrapper) lastFurthest() string {
	for _, p := range w.pumps {
		select {
		case <-p.done:
		default:
			return ""
		}
	}
	return w.furthest()
}

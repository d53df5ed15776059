package simulator

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Deviation is a choice whose outcome is not the healthy one.
type Deviation struct {
	At      int // which choice of the life it is
	Outcome int // which of those that the choice names, from 1
}

func (d Deviation) String() string { return fmt.Sprintf("%d:%d", d.At, d.Outcome) }

// schedule is a life of a miniature: all choices have their healthy outcome, except those of a list.
type schedule struct {
	deviations []Deviation // by their choices
	trace      []int       // how many outcomes each choice had
	rare       bool        // what is rare is a choice, too
	calm       bool        // no trouble is left, and each choice has its healthy outcome
	unfit      string      // a deviation whose choice has no such outcome in this life
	tell       func(format string, args ...any)
}

// take returns which of n outcomes a choice has.
func (s *schedule) take(n int) int {
	if s.calm || n == 1 {
		return 0
	}
	at := len(s.trace)
	s.trace = append(s.trace, n)
	if len(s.deviations) == 0 || s.deviations[0].At != at {
		return 0
	}
	d := s.deviations[0]
	s.deviations = s.deviations[1:]
	if d.Outcome >= n {
		s.unfit = fmt.Sprintf("choice %d has the outcomes 0 to %d, and not %d", at, n-1, d.Outcome)
		return 0
	}
	if s.tell != nil {
		s.tell("DEVIATION: choice %d, %s, takes outcome %d of 0 to %d", at, site(), d.Outcome, n-1)
	}
	return d.Outcome
}

// site is the line of the simulator that makes a choice.
func site() string {
	pcs := make([]uintptr, 12)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if name := filepath.Base(f.File); !more || name != "tape.go" && name != "schedule.go" {
			return fmt.Sprintf("%s:%d (%s)", name, f.Line, f.Function[strings.LastIndex(f.Function, ".")+1:])
		}
	}
}

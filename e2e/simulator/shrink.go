package simulator

import (
	"context"
	"slices"
	"strings"
)

// Shrink looks for a shorter tape on which the same invariant is broken, in at most so many lives. It leaves out parts of the tape, large ones first.
// Then it turns bytes to zero, of which nothing comes.
func Shrink(ctx context.Context, tape []byte, invariant string, lives int) []byte {
	s := &shrinker{tape: tape, left: lives, fails: func(candidate []byte) bool {
		return slices.ContainsFunc(Live(ctx, ReplayTape(candidate), false).Violations(), func(v string) bool {
			return strings.HasPrefix(v, invariant)
		})
	}}
	for changed := true; changed && s.left > 0; {
		changed = s.leaveOut()
		changed = s.zero() || changed
	}
	return s.tape
}

type shrinker struct {
	tape  []byte // the best so far
	left  int    // lives
	fails func([]byte) bool
}

// try takes a tape if it still fails.
func (s *shrinker) try(candidate []byte) bool {
	if s.left <= 0 || slices.Equal(candidate, s.tape) {
		return false
	}
	s.left--
	if !s.fails(slices.Clone(candidate)) {
		return false
	}
	s.tape = candidate
	return true
}

func (s *shrinker) leaveOut() (changed bool) {
	for size := len(s.tape) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(s.tape); {
			if s.try(slices.Concat(s.tape[:at], s.tape[at+size:])) {
				changed = true
			} else {
				at += size
			}
		}
	}
	return changed
}

func (s *shrinker) zero() (changed bool) {
	for size := 64; size > 0; size /= 4 {
		for at := 0; at < len(s.tape); at += size {
			zeroed := slices.Clone(s.tape)
			clear(zeroed[at:min(at+size, len(zeroed))])
			changed = s.try(zeroed) || changed
		}
	}
	return changed
}

// InvariantOf is the name of the invariant in a violation.
func InvariantOf(violation string) string {
	name, _, _ := strings.Cut(violation, ": ")
	return name
}

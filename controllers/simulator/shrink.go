package simulator

import (
	"context"
	"slices"
	"strings"
)

// Shrink looks for a shorter tape on which the same invariant is broken, in at most so many lives: it leaves out parts of
// the tape, large ones first, and then turns bytes to zero, of which nothing comes.
func Shrink(ctx context.Context, tape []byte, invariant string, lives int) []byte {
	fails := func(candidate []byte) bool {
		lives--
		for _, v := range Live(ctx, ReplayTape(slices.Clone(candidate)), false).Violations() {
			if strings.HasPrefix(v, invariant) {
				return true
			}
		}
		return false
	}
	for changed := true; changed && lives > 0; {
		changed = false
		for size := len(tape) / 2; size > 0 && lives > 0; size /= 2 {
			for at := 0; at+size <= len(tape) && lives > 0; {
				if shorter := slices.Concat(tape[:at], tape[at+size:]); fails(shorter) {
					tape, changed = shorter, true
				} else {
					at += size
				}
			}
		}
		for size := 64; size > 0 && lives > 0; size /= 4 {
			for at := 0; at < len(tape) && lives > 0; at += size {
				part := min(size, len(tape)-at)
				zeroed := slices.Clone(tape)
				clear(zeroed[at : at+part])
				if !slices.Equal(zeroed, tape) && fails(zeroed) {
					tape, changed = zeroed, true
				}
			}
		}
	}
	return tape
}

// InvariantOf is the name of the invariant in a violation.
func InvariantOf(violation string) string {
	name, _, _ := strings.Cut(violation, ": ")
	return name
}

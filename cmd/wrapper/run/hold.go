package run

import (
	"fmt"
	"os"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

// Holding. When a container fails for the first time, a kubelet starts it again at once. Later it waits 10 s, 20 s, and longer, until one has run for
// ten minutes. For that reason a wrapper that was started again lately does not end when its code fails. The wrapper tells the operator, and waits
// for the order that starts the next attempt. If none comes in time, it ends as it would have.

// holds reports whether the wrapper stays though its code has ended with a code.
func (w *wrapper) holds(code int) bool {
	return code != 0 && w.hold > 0 && w.fixed == nil && !w.podEnds && w.Starts > 1 && time.Since(w.born) < inplace.HoldWithin
}

// keep notes how code has ended, and has what it leaves behind killed.
func (w *wrapper) keep(code int) {
	fmt.Fprintf(os.Stderr, "genericjob wrapper: attempt %d has ended with exit code %d; waiting for an order\n", w.Ran, code)
	w.note(code, false)
	w.held = w.ended
	w.holdExpired, w.draining = time.After(w.hold), true
}

// release forgets the end of an attempt that is over, with its last words.
func (w *wrapper) release() {
	if w.held == nil {
		return
	}
	w.held, w.holdExpired = nil, nil
	if err := w.leaveWords(""); err != nil {
		fmt.Fprintln(os.Stderr, "genericjob wrapper:", err)
	}
}

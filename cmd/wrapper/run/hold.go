package run

import (
	"fmt"
	"os"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

// Holding. When a container fails for the first time, a kubelet starts it again at once. Later it waits 10 s, 20 s, and longer, until the container
// has run for ten minutes. To avoid that delay, a wrapper whose container was started again shortly before does not end when its code fails. It tells
// the operator, and waits for the order to start the next attempt. If none comes in time, the wrapper ends after all, with the code's exit code.

// holds reports whether the wrapper stays though its code has ended with this exit code.
func (w *wrapper) holds(code int) bool {
	return code != 0 && w.hold > 0 && w.fixedOrder == nil && !w.podEnds && w.Starts > 1 && time.Since(w.startedAt) < inplace.HoldWithin
}

// holdEnd notes how the code has ended, and kills the processes that it has left behind.
func (w *wrapper) holdEnd(code int) {
	fmt.Fprintf(os.Stderr, "genericjob wrapper: attempt %d has ended with exit code %d; waiting for an order\n", w.Ran, code)
	w.noteFailure(code, false)
	w.heldEnd = w.codeFailure
	w.holdExpired, w.draining = time.After(w.hold), true
}

// forgetHeldEnd forgets the held end of an attempt that is over, and clears its termination message.
func (w *wrapper) forgetHeldEnd() {
	if w.heldEnd == nil {
		return
	}
	w.heldEnd, w.holdExpired = nil, nil
	if err := w.writeTerminationMessage(""); err != nil {
		fmt.Fprintln(os.Stderr, "genericjob wrapper:", err)
	}
}

package run

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

// Orders that come with questions run ahead of the volume, which shows the same ones later: a kubelet takes a minute or two. Who knows the
// pod's UID can make one up. Orders with questions therefore run ahead by a little only, and no wrapper waits for ever because of one that the
// volume never shows.

const (
	// maxAhead is how many attempts an order may be beyond the volume's. One that is farther comes by the volume.
	maxAhead = 16
	// confirmTimeout is how long a wrapper waits by an order that the volume does not show. A rank that trains is not touched for that:
	// a kubelet may be down for longer.
	confirmTimeout = 10 * time.Minute
)

// volumeOrder returns the order that the volume shows.
func (w *wrapper) volumeOrder() (o inplace.Order, err error) {
	text, err := os.ReadFile(filepath.Join(w.dir, "order", "order"))
	if err != nil {
		return o, err
	}
	return inplace.Parse(string(text))
}

// order returns the last order that is known: the volume's, or one that came with a question.
func (w *wrapper) order() (inplace.Order, error) {
	if w.fixedOrder != nil {
		return *w.fixedOrder, nil
	}
	o, err := w.volumeOrder()
	if w.Order != nil && (err != nil || w.Order.After(o)) {
		return *w.Order, nil
	}
	w.confirmedAt = time.Now()
	return o, err
}

// keepOrder keeps an order, unless a later one is kept, or it is far ahead of what the volume shows. The wrapper writes the order down before it
// obeys it. The next wrapper of this pod may not see it in the volume yet, and must not fall back behind what was reported.
func (w *wrapper) keepOrder(o inplace.Order) {
	previous := w.Order
	if previous != nil && !o.After(*previous) {
		return
	}
	if seen, err := w.volumeOrder(); err != nil || o.Attempt > seen.Attempt+maxAhead || o.Go > o.Attempt {
		return // the volume will show it, if there is one
	}
	w.Order = &o
	if w.save() != nil {
		w.Order = previous // the volume will show it
	}
}

// rejectUnconfirmedOrder ends a wrapper that waits by an order which the volume has not shown in all the time: nobody gave it. Its code was stopped,
// so that is a failure. The next wrapper goes by the volume.
func (w *wrapper) rejectUnconfirmedOrder() {
	if w.Order == nil || w.child != 0 || w.draining || w.heldEnd != nil || w.over || w.awaitsStart() {
		w.confirmedAt = time.Now() // nobody waits
		return
	}
	if time.Since(w.confirmedAt) < w.confirmWithin {
		return
	}
	madeUp := *w.Order
	w.Order = nil
	if err := w.save(); err != nil {
		w.Order = &madeUp // it is looked at again
		return
	}
	w.fail(1, fmt.Errorf("order %q came over the network and not with the pod's annotation: it was made up, and has stopped attempt %d", madeUp, w.Ran))
}

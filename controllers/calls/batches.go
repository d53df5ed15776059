package calls

import (
	"cmp"
	"slices"
	"time"

	"github.com/genericjob/genericjob/kernel"
)

// due returns the actions that may be tried now. Those that were refused before come first, in the order of their last refusals, because a batch may
// be closed again after a few.
func (r *Refusals) due(actions []kernel.Action) []kernel.Action {
	if len(r.refused) == 0 {
		return actions
	}
	type waiting struct {
		kernel.Action
		last time.Time
	}
	var before []waiting
	var others []kernel.Action
	now := r.clock.Now()
	for _, a := range actions {
		s, batch := r.refused[idOf(a)], batchOf(a)
		switch {
		case s != nil && !now.Before(r.next(s)):
			before = append(before, waiting{a, s.last})
		case s == nil && !r.batches[batch].full && !now.Before(r.batches[batch].closedUntil):
			others = append(others, a)
		}
	}
	slices.SortStableFunc(before, func(a, b waiting) int { return a.last.Compare(b.last) })
	due := make([]kernel.Action, 0, len(before)+len(others))
	for _, w := range before {
		due = append(due, w.Action)
	}
	return append(due, others...)
}

// batchNow names the batch in which an action is tried now: that of batchOf, or another if it was refused.
func (r *Refusals) batchNow(a kernel.Action) string {
	if s := r.refused[idOf(a)]; s != nil {
		return r.retriedIn(s)
	}
	return batchOf(a)
}

// retriedIn names the batch in which a refused action is tried again. Once an action of a batch is accepted, the refused ones form a batch of their own.
// So actions that were never refused do not wait for them, and they do not all begin at once. Names that are taken are always there.
func (r *Refusals) retriedIn(s *activeRefusal) string {
	if s.taken || r.batches[s.batch].opened {
		return retryBatch(s.batch)
	}
	return s.batch
}

// retryBatch names the batch of those of a batch that are tried again. If it is closed, the batch itself stays open. If that is closed, both are, but
// for names that are taken.
func retryBatch(batch string) string { return batch + ", again" }

// waitsFor reports whether a refused action waits while a batch is closed.
func (s *activeRefusal) waitsFor(batch string) bool {
	return batch == retryBatch(s.batch) || batch == s.batch && !s.taken
}

// next returns when a refused action may be tried again: it is due, and what it waits for is open.
func (r *Refusals) next(s *activeRefusal) time.Time {
	next := s.due()
	for _, batch := range []string{s.batch, retryBatch(s.batch)} {
		if until := r.batches[batch].closedUntil; s.waitsFor(batch) && until.After(next) {
			next = until
		}
	}
	return next
}

// open notes that something of a batch was accepted.
func (r *Refusals) open(name string) {
	b := r.batches[name]
	b.opened = true
	r.batches[name] = b
}

// close keeps a batch shut until the first of its refused actions is due again. Actions that are due already wait, too. Otherwise the batch of a job
// of thousands would be open all the time.
func (r *Refusals) close(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var until time.Time
	for _, s := range r.refused {
		due := s.due()
		if soon := r.clock.Now().Add(s.wait()); due.Before(soon) {
			due = soon
		}
		if s.waitsFor(name) && (until.IsZero() || due.Before(until)) {
			until = due
		}
	}
	b := r.batches[name]
	b.opened, b.closedUntil = false, until
	r.batches[name] = b
}

// reopen forgets what was refused of all batches. What was accepted is remembered if the last reconcile was cut off.
func (r *Refusals) reopen() {
	if !r.cutOff {
		clear(r.batches)
		return
	}
	for name, b := range r.batches {
		r.batches[name] = batchState{opened: b.opened}
	}
}

// closeRetried closes the batches of actions that were tried again in vain. Otherwise each of thousands of refusals would cause a reconcile of its
// own.
func (r *Refusals) closeRetried() {
	batches := map[string]bool{}
	for _, s := range r.refused {
		if s.fresh && s.since.Before(s.last) {
			batches[retryBatch(s.batch)] = true
		}
	}
	for batch := range batches {
		r.close(batch)
	}
}

// maxActive is how many refusals of a batch of creates may be active. At that number nothing else of the batch is tried until something of it is
// accepted. Otherwise each refusal that is tried again would let one more replica be tried.
const maxActive = 50

// fill notes which batches have so many active refusals, and that no others have.
func (r *Refusals) fill() {
	for name, b := range r.batches {
		b.full = false
		r.batches[name] = b
	}
	for name, n := range r.activeCreates(r.retriedIn) {
		b := r.batches[name]
		b.full = n >= maxActive
		r.batches[name] = b
	}
}

// Plans returns how many pods of a type a reconcile has to plan. Most is how many actions it carries out, or 0 for mostActions. Pods that are refused
// and not due yet are added, because they are planned in vain.
func (r *Refusals) Plans(most int) int {
	inVain := 0
	for _, n := range r.activeCreates(func(s *activeRefusal) string { return s.Action.Type }) {
		inVain = max(inVain, n)
	}
	return cmp.Or(most, mostActions) + inVain
}

// activeCreates returns how many refusals of creates are active, by what a function returns of each.
func (r *Refusals) activeCreates(by func(*activeRefusal) string) map[string]int {
	n := map[string]int{}
	for _, s := range r.refused {
		if s.Action.Verb.Creates() {
			n[by(s)]++
		}
	}
	return n
}

// batchesWithMore returns the batches in which pods of these types stand that are asked for once those before them are created.
func (r *Refusals) batchesWithMore(types []string) map[string]bool {
	batches := map[string]bool{}
	for _, t := range types {
		batch := batchOf(kernel.Action{Verb: kernel.CreatePod, Type: t})
		batches[batch] = !r.batches[batch].full
	}
	return batches
}

// sizes returns those of the pods that batches create, one for each batch.
func (x *Executor) sizes(batches []batch) (bytes []int) {
	for _, b := range batches {
		if b.verb == kernel.CreatePod && len(b.actions) > 0 {
			bytes = append(bytes, x.Builder.Pod(b.actions[0]).Size())
		}
	}
	return bytes
}

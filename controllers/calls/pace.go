package calls

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

const (
	// parallel is how many calls one batch has under way at once, and sharedParallel how many all have if there are several. The next job's call
	// waits behind each call that is under way. The apiserver's priority and fairness is the throttle; this only bounds the operator.
	parallel       = 50
	sharedParallel = 24
	// mostActions is how many actions a reconcile carries out, and tierTime how long it begins new ones of a tier. After that other jobs have their turn.
	// What is left follows in a reconcile that queues behind theirs.
	mostActions = 200
	tierTime    = 300 * time.Millisecond
	// minFailures is how many actions of a batch must fail before that says something about the others. A single one may fail because of somebody else's
	// object, or a webhook.
	minFailures = 3
	// firstDeletes is with how many calls at once a batch begins, if it creates nothing.
	firstDeletes = 10
)

// Limiter bounds how many calls are under way at once, over all jobs. Batches that are carried out at the same time share them.
type Limiter struct{ batches atomic.Int32 }

func (l *Limiter) enter() { l.batches.Add(1) }

func (l *Limiter) leave() { l.batches.Add(-1) }

// atOnce returns how many calls a batch may have under way at once. It is never none: a batch whose calls hang keeps nobody waiting.
func (l *Limiter) atOnce() int {
	if l.batches.Load() <= 1 {
		return parallel
	}
	return max(2, sharedParallel/int(l.batches.Load()))
}

// batch are actions that are alike: if some are refused, the others probably are, too.
type batch struct {
	name    string
	verb    kernel.Verb
	actions []kernel.Action
	cut     bool // there are more than this reconcile carries out
}

// batchOf names the batch that an action stands in: those of one verb for the pods of one replica type, or one object.
func batchOf(a kernel.Action) string {
	switch {
	case a.Pod != nil:
		return string(a.Verb) + " " + a.Pod.Labels[v1beta1.LabelReplicaType]
	case a.Verb == kernel.CreatePod:
		return string(a.Verb) + " " + a.Type
	default:
		return idOf(a)
	}
}

// first returns how many calls the batch begins with at once. It is a slow start, so that a refusal does not come 5,000 times. But if the last
// reconcile of the job ended only because it may do no more, the batch goes on at full speed.
func (b batch) first(cutOff bool) int {
	switch {
	case cutOff:
		return parallel
	case b.verb.Creates():
		return 1
	default:
		return firstDeletes
	}
}

// share puts actions into the batches that batchOf names. It takes from each batch in turn, until it has as many as a reconcile may carry out.
// Batches of earlier tiers come first, because later ones may wait for them. More names the batches that have more actions than were planned.
func share(actions []kernel.Action, batchOf func(kernel.Action) string, most int, more map[string]bool) []batch {
	var batches []batch
	at := map[string]int{}
	for _, a := range actions {
		name := batchOf(a)
		i, ok := at[name]
		if !ok {
			i = len(batches)
			at[name] = i
			batches = append(batches, batch{name: name, verb: a.Verb, cut: more[name]})
		}
		batches[i].actions = append(batches[i].actions, a)
	}
	slices.SortStableFunc(batches, func(a, b batch) int { return a.verb.Tier() - b.verb.Tier() })
	shares := make([]int, len(batches))
	for goesOn := true; goesOn && most > 0; {
		goesOn = false
		for i := range batches {
			if shares[i] < len(batches[i].actions) && most > 0 {
				shares[i]++
				most--
				goesOn = true
			}
		}
	}
	for i := range batches {
		batches[i].cut = batches[i].cut || shares[i] < len(batches[i].actions)
		batches[i].actions = batches[i].actions[:shares[i]]
	}
	return batches
}

// stop says why no other call of a batch begins.
type stop int

const (
	atEnd    stop = iota
	refused       // too much of it failed
	turnOver      // its turn is over
)

// ofTier returns the batches of a tier of verbs.
func ofTier(batches []batch, tier int) []batch {
	return slices.DeleteFunc(slices.Clone(batches), func(b batch) bool { return b.verb.Tier() != tier })
}

// pace is how fast calls are made.
type pace struct {
	atOnce     func() int  // calls, at most
	turnIsOver func() bool // no other call shall begin but the first
}

// run calls f for 0..n-1. It begins with first calls at once. Each that succeeds lets one more begin, so their number doubles with each
// round trip, and no call waits for the slowest of a batch. No other call begins when the turn is over, or when minFailures have failed
// and most of those made did. The error says that the operator is told to end.
func (p pace) run(ctx context.Context, first, n int, f func(int) error) (stop, error) {
	numbers, results := make(chan int), make(chan error)
	defer close(numbers)
	work := func() {
		for i := range numbers {
			results <- f(i)
		}
	}
	r, workers := batchRun{pace: p, total: n, limit: first}, 0
	for {
		for r.begins(ctx) {
			if r.underway == workers { // kept for later calls: their stacks have grown to what a call takes
				workers++
				go work()
			}
			numbers <- r.next
			r.next, r.underway = r.next+1, r.underway+1
		}
		if r.underway == 0 {
			return r.why, r.err
		}
		r.ended(<-results)
	}
}

// batchRun is a batch that is being carried out.
type batchRun struct {
	pace
	total    int // actions
	next     int // the action that begins next
	underway int // calls
	limit    int // calls at once, by what has succeeded
	failed   int // calls
	why      stop
	err      error
}

// begins reports whether another call begins now.
func (r *batchRun) begins(ctx context.Context) bool {
	if r.why != atEnd || r.err != nil || r.next >= r.total || r.underway >= min(r.limit, r.atOnce()) {
		return false
	}
	r.err = CheckShutdown(ctx)
	if r.next > 0 && r.turnIsOver() {
		r.why = turnOver
	}
	return r.why == atEnd && r.err == nil
}

// ended notes that a call has ended.
func (r *batchRun) ended(err error) {
	r.underway--
	if err == nil {
		r.limit = min(r.limit+1, parallel)
		return
	}
	r.failed++
	if r.failed >= minFailures && 2*r.failed > r.next-r.underway && r.next < r.total && r.why == atEnd {
		r.why = refused
	}
}

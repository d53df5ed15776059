package page

import (
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// span is a time in which something was as it was: a job, or a replica.
type span struct {
	from, to time.Time
	is       state
}

// state is what a span of time was spent on, or what a replica was in it. It is a class of the style sheet, too.
type state string

// The states of a job are the causes of status.time, and this one.
const stateUnknown state = "unknown"

// The states of replicas.
const (
	stateRunning  state = "running"
	stateRan      state = "ran"
	stateEarlier  state = "earlier"
	statePending  state = "pending"
	stateBarrier  state = "barrier"
	stateStopping state = "stopping"
	stateLost     state = "lost"
)

// paint returns the layers one over the other, as spans that do not overlap, in the order of time. Later layers cover earlier ones.
func paint(layers []span, from, to time.Time) (out []span) {
	edges := []time.Time{from, to}
	for i := range layers {
		layers[i].from, layers[i].to = within(layers[i].from, from, to), within(layers[i].to, from, to)
		edges = append(edges, layers[i].from, layers[i].to)
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	for i := 1; i < len(edges); i++ {
		begin, end := edges[i-1], edges[i]
		for _, l := range slices.Backward(layers) {
			if l.from.After(begin) || l.to.Before(end) {
				continue
			}
			if n := len(out); n > 0 && out[n-1].is == l.is && out[n-1].to.Equal(begin) {
				out[n-1].to = end
			} else {
				out = append(out, span{begin, end, l.is})
			}
			break
		}
	}
	return out
}

func within(t, from, to time.Time) time.Time {
	switch {
	case t.Before(from):
		return from
	case t.After(to):
		return to
	default:
		return t
	}
}

// jobSpans says what the time of the job as a whole was spent on. Where the history begins late, or is not kept, the time before is unknown: its
// sums are kept, and nothing tells when it was.
func (in *Input) jobSpans(from, to time.Time) []span {
	t := in.Family.Status().Time
	layers := []span{{from, to, stateUnknown}}
	if t == nil {
		return paint(layers, from, to)
	}
	if h := in.History; h != nil {
		known := t.Since.Time
		if len(h.Earlier) > 0 {
			known = listedFrom(h, to)
		}
		layers = append(layers, span{known, to, state(v1beta1.TimeProductive)})
		layers = append(layers, entries(h.Entries, to, false)...)
		layers = append(layers, entries(h.Entries, to, true)...)
	}
	if t.Open != nil {
		layers = append(layers, span{t.Open.Since.Time, to, state(t.Open.Cause)})
	}
	return paint(layers, from, to)
}

// listedFrom returns when the first entry of a history began: what came before is in its sums alone.
func listedFrom(h *v1beta1.History, to time.Time) time.Time {
	if len(h.Entries) == 0 {
		return to
	}
	return h.Entries[0].Begin.Time
}

// entries returns the spans of entries: of pauses and queues, which may lie in a loss, or of the others.
func entries(list []v1beta1.HistoryEntry, now time.Time, inside bool) (out []span) {
	for _, e := range list {
		cause := e.Kind.TimeCause()
		if cause == "" || inside != (e.Kind == v1beta1.HistoryPause || e.Kind == v1beta1.HistoryQueue) {
			continue
		}
		end := now
		if e.End != nil {
			end = e.End.Time
		}
		out = append(out, span{e.Begin.Time, end, state(cause)})
	}
	return out
}

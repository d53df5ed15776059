package calls

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
)

// An action that is refused is tried again after as much time as it has been refused for. That time is at least minRetryWait, and at most maxRetryWait. If
// the refusal may pass by itself, it is tried again after minRetryWaitInDoubt, and told only once it has lasted.
const (
	minRetryWait        = time.Second
	minRetryWaitInDoubt = 20 * time.Millisecond
	maxRetryWait        = time.Minute
	tellAfter           = 10 * time.Second
)

// Refusals remembers what the apiserver refuses to one job, and since when. Refused creates are forgotten when the spec changes. Correctness does not depend on
// it: after a restart of the operator refused actions are tried once more, and some are told a little later. The zero value is ready for use.
type Refusals struct {
	clock      clock.PassiveClock
	generation int64
	cutOff     bool // the last reconcile was cut off while nothing was refused

	mu         sync.Mutex
	refused    map[string]*activeRefusal // by idOf
	closed     map[string]time.Time      // batches of which too much was refused, until when
	opened     map[string]bool           // batches of which something was accepted, and which were not closed since
	full       map[string]bool           // batches of which this reconcile asks for nothing that has not been refused yet
	toldBefore map[string]bool           // batches and reasons of which was told in the reconcile before
	accepted   map[string]bool           // replica types of which a pod was created in this reconcile; "" for any
}

// activeRefusal is a refusal that has not ended yet.
type activeRefusal struct {
	kernel.Refusal
	batch       string
	sure, fresh bool // the answer does not pass by itself; it came in this reconcile
	asked       bool // an action of this reconcile asks for it
	since, last time.Time
}

// due returns when to try again.
func (s *activeRefusal) due() time.Time {
	wait := s.wait()
	return s.last.Add(min(max(s.last.Sub(s.since), wait), maxRetryWait))
}

// wait returns the shortest time after which to try again.
func (s *activeRefusal) wait() time.Duration {
	if s.sure || s.last.Sub(s.since) >= tellAfter {
		return minRetryWait
	}
	return minRetryWaitInDoubt
}

// idOf returns what identifies an action among those of a job.
func idOf(a kernel.Action) string {
	if a.Pod != nil {
		return string(a.Verb) + " " + string(a.Pod.UID)
	}
	a.Reason = ""
	return a.String()
}

// begin begins a reconcile. It forgets refusals of actions that are not planned any more.
func (m *Refusals) begin(job client.Object, actions []kernel.Action, c clock.PassiveClock) {
	if m.refused == nil {
		m.refused, m.closed, m.opened = map[string]*activeRefusal{}, map[string]time.Time{}, map[string]bool{}
	}
	m.clock = c
	if m.generation != job.GetGeneration() {
		m.generation, m.cutOff = job.GetGeneration(), false
		maps.DeleteFunc(m.refused, func(_ string, s *activeRefusal) bool { return s.Action.Verb.Creates() })
		clear(m.closed)
		clear(m.opened) // what was accepted of another spec says nothing of this one
	}
	m.accepted, m.full = map[string]bool{}, map[string]bool{}
	if len(m.refused) == 0 {
		clear(m.closed)
		if !m.cutOff {
			clear(m.opened)
		}
		return
	}
	for _, s := range m.refused {
		s.fresh, s.asked = false, false
	}
	for _, a := range actions {
		if s := m.refused[idOf(a)]; s != nil {
			s.asked = true
		}
	}
	maps.DeleteFunc(m.refused, func(_ string, s *activeRefusal) bool { return !s.asked })
	for batch, n := range m.activeCreates() {
		m.full[batch] = n >= maxActive && !m.opened[batch]
	}
}

// holdsUp reports whether a tier must wait for a refused action of another tier.
func (m *Refusals) holdsUp(tier int) bool {
	for _, s := range m.refused {
		switch {
		case tier == kernel.CreatePod.Tier() && s.Action.Verb.Provides():
			return true
		case tier == kernel.DeleteJob.Tier() && s.Action.Verb != kernel.DeleteJob:
			return true
		}
	}
	return false
}

// note remembers what became of an action, and returns its error.
func (m *Refusals) note(a kernel.Action, object string, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := idOf(a)
	if err == nil {
		delete(m.refused, id)
		m.opened[batchOf(a)] = true
		if a.Verb == kernel.CreatePod {
			m.accepted[a.Type], m.accepted[""] = true, true
		}
		return nil
	}
	s, now := m.refused[id], m.clock.Now()
	if s == nil {
		s = &activeRefusal{since: now}
		m.refused[id] = s
	}
	s.last, s.batch, s.fresh = now, batchOf(a), true
	if s.last.Before(s.since) { // the clock was set back
		s.since = s.last
	}
	s.Refusal, s.sure = refusalOf(a, err)
	s.Object = object
	return err
}

// refusalOf returns the refusal that the error of an action stands for, and whether it lasts, so that it does not pass by itself.
func refusalOf(a kernel.Action, err error) (kernel.Refusal, bool) {
	var sure *RefusalError
	if errors.As(err, &sure) {
		r := sure.Refusal
		r.Action, r.Message = a, text.Cut(r.Message, text.Max)
		return r, true
	}
	reason := v1beta1.ReasonRefused
	if a.Verb.Creates() {
		reason = v1beta1.ReasonCreateFailed
	}
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message = cmp.Or(status.Status().Message, message) // without our own words
	}
	return kernel.Refusal{Action: a, Reason: reason, Message: text.Cut(message, text.Max)}, !a.Verb.Creates() && isLasting(err)
}

// outcome returns what is refused. A refusal that may pass by itself is told once it has lasted, or if the job is said to be blocked by it.
func (m *Refusals) outcome(job *v1beta1.GenericJob) (o Outcome) {
	now, before := m.clock.Now(), m.toldBefore
	m.toldBefore = map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(m.refused)) {
		s := m.refused[id]
		if next := m.next(s); !m.holdsUp(s.Action.Verb.Tier()) && (o.RequeueAfter == 0 || next.Sub(now) < o.RequeueAfter) {
			o.RequeueAfter = max(next.Sub(now), time.Millisecond)
		}
		s.Accepted = m.accepted[s.Action.Type]
		if s.fresh {
			o.Failed = append(o.Failed, s.Refusal)
		}
		if s.sure || s.last.Sub(s.since) >= tellAfter || status.IsBlocked(&job.Status, s.Reason) {
			o.Refused = append(o.Refused, s.Refusal)
			id := s.batch + ": " + s.Reason
			if !before[id] && !m.toldBefore[id] {
				o.NewRefusals = append(o.NewRefusals, s.Refusal)
			}
			m.toldBefore[id] = true
		}
	}
	return o
}

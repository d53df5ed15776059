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

// An action that is refused is tried again after as much time as it has been refused for. That time is at least minRetryWait, and at most
// maxRetryWait. If the refusal may pass by itself, it is tried again after minRetryWaitInDoubt, and told only once it has lasted.
const (
	minRetryWait        = time.Second
	minRetryWaitInDoubt = 20 * time.Millisecond
	maxRetryWait        = time.Minute
	tellAfter           = 10 * time.Second
)

// Refusals remembers what the apiserver refuses to one job, and since when. Refused creates are forgotten when the spec changes. Correctness does not
// depend on it: after a restart of the operator refused actions are tried once more, and some are told a little later. The zero value is ready for
// use.
type Refusals struct {
	clock      clock.PassiveClock
	generation int64
	cutOff     bool // the last reconcile was cut off while nothing was refused

	mu       sync.Mutex
	refused  map[string]*activeRefusal // by idOf
	batches  map[string]batchState     // by name
	told     map[batchReason]bool      // of what users were told in the last reconcile
	accepted map[string]bool           // replica types of which a pod was created in this reconcile; "" for any
	deleted  bool                      // an object was deleted in this reconcile
}

// batchState is what is remembered of a batch. The zero value is that of a batch of which nothing is known.
type batchState struct {
	closedUntil time.Time // too much of it was refused: nothing of it is tried before
	opened      bool      // something of it was accepted, and it was not closed since
	full        bool      // this reconcile asks for nothing of it that has not been refused yet
}

// batchReason is a reason for which actions of a batch are refused. Of several such refusals users hear of one.
type batchReason struct{ batch, reason string }

// activeRefusal is a refusal that has not ended yet. It is tried again after as long as it has lasted, at most after a minute, and while its batch is
// open. Each answer says anew whether it is in doubt or sure.
//
//	state      it comes to it by                                 tried again after    users
//	in doubt   an answer that may pass by itself                 20 ms at least       hear nothing, unless the job is said to be blocked for its reason
//	lasted     being in doubt for 10 s                           1 s at least         are told
//	sure       an answer that does not pass by itself            1 s at least         are told at once
//	ended      success, a plan without it, an edit (a create)    never: forgotten     hear no more
type activeRefusal struct {
	kernel.Refusal
	batch       string // that of the action, as batchOf names it
	taken       bool   // somebody else's object has the name: it is tried again as one of its batch that was refused
	sure        bool   // the last answer does not pass by itself
	fresh       bool   // the last answer came in this reconcile
	asked       bool   // an action of this reconcile asks for it
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
func (r *Refusals) begin(job client.Object, actions []kernel.Action, c clock.PassiveClock) {
	if r.refused == nil {
		r.refused, r.batches = map[string]*activeRefusal{}, map[string]batchState{}
	}
	r.clock = c
	if r.generation != job.GetGeneration() {
		r.generation, r.cutOff = job.GetGeneration(), false
		maps.DeleteFunc(r.refused, func(_ string, s *activeRefusal) bool { return s.Action.Verb.Creates() })
		clear(r.batches) // what was accepted of another spec says nothing of this one
	}
	r.accepted, r.deleted = map[string]bool{}, false
	if len(r.refused) == 0 {
		r.reopen()
		return
	}
	for _, s := range r.refused {
		s.fresh, s.asked = false, false
	}
	for _, a := range actions {
		if s := r.refused[idOf(a)]; s != nil {
			s.asked = true
		}
	}
	maps.DeleteFunc(r.refused, func(_ string, s *activeRefusal) bool { return !s.asked })
	r.fill()
}

// holdsUp reports whether a tier must wait for a refused action of another tier.
func (r *Refusals) holdsUp(tier int) bool {
	for _, s := range r.refused {
		switch {
		case tier == kernel.CreatePod.Tier() && s.Action.Verb.Provides():
			return true
		case tier == kernel.DeleteJob.Tier() && s.Action.Verb != kernel.DeleteJob:
			return true
		}
	}
	return false
}

// nameWasTaken reports whether an action was refused because somebody else's object has the name.
func (r *Refusals) nameWasTaken(a kernel.Action) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.refused[idOf(a)]
	return s != nil && s.taken
}

// note remembers what became of an action, and returns its error if that says something of the others of its batch. A name that is taken does not:
// the apiserver looks for the name after it has admitted the object. It does of others that are tried again.
func (r *Refusals) note(a kernel.Action, object string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := idOf(a)
	if err == nil {
		delete(r.refused, id)
		r.open(batchOf(a))
		r.deleted = r.deleted || a.Verb == kernel.DeleteObject
		if a.Verb == kernel.CreatePod {
			r.accepted[a.Type], r.accepted[""] = true, true
		}
		return nil
	}
	s, now := r.refused[id], r.clock.Now()
	if s == nil {
		s = &activeRefusal{since: now}
		r.refused[id] = s
	}
	s.last, s.fresh = now, true
	if s.last.Before(s.since) { // the clock was set back
		s.since = s.last
	}
	wasTaken := s.taken
	s.Refusal, s.sure = refusalOf(a, err)
	s.Object, s.batch, s.taken = object, batchOf(a), s.Reason == v1beta1.ReasonNameConflict
	if s.taken && !wasTaken {
		return nil
	}
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
func (r *Refusals) outcome(job *v1beta1.GenericJob) (o Outcome) {
	now, before := r.clock.Now(), r.told
	r.told = map[batchReason]bool{}
	for _, id := range slices.Sorted(maps.Keys(r.refused)) {
		s := r.refused[id]
		if next := r.next(s); !r.holdsUp(s.Action.Verb.Tier()) && (o.RequeueAfter == 0 || next.Sub(now) < o.RequeueAfter) {
			o.RequeueAfter = max(next.Sub(now), time.Millisecond)
		}
		s.Accepted = r.accepted[s.Action.Type]
		if s.fresh {
			o.Failed = append(o.Failed, s.Refusal)
		}
		if s.sure || s.last.Sub(s.since) >= tellAfter || status.IsBlocked(&job.Status, s.Reason) {
			o.Refused = append(o.Refused, s.Refusal)
			why := batchReason{s.batch, s.Reason}
			if !before[why] && !r.told[why] {
				o.NewRefusals = append(o.NewRefusals, s.Refusal)
			}
			r.told[why] = true
		}
	}
	if r.deleted {
		o.RequeueAfter = Sooner(o.RequeueAfter, RetrySoon) // no watch event tells that a PodGroup is gone
	}
	return o
}

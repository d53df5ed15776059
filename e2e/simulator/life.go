package simulator

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The length of a life: first trouble, then calm in which everything must come to rest.
const (
	troubleSteps = 300
	fewSteps     = 12  // of a life in which what happens at the beginning is not healed by what comes later
	calmSteps    = 600 // delays of five minutes add up where each success of policy Always restarts all replicas
	calmStep     = 30 * time.Second
	soon         = 200 * time.Millisecond // longer than the operator gathers events
	quietSteps   = 60                     // nothing happens for longer than any delay of the operator's lasts, and a clock is off
)

// start is when lives begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Life is the life of one job, and of those that a user makes in its place.
type Life struct {
	ctx        context.Context
	tape       *Tape
	now        time.Time
	api        *api
	truth      *truth
	kinds      []string
	user       *trained // what the user makes
	framework  *trained // nil if that is a plain GenericJob
	operators  []*operator
	born       int // operators so far
	writer     *reconcile
	late       []func()           // calls that are carried out when their clients have given up
	tooLate    bool               // it is such a call that writes
	evicting   map[types.UID]bool // pods whose containers a kubelet has ended, before it says why
	lost       map[string]bool    // nodes
	noFlavor   bool               // somebody has deleted the resource flavor
	wrappers   map[types.UID]*wrapper
	servers    servers       // the cluster's apiservers
	oldKubelet bool          // which knows of no container that is to be started again
	beside     string        // what runs in pods beside the code
	forceAfter time.Duration // the operators' setting ForceReplaceAfter
	most       int           // the operators' setting MostActions
	policy     *policy       // nil for none
	edition    int           // of the definition, if one serves the kind

	trouble, meddling, two, hangs, napping, strict, strips, slow bool

	telling bool
	story   []string
}

// Live lives a life from a tape. The story is written if tell is true.
func Live(ctx context.Context, tape *Tape, tell bool) *Life {
	l := &Life{ctx: ctx, tape: tape, now: start, lost: map[string]bool{}, evicting: map[types.UID]bool{}, wrappers: map[types.UID]*wrapper{}, trouble: true, telling: tell}
	l.user = plain
	if n := tape.Pick(7); n > 2 {
		l.framework = frameworks[n-3]
		l.user = l.framework
	}
	l.kinds = kindsOf(l.user)
	l.api = &api{life: l, objects: map[key]client.Object{}, trails: map[string][]change{}}
	l.truth = newTruth(l)
	l.apply()
	// Half the jobs are left alone by their users: in those, counts must agree to the last failure.
	l.meddling, l.two = tape.Chance(2), tape.Chance(2)
	l.hangs = tape.Chance(2)
	l.forceAfter = pickOf(tape, 5*time.Minute, 0)
	l.beside = pickOf(tape, alone, alone, injected, native)
	l.most = pickOf(tape, 0, 2, 1)
	l.strict, l.strips, l.slow = tape.Chance(3), tape.Chance(5), tape.Chance(2)
	l.drawVersions()
	l.hire()
	for range pickOf(tape, troubleSteps, troubleSteps, troubleSteps, fewSteps) {
		l.step()
	}
	l.calmDown()
	l.obey()
	if l.meddling && tape.Chance(2) {
		l.nap()
	}
	l.calmUsers()
	l.settle()
	l.truth.settled()
	l.beQuiet()
	for _, o := range l.operators {
		o.kill() // its reconciles are coroutines, which must not outlive the life
	}
	return l
}

// stamp is the present as it is stored: in whole seconds.
func (l *Life) stamp() metav1.Time { return metav1.NewTime(l.now.Truncate(time.Second)) }

// say writes a line of the story.
func (l *Life) say(format string, args ...any) {
	if l.telling {
		l.story = append(l.story, fmt.Sprintf("%-9s ", l.now.Sub(start))+fmt.Sprintf(format, args...))
	}
}

// hire starts an operator.
func (l *Life) hire() {
	l.born++
	o := newOperator(l, fmt.Sprintf("operator %d", l.born))
	l.say("%s: starts", o.name)
	l.operators = append(l.operators, o)
}

// dismiss kills an operator.
func (l *Life) dismiss(o *operator) {
	o.kill()
	l.operators = slices.DeleteFunc(l.operators, func(x *operator) bool { return x == o })
}

// step is one step of the troubled part of a life.
func (l *Life) step() {
	t := l.tape
	l.now = l.now.Add(pickOf(t, 300*time.Millisecond, 0, 0, time.Second, 2*time.Second)) // much happens within one second
	if t.Chance(100) {
		l.now = l.now.Add(time.Duration(1+t.Pick(10)) * time.Minute)
	}
	l.podTrouble()
	if l.meddling {
		l.users()
	}
	l.legislate()
	l.kueue()
	l.admin()
	if t.Chance(3) {
		l.api.collect()
	}
	if len(l.late) > 0 && t.Chance(20) {
		l.late[0]()
		l.late = l.late[1:]
	}
	for _, o := range slices.Clone(l.operators) {
		l.operate(o)
	}
	if len(l.operators) == 0 && t.Pick(4) > 0 || l.two && len(l.operators) == 1 && t.Chance(10) {
		l.hire()
	}
}

// operate lets an operator see and do a part of what there is, and perhaps die of it.
func (l *Life) operate(o *operator) {
	t := l.tape
	for _, kind := range l.kinds {
		if len(l.api.trails[kind]) > o.caches[kind].seen && t.Pick(3) < 2 {
			o.sync(kind, o.caches[kind].seen+pickOf(t, 1000, 1, 2, 3))
		}
	}
	o.begin()
	for _, p := range slices.Clone(o.reconciles) {
		for range 1 + t.Pick(4) {
			if p.stalled == 0 && slices.Contains(o.reconciles, p) {
				o.step(p)
			}
		}
		if p.stalled = max(0, p.stalled-1); t.Chance(15) {
			p.stalled = 1 + t.Pick(20)
		}
	}
	switch {
	case t.Chance(60):
		l.dismiss(o)
	case t.Chance(100):
		l.setClock(o)
	}
}

// The fates of a call.
const (
	answered = iota
	lostRequest
	lostAnswer
	throttled
	carriedOutLate
)

func (l *Life) fate() int {
	if !l.trouble {
		return answered
	}
	return max(answered, l.tape.Pick(41)-36)
}

// calmDown ends all trouble. One operator stays, or comes.
func (l *Life) calmDown() {
	l.powerFailure()
	l.say("calm: no more trouble")
	l.unbuild()
	l.trouble = false
	for _, call := range l.late {
		call()
	}
	for len(l.operators) > 1 {
		l.dismiss(l.operators[1])
	}
	if len(l.operators) == 0 {
		l.hire()
	}
	l.operators[0].skew = 0
	if l.framework != nil && l.framework.editions != nil {
		l.operators[0].define(l.edition)
	}
	for node := range l.lost {
		l.lost[node] = false
	}
}

// nap comes to rest with the modes as users left them, while no code ends of its own accord.
func (l *Life) nap() {
	l.napping = true
	l.settle()
	l.truth.rested()
	l.napping = false
}

// settle lets the calm go on until nothing has happened for long.
func (l *Life) settle() {
	for quiet, step := 0, 0; quiet < quietSteps && step < calmSteps; quiet, step = quiet+1, step+1 {
		before := l.api.version
		l.now = l.now.Add(calmStep)
		l.podsCalm()
		l.kueueCalm()
		for range 100 {
			if !l.api.collect() {
				break
			}
		}
		l.drain()
		if l.api.version != before {
			quiet = 0
		}
	}
}

// drain lets the operator see everything and do all that is due: several retries of several calls for each of some pods, but no
// end of them.
func (l *Life) drain() {
	o := l.operators[0]
	for range 400 {
		for _, kind := range l.kinds {
			o.sync(kind, len(l.api.trails[kind]))
		}
		o.begin()
		if len(o.reconciles) == 0 && !l.waitFor(o) {
			return
		}
		for len(o.reconciles) > 0 {
			o.step(o.reconciles[0])
		}
	}
	l.truth.violated("a hot loop", "the operator works without end, in the same moment")
}

// waitFor lets the time pass until the operator's next reconcile is due, if that is soon.
func (l *Life) waitFor(o *operator) bool {
	next := l.now.Add(soon)
	for _, at := range o.queue {
		if at.Before(next) {
			next = at
		}
	}
	waited := next.Before(l.now.Add(soon))
	if waited {
		l.now = next
	}
	return waited
}

// beQuiet looks whether the operator, at rest, writes when it looks at everything again, and when pods change in what it
// has no use for.
func (l *Life) beQuiet() {
	for _, p := range l.api.pods() {
		l.touch(p)
	}
	before, o := l.api.version, l.operators[0]
	for kind := range o.reconcilers {
		o.add(request{kind, jobName}, 0)
	}
	l.drain()
	if l.api.version != before {
		l.truth.violated("axis 2026-02 a quiet job is written", "%d writes", l.api.version-before)
	}
}

// hasDeadline reports whether the job that users see has a deadline.
func (l *Life) hasDeadline() bool {
	job := l.api.get(key{l.user.kind, jobName})
	return job != nil && l.user.deadline(job) != nil
}

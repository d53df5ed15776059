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
	forceAfter   = 5 * time.Minute
)

// start is when lives begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Life is the life of one job, and of those that a user makes in its place.
type Life struct {
	ctx    context.Context
	tape   *Tape
	now    time.Time
	api    *api
	truth  *truth
	kinds  []string
	late   []func()       // calls that are carried out when their clients have given up
	shown  map[string]int // rare states
	policy *policy        // nil for none
	// trouble is true until the calm begins.
	trouble bool

	// The operators.
	operators []*operator
	idle      []*thread
	born      int // operators so far
	writer    *reconcile
	tooLate   bool // it is a call of late that writes

	// The pods.
	evicting map[types.UID]bool // pods whose containers a kubelet has ended, before it says why
	overdue  map[types.UID]bool // pods that a kubelet ends for their deadline, before it says so
	starved  map[types.UID]bool // a process of the container ran out of memory, and it went on
	settling map[types.UID]bool // pods whose containers have ended by themselves, before their kubelet says so with the phase
	wrappers map[types.UID]*wrapper
	// napping is true in a nap, in which no code ends of its own accord.
	napping bool

	// The nodes.
	skew     map[string]time.Duration // by which the clocks of nodes are off
	lost     map[string]bool          // nodes
	flaps    map[string]bool          // nodes that are lost, and soon come back
	lostAt   map[string]time.Time     // when each node was lost last
	wakes    map[string]time.Time     // until when the kubelet of a node says that it is not Ready
	losses   map[string]int           // how often each node was lost
	noFlavor bool                     // somebody has deleted the resource flavor

	// What is drawn once, or set by a miniature.
	user       *trained      // what the user makes
	framework  *trained      // nil if that is a plain GenericJob
	edition    int           // of the definition, if one serves the kind
	stride     int           // which of some ways code goes on in; see stepOf
	beside     string        // what runs in pods beside the code
	bad        string        // the node on which code fails; "" if there is none
	sick       sickness      // of nodes
	tolerates  int64         // for how many seconds the API has pods wait for a lost node; 0: they do not
	nodeLost   time.Duration // the operators' setting NodeLostAfter
	forceAfter time.Duration // the operators' setting ForceReplaceAfter
	most       int           // the operators' setting MostActions
	servers    servers       // the cluster's apiservers
	gate       gate          // of their feature gate for scheduling groups, until the calm
	oldKubelet bool          // which knows of no container that is to be started again
	meddling   bool          // users edit, pause, delete and delete pods
	two        bool          // two operators may both believe to lead
	hangs      bool          // in the calm, code never ends by itself if the job has a deadline
	strict     bool          // policies and webhooks come and go
	strips     bool          // users may strip pods of their finalizers
	slow       bool          // code that is asked to stop mostly takes its grace period
	rare       bool          // pods have rare ends and states, too

	// What is told and explored.
	telling   bool
	story     []string
	miniature *Miniature   // nil for a life that is drawn at random
	worked    map[work]int // steps for which code has run
	states    []uint64     // of the API, after each step
	before    int          // the version of the API before the last step
}

// Live lives a life from a tape. The story is written if tell is true.
func Live(ctx context.Context, tape *Tape, tell bool) *Life {
	l := newLife(ctx, tape, tell)
	l.user = plain
	if n := tape.Pick(7); n > 2 {
		l.framework = frameworks[n-3]
		l.user = l.framework
	}
	l.tolerates = []int64{0, 0, 60, 300}[tape.spareOf(7, 4)]
	l.stride = []int{0, 1, stuckStride, stuckStride}[tape.spareOf(7, 4)]
	l.nodeLost = []time.Duration{0, 0, 0, 10 * time.Second}[tape.spareOf(28, 4)]
	l.bad = badNodes[tape.spareOf(112, 3)]
	l.begin()
	// Half the jobs are left alone by their users: in those, counts must agree to the last failure.
	l.meddling, l.two = tape.Chance(2), tape.Chance(2)
	l.hangs = tape.Chance(2)
	l.forceAfter = pickOf(tape, forceAfter, 0)
	l.beside = pickOf(tape, alone, alone, injected, native)
	l.most = pickOf(tape, 0, 2, 1)
	l.sick = drawSickness(tape)
	l.strict, l.strips, l.slow = tape.Chance(3), tape.Chance(5), tape.Chance(2)
	l.drawVersions()
	l.hire()
	steps := pickOf(tape, troubleSteps, troubleSteps, troubleSteps, fewSteps)
	l.rare = tape.spare(4, 4)
	if l.rare && tape.spare(16, 2) {
		l.setNodesClocks()
	}
	for range steps {
		l.step()
	}
	l.conclude()
	return l
}

func newLife(ctx context.Context, tape *Tape, tell bool) *Life {
	return &Life{
		ctx:      ctx,
		tape:     tape,
		now:      start,
		lost:     map[string]bool{},
		flaps:    map[string]bool{},
		lostAt:   map[string]time.Time{},
		wakes:    map[string]time.Time{},
		losses:   map[string]int{},
		evicting: map[types.UID]bool{},
		settling: map[types.UID]bool{},
		overdue:  map[types.UID]bool{},
		shown:    map[string]int{},
		starved:  map[types.UID]bool{},
		wrappers: map[types.UID]*wrapper{},
		trouble:  true,
		telling:  tell,
	}
}

// begin makes the cluster, and has the user create the job.
func (l *Life) begin() {
	l.kinds = kindsOf(l.user)
	l.api = &api{life: l, objects: map[key]client.Object{}, trails: map[string][]change{}, fresh: map[types.UID]string{}}
	l.truth = newTruth(l)
	l.apply()
}

// conclude is the calm in which everything must come to rest.
func (l *Life) conclude() {
	l.calmDown()
	l.obey()
	if l.meddling && l.tape.Due(2) {
		l.nap()
	}
	l.calmUsers()
	l.settle()
	l.truth.settled()
	l.beQuiet()
	for _, o := range l.operators {
		o.kill() // its reconciles are on threads, which must not outlive the life
	}
	for _, t := range l.idle {
		t.stop()
	}
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
	l.pass(l.stepTime())
	if t.Chance(100) {
		l.pass(time.Duration(1+t.choose(10, 9, 0)) * time.Minute)
	}
	l.podTrouble()
	if l.meddling {
		l.users()
	}
	l.legislate()
	l.kueue()
	l.admin()
	if t.DueIf(t.schedule != nil && l.hasGarbage(), 3) {
		l.api.collect()
	}
	if len(l.late) > 0 && t.Chance(20) {
		l.late[0]()
		l.late = l.late[1:]
	}
	for _, o := range slices.Clone(l.operators) {
		l.operate(o)
	}
	l.hireAnother()
}

// hireAnother starts an operator where there is none, or one of two.
func (l *Life) hireAnother() {
	if len(l.operators) == 0 && l.tape.choose(4, 3, 0) > 0 || l.two && len(l.operators) == 1 && l.tape.Due(10) {
		l.hire()
	}
}

// operate lets an operator see and do a part of what there is, and perhaps die of it.
func (l *Life) operate(o *operator) {
	t := l.tape
	o.watch()
	o.begin()
	for _, p := range slices.Clone(o.reconciles) {
		for range 1 + t.choose(4, toItsEnd) {
			if p.stalled > 0 || !slices.Contains(o.reconciles, p) || l.interrupts(o, p) {
				break
			}
			o.step(p)
		}
		if p.stalled = max(0, p.stalled-1); t.choose(15, 0) == 14 {
			p.stalled = 1 + t.Pick(20)
		}
	}
	switch {
	case !slices.Contains(l.operators, o): // it has died in a call
	case t.Chance(60):
		l.dismiss(o)
	case t.Chance(100):
		l.setClock(o)
	}
}

// hasDeadline reports whether the job that users see has a deadline.
func (l *Life) hasDeadline() bool {
	job := l.api.get(key{l.user.kind, jobName})
	return job != nil && l.user.deadline(job) != nil
}

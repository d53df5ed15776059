package simulator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/controllers/badnodes"
	"github.com/genericjob/genericjob/controllers/jobs"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/kernel"
)

// operator is one process of the operator: its caches, its queues and its reconcilers.
type operator struct {
	life       *Life
	name       string
	skew       time.Duration // of its clock
	caches     map[string]*informer
	queue      map[request]time.Time // when a reconcile is due
	failed     map[request]int       // reconciles that failed in a row
	reconciles []*reconcile          // under way

	nodeStore   *badnodes.Store
	sick        map[string]bool // nodes of whose condition it knows
	seen        int             // changes of these
	genericJobs jobs.Controller
	counts      *metrics.Counts
	answered    sums                 // what the API has told this process that it has done for it
	training    *training.Reconciler // what the revisions of a definition have in common
	defined     *training.Revised
	edition     int // that it compiles new jobs by
	reconcilers map[string]func(context.Context, ctrl.Request) (ctrl.Result, error)
	goesOn      *reconcile // that runs at this moment
	late        map[underway]map[types.UID]inplace.Report
}

// informer is the cache of one kind.
type informer struct {
	seen    int // changes of the trail that the cache has seen
	objects map[key]client.Object
}

// request asks for a reconcile of one controller over one object.
type request struct{ kind, name string }

// reconcile is a reconcile under way. It stops before each call of the API.
type reconcile struct {
	request
	operator *operator
	thread   *thread
	result   ctrl.Result
	err      error
	earliest time.Time       // of what the operator's clock said when this reconcile read it: it may be set meanwhile
	latest   time.Time       // of the same
	skew     time.Duration   // of the operator's clock when it began
	stalled  int             // steps for which its call stays under way
	admitted bool            // Kueue had admitted the job when this reconcile last looked
	fenced   string          // the resourceVersion of the job that was last known to be current in this reconcile
	seen     int             // changes of conditions of nodes that the operator knew when it began
	silent   map[string]look // nodes that were not Ready when this reconcile looked
	rebooted []*corev1.Pod   // pods that it has listed whose nodes did not know how their code had ended
}

type reconcileKey struct{} // of a context

// newOperator starts a process. What its caches list first may be old, each kind as old as it likes.
func newOperator(l *Life, name string) *operator {
	o := &operator{life: l, name: name, counts: metrics.New(), queue: map[request]time.Time{}, failed: map[request]int{}, caches: map[string]*informer{}, late: map[underway]map[types.UID]inplace.Report{}}
	o.nodeStore, o.sick = o.newNodeStore(), map[string]bool{}
	settings := kernel.Settings{ForceReplaceAfter: l.forceAfter, NodeLostAfter: l.nodeLost, WrapperImage: "wrapper"}
	generic := jobs.Reconciler{
		Client: &cached{operator: o}, Live: &live{operator: o}, Recorder: &recorder{l}, Clock: o, Settings: settings,
		MostActions: l.most, AtOnce: l.shuffled, Counts: o.counts, Reports: o.reports, Push: o.push, Version: o.version, BadNodes: o.nodeStore,
	}
	o.genericJobs = generic.Controller()
	o.listOthers()
	o.reconcilers = map[string]func(context.Context, ctrl.Request) (ctrl.Result, error){v1beta1.KindGenericJob: o.genericJobs.Reconciler.Reconcile}
	if f := l.framework; f != nil {
		reconciler := &training.Reconciler{
			Registration: f.registration, Client: generic.Client, Live: generic.Live, Recorder: generic.Recorder, Clock: o,
			Kind: f.group.WithKind(f.kind), Counts: o.counts, Memory: &training.Memory{},
		}
		o.reconcilers[f.kind] = reconciler.Reconcile
		if f.editions != nil {
			o.training, o.defined = reconciler, &training.Revised{Cache: generic.Client}
			o.define(l.edition)
			o.reconcilers[f.kind] = o.defined.Reconcile
		}
	}
	for _, kind := range l.kinds {
		o.caches[kind] = &informer{objects: map[key]client.Object{}}
		o.sync(kind, len(l.api.trails[kind])-l.tape.choose(12, missed(len(l.api.trails[kind]))...))
	}
	return o
}

// Now and Since make the operator its own clock.
func (o *operator) Now() time.Time {
	now := o.life.now.Add(o.skew)
	if p := o.goesOn; p != nil && now.Before(p.earliest) {
		p.earliest = now
	} else if p != nil && now.After(p.latest) {
		p.latest = now
	}
	return now
}

// Since is how long ago t was by the operator's clock.
func (o *operator) Since(t time.Time) time.Duration { return o.Now().Sub(t) }

// sync lets the cache of a kind see its trail up to a change, and queues the reconciles that follow from that.
func (o *operator) sync(kind string, upTo int) {
	c, trail := o.caches[kind], o.life.api.trails[kind]
	for ; c.seen < min(upTo, len(trail)); c.seen++ {
		ch := trail[c.seen]
		was := c.objects[ch.key]
		delete(c.objects, ch.key)
		if ch.cached != nil {
			c.objects[ch.key] = ch.cached
		}
		o.notice(was, ch)
	}
}

// add has a reconcile made after a while, or sooner if that is planned already.
func (o *operator) add(r request, after time.Duration) {
	at := o.life.now.Add(after)
	if due, ok := o.queue[r]; !ok || at.Before(due) {
		o.queue[r] = at
	}
}

// watch lets the cache of each kind see a part of what is new.
func (o *operator) watch() {
	t := o.life.tape
	for _, kind := range o.life.kinds {
		if o.news(kind) > 0 && t.choose(3, 0, 2) < 2 {
			o.sync(kind, o.caches[kind].seen+[]int{1000, 1, 2, 3}[t.choose(4, ifDiffers(o.news(kind) > 1, 0, 1)...)])
		}
	}
}

// lag lets the caches move on between two reads of a reconcile.
func (o *operator) lag() {
	if l := o.life; l.trouble && l.tape.ChanceIf(l.tape.schedule != nil && len(o.lagging()) > 0, 6) {
		kind := l.kinds[l.tape.choose(len(l.kinds), o.lagging()...)]
		o.sync(kind, o.caches[kind].seen+1+l.tape.choose(3, ifDiffers(o.news(kind) > 1, 2, 0)...))
	}
}

// begin starts the reconciles that are due.
func (o *operator) begin() {
	o.seeNodes()
	for _, r := range o.due() {
		delete(o.queue, r)
		p := &reconcile{request: r, operator: o, earliest: o.Now(), latest: o.Now(), skew: o.skew, seen: o.seen}
		p.thread = o.life.thread(p.run)
		o.reconciles = append(o.reconciles, p)
	}
}

// due are the requests whose time has come, and of which no reconcile is under way.
func (o *operator) due() []request {
	var list []request
	for r, at := range o.queue {
		busy := slices.ContainsFunc(o.reconciles, func(p *reconcile) bool { return p.request == r })
		if !busy && !at.After(o.life.now) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b request) int { return strings.Compare(a.kind, b.kind) })
	return list
}

// run is the body of a reconcile.
func (p *reconcile) run() {
	ctx := context.WithValue(p.operator.life.ctx, reconcileKey{}, p)
	ctx = log.IntoContext(ctx, logr.Discard())
	req := ctrl.Request{}
	req.Namespace, req.Name = namespace, p.name
	p.result, p.err = p.operator.reconcilers[p.kind](ctx, req)
}

// step lets a reconcile go on to its next call of the API, or to its end.
func (o *operator) step(p *reconcile) {
	o.goesOn = p
	ended := p.thread.resume()
	o.goesOn = nil
	if !ended {
		return
	}
	o.reconciles = slices.DeleteFunc(o.reconciles, func(q *reconcile) bool { return q == p })
	switch {
	case p.err != nil:
		o.failed[p.request]++
		o.add(p.request, min(20*time.Millisecond<<min(o.failed[p.request], 12), time.Minute))
	case p.result.RequeueAfter > 0:
		delete(o.failed, p.request)
		o.add(p.request, p.result.RequeueAfter)
	default:
		delete(o.failed, p.request)
	}
}

// shuffled makes calls one after the other that the operator makes at once, in an order that is drawn. After one that
// failed those that were under way go on. All says that none was left out.
func (l *Life) shuffled(n int, f func(int) error) (all bool) {
	first, left := 0, n
	if l.trouble && n > 1 {
		first = l.tape.Pick(min(n, 256))
	}
	failed := false
	for i := range n {
		if left == 0 {
			return false
		}
		left--
		if err := f((first + i) % n); err != nil && !failed {
			failed, left = true, min(left, l.tape.choose(4, ifDiffers(left > 0, 3, 0)...))
		}
	}
	return true
}

// kill ends the process with all its reconciles, wherever they are.
func (o *operator) kill() {
	o.life.say("%s: is killed with %d reconciles under way", o.name, len(o.reconciles))
	for _, p := range o.reconciles {
		p.thread.stop()
	}
	o.reconciles = nil
	o.life.truth.counted(o)
}

// recorder counts events.
type recorder struct{ life *Life }

// Eventf notes an event about an object.
func (r *recorder) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	o, ok := regarding.(client.Object)
	if !ok { // it is of a training job, told of its GenericJob
		o = r.life.api.get(key{v1beta1.KindGenericJob, jobName})
	}
	if o != nil {
		r.life.truth.event(o, reason, fmt.Sprintf(note, args...))
	}
}

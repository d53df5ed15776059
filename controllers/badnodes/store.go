package badnodes

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/text"
)

// maxMessage is how long a text may be that a status has of a node, as the CRD says.
const maxMessage = 300

// Options are what an installation may set. With the zero value no problem of any node is known.
type Options struct {
	// Conditions speak against nodes that have one of them.
	Conditions []Condition
	// AcrossJobs says that a failure which one job records also counts against its node in other jobs.
	AcrossJobs bool
}

// Store is what is known of nodes. It may be used by several goroutines. A nil Store knows nothing.
type Store struct {
	options Options

	mu         sync.Mutex
	conditions map[string]ledger.NodeProblem
	bad        []string // the names of nodes in conditions, in order
	seen       sightings
}

// NewStore returns a Store in which nothing is known yet.
func NewStore(o Options) *Store {
	return &Store{
		options: o, conditions: map[string]ledger.NodeProblem{},
		seen: sightings{at: map[string]map[string][]sighting{}, of: map[types.NamespacedName][]place{}},
	}
}

// SeeNode notes the conditions of a node.
func (s *Store) SeeNode(node *corev1.Node) {
	problem, bad := conditionProblem(node, s.options.Conditions)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bad {
		s.forgetNode(node.Name)
		return
	}
	if i, ok := slices.BinarySearch(s.bad, node.Name); !ok {
		s.bad = slices.Insert(s.bad, i, node.Name)
	}
	s.conditions[node.Name] = problem
}

// ForgetNode notes that a node is gone.
func (s *Store) ForgetNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetNode(name)
}

func (s *Store) forgetNode(name string) {
	if i, ok := slices.BinarySearch(s.bad, name); ok {
		s.bad = slices.Delete(s.bad, i, i+1)
	}
	delete(s.conditions, name)
}

// Nodes notes what events of nodes show. It leads to no reconcile: only new pods avoid a node, and whoever makes one looks.
func (s *Store) Nodes() handler.EventHandler {
	see := func(o client.Object) {
		if node, ok := o.(*corev1.Node); ok {
			s.SeeNode(node)
		}
	}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, _ queue) { see(e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, _ queue) { see(e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) { s.ForgetNode(e.Object.GetName()) },
	}
}

// SeeJobs returns a predicate that notes what each event of a job shows, and lets those pass that another does.
func (s *Store) SeeJobs(next predicate.Predicate) predicate.Predicate {
	if s == nil || !s.options.AcrossJobs {
		return next
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { s.seeJob(e.Object, false); return next.Create(e) },
		UpdateFunc:  func(e event.UpdateEvent) bool { s.seeJob(e.ObjectNew, false); return next.Update(e) },
		DeleteFunc:  func(e event.DeleteEvent) bool { s.seeJob(e.Object, true); return next.Delete(e) },
		GenericFunc: next.Generic,
	}
}

func (s *Store) seeJob(o any, isGone bool) {
	job, ok := o.(*v1beta1.GenericJob)
	if !ok {
		return
	}
	var tells map[place]sighting
	if !isGone && !compact.IsForeign(job) { // the nodes of such a job are another cluster's
		tells = sightingsOf(job)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.set(types.NamespacedName{Namespace: job.Namespace, Name: job.Name}, tells)
}

// ProblemsFor returns what speaks against nodes for a job, beside what it has recorded itself. First come conditions, then failures of other jobs of
// its namespace, and then lost nodes.
func (s *Store) ProblemsFor(job *v1beta1.GenericJob) (list []ledger.NodeProblem) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range s.conditionsFor(job) {
		list = append(list, s.conditions[node])
	}
	self := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	for _, namespace := range []string{job.Namespace, everywhere} {
		nodes := s.seen.at[namespace]
		for _, node := range slices.Sorted(maps.Keys(nodes)) {
			if problem, ok := sightedProblem(nodes[node], self, node); ok {
				list = append(list, problem)
			}
		}
	}
	return list
}

// mostAvoided is how many nodes a job may avoid for what speaks against them.
const mostAvoided = 16

// conditionsFor returns the nodes whose conditions a job needs to know: those that it avoids, and as many as it may avoid. All nodes of a large
// cluster may have one.
func (s *Store) conditionsFor(job *v1beta1.GenericJob) (names []string) {
	for _, n := range job.Status.AvoidedNodes {
		if _, ok := s.conditions[n.Node]; ok {
			names = append(names, n.Node)
		}
	}
	avoided := names
	for _, node := range s.bad[:min(len(s.bad), mostAvoided)] {
		if !slices.Contains(avoided, node) {
			names = append(names, node)
		}
	}
	return names
}

// sightedProblem returns what other jobs tell of a node. Of a lost node it names no job, for that may be of another tenant.
func sightedProblem(list []sighting, self types.NamespacedName, node string) (problem ledger.NodeProblem, ok bool) {
	problem.Node = node
	for _, s := range list {
		if s.job == self {
			continue
		}
		problem.Times = append(problem.Times, metav1.NewTime(s.at))
		problem.Reason, problem.Message = s.reason, "it did not answer, and another job had pods there"
		if s.reason != v1beta1.AvoidLost {
			problem.Message = "in job " + s.job.Name + ": " + s.message
		}
	}
	problem.Message = text.Cut(problem.Message, maxMessage)
	return problem, len(problem.Times) > 0
}

package badnodes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
)

const (
	// mostPlaces is how many places are kept, and mostOfOne how many of one namespace. If there are more, the namespace with most places loses its
	// oldest one, so that no tenant takes the room of the others.
	mostPlaces, mostOfOne = 1000, 100
	// mostSightings is how many sightings of one place are kept: the last ones, and one of each lost node. A policy counts at most one less, because one
	// may be of the job that asks.
	mostSightings = 11
)

// everywhere is the namespace of lost nodes, which count for all jobs. No tenant can fake one by what its code prints, or by its exit code. Who may
// write statuses can.
const everywhere = ""

// place is a node as jobs of one namespace see it, or all jobs do.
type place struct{ namespace, node string }

// sighting is what one job tells of a place: what happened there last.
type sighting struct {
	job     types.NamespacedName
	at      time.Time
	reason  v1beta1.AvoidReason
	message string
}

// sightingsOf returns what a job tells of nodes, by place. Each lost node counts everywhere. Of all other failures, the code or the template may be
// the cause. So they count in the job's own namespace only, and only for the node that had most of them. Of one node the job tells only the last
// failure.
func sightingsOf(job *v1beta1.GenericJob) map[place]sighting {
	var found map[place]sighting
	add := func(namespace string, n *v1beta1.NodeFailures) {
		if found == nil {
			found = map[place]sighting{}
		}
		found[place{namespace, n.Node}] = sighting{types.NamespacedName{Namespace: job.Namespace, Name: job.Name}, last(n), n.Reason, n.Message}
	}
	var worst *v1beta1.NodeFailures
	for i := range job.Status.NodeFailures {
		switch n := &job.Status.NodeFailures[i]; {
		case len(n.Times) == 0:
		case n.Reason == v1beta1.AvoidLost:
			add(everywhere, n)
		case worst == nil || isWorse(n, worst):
			worst = n
		}
	}
	if worst != nil {
		add(job.Namespace, worst)
	}
	return found
}

func last(n *v1beta1.NodeFailures) time.Time { return n.Times[len(n.Times)-1].Time }

func isWorse(a, b *v1beta1.NodeFailures) bool {
	return cmp.Or(cmp.Compare(len(a.Times), len(b.Times)), last(a).Compare(last(b)), strings.Compare(b.Node, a.Node)) > 0
}

// sightings are those of all jobs.
type sightings struct {
	at    map[string]map[string][]sighting // by namespace and node, the oldest first
	of    map[types.NamespacedName][]place // where each job has some
	count int                              // of places
}

// set has a job tell these, and nothing else.
func (s *sightings) set(job types.NamespacedName, tells map[place]sighting) {
	for _, p := range s.of[job] {
		s.replace(p, slices.DeleteFunc(s.at[p.namespace][p.node], func(have sighting) bool { return have.job == job }))
	}
	delete(s.of, job)
	for p, tell := range tells {
		list := append(s.at[p.namespace][p.node], tell)
		slices.SortFunc(list, func(a, b sighting) int {
			return cmp.Or(a.at.Compare(b.at), strings.Compare(a.job.String(), b.job.String()))
		})
		s.replace(p, list)
		s.of[job] = append(s.of[job], p)
		for len(s.at[p.namespace][p.node]) > mostSightings {
			s.forget(p, spare(p, s.at[p.namespace][p.node]))
		}
	}
	for p := range tells {
		for len(s.at[p.namespace]) > mostOfOne {
			s.forgetOldest(p.namespace)
		}
	}
	for s.count > mostPlaces {
		s.forgetOldest(s.fullest())
	}
}

// replace stores the sightings of a place.
func (s *sightings) replace(p place, list []sighting) {
	nodes := s.at[p.namespace]
	if nodes == nil {
		nodes = map[string][]sighting{}
		s.at[p.namespace] = nodes
	}
	s.count -= len(nodes)
	if len(list) > 0 {
		nodes[p.node] = list
	} else {
		delete(nodes, p.node)
	}
	s.count += len(nodes)
	if len(nodes) == 0 {
		delete(s.at, p.namespace)
	}
}

// spare returns which sighting of a place is forgotten first: one of a lost node that another sighting tells of, too, or else the oldest.
func spare(p place, list []sighting) int {
	for i := 1; p.namespace == everywhere && i < len(list); i++ {
		if list[i].at.Sub(list[i-1].at) < ledger.SameNodeLoss {
			return i
		}
	}
	return 0
}

// forget forgets a sighting of a place.
func (s *sightings) forget(p place, i int) {
	list := s.at[p.namespace][p.node]
	job := list[i].job
	s.of[job] = slices.DeleteFunc(s.of[job], func(of place) bool { return of == p })
	if len(s.of[job]) == 0 {
		delete(s.of, job)
	}
	s.replace(p, slices.Delete(list, i, i+1))
}

// fullest returns the namespace of which most places are kept. Lost nodes count for all, so they stay.
func (s *sightings) fullest() (namespace string) {
	for ns, nodes := range s.at {
		if n, most := len(nodes), len(s.at[namespace]); ns != everywhere && (namespace == everywhere || n > most || n == most && ns < namespace) {
			namespace = ns
		}
	}
	return namespace
}

// forgetOldest forgets the place of a namespace of which nothing has been told for the longest time.
func (s *sightings) forgetOldest(namespace string) {
	var oldest string
	var at time.Time
	for node, list := range s.at[namespace] {
		told := list[len(list)-1].at
		if oldest == "" || cmp.Or(told.Compare(at), strings.Compare(node, oldest)) < 0 {
			oldest, at = node, told
		}
	}
	for p := (place{namespace, oldest}); len(s.at[namespace][oldest]) > 0; {
		s.forget(p, 0)
	}
}

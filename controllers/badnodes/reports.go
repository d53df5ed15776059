package badnodes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const (
	// mostPlaces is of how many nodes reports are kept, and mostOfOne of how many of one namespace: no tenant takes the room of the others.
	mostPlaces, mostOfOne = 1000, 100
	// mostReports is how many are kept of one place, the last. A policy may count one less; one may be of the job that asks.
	mostReports = 11
)

// everywhere is where losses count: no tenant can make a node be lost by what it prints or exits with.
const everywhere = ""

// place is a node as jobs of one namespace see it, or all jobs do.
type place struct{ namespace, node string }

// report is what one job tells of a place: what happened there last.
type report struct {
	job     types.NamespacedName
	at      time.Time
	reason  v1beta1.AvoidReason
	message string
}

// reportsOf are the reports of a job. What its code, or its template, may be the cause of speaks against one node at most, the one on which that happened most often.
// It does in the job's own namespace alone. What happened earlier on a node is left out: each job has one voice there.
func reportsOf(job *v1beta1.GenericJob) map[place]report {
	var found map[place]report
	add := func(namespace string, n *v1beta1.NodeFailures) {
		if found == nil {
			found = map[place]report{}
		}
		found[place{namespace, n.Node}] = report{types.NamespacedName{Namespace: job.Namespace, Name: job.Name}, last(n), n.Reason, n.Message}
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

// reports are those of all jobs.
type reports struct {
	at    map[string]map[string][]report   // by namespace and node, the oldest first
	of    map[types.NamespacedName][]place // where each job has some
	count int                              // of places
}

// set has a job tell these, and nothing else.
func (r *reports) set(job types.NamespacedName, tells map[place]report) {
	for _, p := range r.of[job] {
		r.replace(p, slices.DeleteFunc(r.at[p.namespace][p.node], func(have report) bool { return have.job == job }))
	}
	delete(r.of, job)
	for p, tell := range tells {
		list := append(r.at[p.namespace][p.node], tell)
		slices.SortFunc(list, func(a, b report) int {
			return cmp.Or(a.at.Compare(b.at), strings.Compare(a.job.String(), b.job.String()))
		})
		r.replace(p, list)
		r.of[job] = append(r.of[job], p)
		for len(r.at[p.namespace][p.node]) > mostReports {
			r.forgetFirst(p)
		}
	}
	for p := range tells {
		for len(r.at[p.namespace]) > mostOfOne {
			r.forgetOldest(p.namespace)
		}
	}
	for r.count > mostPlaces {
		r.forgetOldest(everyNamespace)
	}
}

// replace stores the reports of a place.
func (r *reports) replace(p place, list []report) {
	_, had := r.at[p.namespace][p.node]
	switch {
	case len(list) > 0 && !had:
		r.count++
		if r.at[p.namespace] == nil {
			r.at[p.namespace] = map[string][]report{}
		}
		fallthrough
	case len(list) > 0:
		r.at[p.namespace][p.node] = list
	case had:
		r.count--
		delete(r.at[p.namespace], p.node)
		if len(r.at[p.namespace]) == 0 {
			delete(r.at, p.namespace)
		}
	}
}

// forgetFirst forgets the oldest report of a place.
func (r *reports) forgetFirst(p place) {
	list := r.at[p.namespace][p.node]
	job := list[0].job
	r.of[job] = slices.DeleteFunc(r.of[job], func(of place) bool { return of == p })
	if len(r.of[job]) == 0 {
		delete(r.of, job)
	}
	r.replace(p, slices.Delete(list, 0, 1))
}

// everyNamespace stands for all namespaces; no namespace has this name.
const everyNamespace = "*"

// forgetOldest forgets the place of a namespace of which nothing has been told for the longest time.
func (r *reports) forgetOldest(namespace string) {
	var oldest place
	var at time.Time
	for ns, nodes := range r.at {
		for node, list := range nodes {
			p, told := place{ns, node}, list[len(list)-1].at
			if (namespace == ns || namespace == everyNamespace) && (oldest == place{} || older(told, p, at, oldest)) {
				oldest, at = p, told
			}
		}
	}
	for len(r.at[oldest.namespace][oldest.node]) > 0 {
		r.forgetFirst(oldest)
	}
}

// older orders places by when something was told of them.
func older(at time.Time, p place, than time.Time, q place) bool {
	return cmp.Or(at.Compare(than), strings.Compare(p.namespace, q.namespace), strings.Compare(p.node, q.node)) < 0
}

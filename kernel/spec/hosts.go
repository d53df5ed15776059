package spec

import (
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// maxHosts is how many bytes a list of hosts may have: Linux takes no argument of 128 KiB.
const maxHosts = 100_000

func (e *Expander) hosts(name, replicaType string) (value string, known bool, problem string) {
	n, ok := e.n[replicaType]
	switch {
	case e.job.Spec.Service == nil:
		return "", false, fmt.Sprintf("$(%s) needs host names: set spec.service ({} will do)", name)
	case !ok:
		return "", false, fmt.Sprintf("$(%s) names type %q: want one of %v", name, replicaType, e.types())
	}
	list := e.lists.get(replicaType, func() hostList { return e.listOf(name, replicaType, n) })
	return list.names, list.problem == "", list.problem
}

// listOf makes the list of hosts of a type.
func (e *Expander) listOf(name, replicaType string, n int) hostList {
	var b strings.Builder
	for rank := range n {
		if rank > 0 {
			b.WriteByte(',')
		}
		b.WriteString(v1beta1.HostName(e.job.Name, replicaType, rank))
		if b.Len() > maxHosts {
			return hostList{problem: fmt.Sprintf("$(%s) would have more than %d bytes, which no command takes: make the names from $(replicas[%s])", name, maxHosts, replicaType)}
		}
	}
	return hostList{names: b.String()}
}

// hostLists are the lists that were made: a template may name each thousands of times, and many pods are made at once.
type hostLists struct {
	mu sync.Mutex
	of map[string]hostList // by type
}

// hostList are the hosts of a type, or why there is no list of them.
type hostList struct{ names, problem string }

func (l *hostLists) get(replicaType string, list func() hostList) hostList {
	l.mu.Lock()
	defer l.mu.Unlock()
	have, ok := l.of[replicaType]
	if !ok {
		have = list()
		l.of[replicaType] = have
	}
	return have
}

// MaxAdded is how many bytes variables may add to all texts of a pod: no apiserver reads a larger request. A few kilobytes of variables
// could stand for gigabytes.
const MaxAdded = 3 << 20

const tooLong = "variables stand for more than 3 MiB of text in one pod, which no cluster takes: name fewer hosts, or make their names in the container from $(replicas[<type>])"

// ExpandAll replaces the variables in all texts of a pod. Beyond MaxAdded it leaves them as they are: every apiserver refuses such a pod for
// its size.
func (e *Expander) ExpandAll(pod *corev1.PodSpec, r Replica) {
	added := 0
	EachText(pod, func(_ *corev1.Container, text *string) {
		if added <= MaxAdded {
			before := len(*text)
			*text, _ = e.Expand(*text, r)
			added += max(0, len(*text)-before)
		}
	})
}

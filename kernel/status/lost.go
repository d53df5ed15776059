package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/genericjob/genericjob/kernel/ending"
)

// lostNodes are the nodes of running replicas that are not Ready.
type lostNodes struct {
	first  *ending.NodeLoss // of the first such replica
	until  time.Time        // when the first of its node is deleted; zero if all wait without a limit
	names  []string         // of some replicas of that node
	number int              // how many it has
	others map[string]bool  // other such nodes
}

// add takes a running replica into account.
func (l *lostNodes) add(kind string, rank int, lost *ending.NodeLoss) {
	switch {
	case lost == nil:
		return
	case l.first == nil:
		l.first, l.until = lost, lost.Until
	case lost.Node != l.first.Node:
		if l.others == nil {
			l.others = map[string]bool{}
		}
		l.others[lost.Node] = true
		return
	case !lost.Until.IsZero() && (l.until.IsZero() || lost.Until.Before(l.until)):
		l.until = lost.Until
	}
	l.number++
	if len(l.names) < mostNamed {
		l.names = append(l.names, fmt.Sprintf("%s-%d", kind, rank))
	}
}

// String says which node is not Ready since when, which replicas it has, and what follows; "" if all are Ready.
func (l *lostNodes) String() string {
	if l.first == nil {
		return ""
	}
	who := "replica " + l.names[0] + " runs"
	if l.number > 1 {
		who = "replicas " + strings.Join(l.names, ", ") + " run"
	}
	if more := l.number - len(l.names); more > 0 {
		who = fmt.Sprintf("replicas %s and %d more run", strings.Join(l.names, ", "), more)
	}
	out := fmt.Sprintf("Node %s is not Ready since %s: nobody knows whether %s.", l.first.Node, stamp(l.first.Since), who)
	if l.until.IsZero() {
		out += " Its pods tolerate that without a limit: if the node does not come back, delete them."
	} else {
		out += fmt.Sprintf(" If it stays so, Kubernetes deletes its pods from %s on, which counts as a disruption.", stamp(l.until))
	}
	switch len(l.others) {
	case 0:
		return out
	case 1:
		return out + " Another node with replicas of the job is not Ready, too."
	default:
		return out + fmt.Sprintf(" %d other nodes with replicas of the job are not Ready, too.", len(l.others))
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

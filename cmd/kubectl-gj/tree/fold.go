package tree

import (
	"fmt"
	"strings"
)

const (
	// many is the number of pods from which neighbours of which the same is to be said share a line.
	many = 20
	// alike is the number of neighbours from which they do.
	alike = 4
)

// Fold has neighbours of which the same is to be said share a line, in a job of many pods.
func Fold(b Branch) Branch {
	var folded []Branch
	for _, child := range b.Branches {
		folded = append(folded, Fold(child))
	}
	b.Branches = folded
	if len(folded) <= many {
		return b
	}
	b.Branches = nil
	for len(folded) > 0 {
		n := 1
		for n < len(folded) && same(folded[0], folded[n]) {
			n++
		}
		if n < alike {
			b.Branches = append(b.Branches, folded[:n]...)
		} else {
			b.Branches = append(b.Branches, merge(folded[:n]))
		}
		folded = folded[n:]
	}
	return b
}

// same reports whether two replicas of a type are to be described in the same words.
func same(a, b Branch) bool {
	typeA, _ := cutRank(a.Replica)
	typeB, _ := cutRank(b.Replica)
	return a.Replica != "" && typeA == typeB && a.Phase == b.Phase && a.Restarts == b.Restarts && a.Uncounted == b.Uncounted && a.WithJob == b.WithJob && a.More == b.More && a.PerhapsMore == b.PerhapsMore && a.Why == b.Why
}

// merge makes one line of several.
func merge(list []Branch) Branch {
	out, last := list[0], list[len(list)-1]
	name, from := cutRank(out.Name)
	_, to := cutRank(last.Name)
	out.Name = fmt.Sprintf("%s-[%s-%s]", name, from, to)
	replicaType, _ := cutRank(out.Replica)
	out.Replica = fmt.Sprintf("%s-[%s-%s]", replicaType, from, to)
	out.Running = fmt.Sprint(len(list))
	nodes := map[string]bool{}
	for _, b := range list {
		nodes[b.Node] = true
	}
	if delete(nodes, ""); len(nodes) > 1 {
		out.Node = fmt.Sprintf("%d nodes", len(nodes))
	}
	return out
}

// cutRank cuts a name at its rank.
func cutRank(name string) (before, rank string) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return name, ""
	}
	return name[:i], name[i+1:]
}

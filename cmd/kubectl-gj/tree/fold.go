package tree

import (
	"fmt"
	"slices"
	"strconv"
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
	out := list[0]
	var ranks []int
	for _, b := range list {
		_, rank := cutRank(b.Replica)
		n, _ := strconv.Atoi(rank) // of a replica's name it is a number
		ranks = append(ranks, n)
	}
	name, _ := cutRank(out.Name)
	replicaType, _ := cutRank(out.Replica)
	set := Ranks(ranks)
	out.Name, out.Replica = name+"-"+set, replicaType+"-"+set
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

// mostParts is how many parts of a set of ranks are shown.
const mostParts = 4

// Ranks returns a set of ranks as one reads it, as in [6-9,12-29]. Of many parts it shows the first, and how many ranks the others have.
func Ranks(ranks []int) string {
	ranks = slices.Sorted(slices.Values(ranks))
	var parts []string
	for len(ranks) > 0 && len(parts) < mostParts {
		n := 1
		for n < len(ranks) && ranks[n] == ranks[n-1]+1 {
			n++
		}
		part := strconv.Itoa(ranks[0])
		if n > 1 {
			part += "-" + strconv.Itoa(ranks[n-1])
		}
		parts, ranks = append(parts, part), ranks[n:]
	}
	more := ""
	if len(ranks) > 0 {
		more = fmt.Sprintf(" and %d more", len(ranks))
	}
	return "[" + strings.Join(parts, ",") + more + "]"
}

// cutRank cuts a name at its rank.
func cutRank(name string) (before, rank string) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return name, ""
	}
	return name[:i], name[i+1:]
}

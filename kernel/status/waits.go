package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// waits counts the replicas that cannot start, by reason. A message tells the reason of one replica in full, and others may have other reasons.
type waits struct{ list []wait }

type wait struct {
	reason, first string
	n             int
}

// mostWaits is how many reasons are told.
const mostWaits = 4

// add counts a replica.
func (w *waits) add(reason, replica string) {
	if i := slices.IndexFunc(w.list, func(have wait) bool { return have.reason == reason }); i >= 0 {
		w.list[i].n++
		return
	}
	w.list = append(w.list, wait{reason, replica, 1})
}

// beside says how many replicas wait for each reason. It is "" if only one waits, whose reason is told already.
func (w *waits) beside(told string) string {
	list := slices.Clone(w.list)
	slices.SortStableFunc(list, func(a, b wait) int { return cmp.Compare(b.n, a.n) })
	var parts []string
	for _, o := range list {
		switch {
		case o.reason != told:
			parts = append(parts, fmt.Sprintf("%s: %d, first %s", o.reason, o.n, o.first))
		case o.n > 1:
			parts = slices.Insert(parts, 0, fmt.Sprintf("%s: %d", o.reason, o.n))
		}
	}
	if len(parts) > mostWaits {
		parts = append(parts[:mostWaits], "and others")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (replicas that wait: " + strings.Join(parts, "; ") + ")"
}

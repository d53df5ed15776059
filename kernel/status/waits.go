package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// waits counts the replicas that cannot start, by the reason for that: what is told of one need not be so of all.
type waits struct{ list []wait }

type wait struct {
	reason, first string
	n             int
}

func is(reason, told string) int {
	if reason == told {
		return 1
	}
	return 0
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

// beside says how many replicas wait by each reason. It is "" if there is one alone, whose reason is told already.
func (w *waits) beside(told string) string {
	list := slices.DeleteFunc(slices.Clone(w.list), func(o wait) bool { return o.reason == told && o.n == 1 })
	slices.SortStableFunc(list, func(a, b wait) int {
		return cmp.Or(-cmp.Compare(is(a.reason, told), is(b.reason, told)), cmp.Compare(b.n, a.n))
	})
	var parts []string
	for _, o := range list[:min(len(list), mostWaits)] {
		part := fmt.Sprintf("%s: %d", o.reason, o.n)
		if o.reason != told {
			part += ", first " + o.first
		}
		parts = append(parts, part)
	}
	if len(list) > mostWaits {
		parts = append(parts, "and others")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (replicas that wait: " + strings.Join(parts, "; ") + ")"
}

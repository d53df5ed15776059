package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Rows. In a job of many replicas neighbours of which nothing is reported share one, a band. It shows how many of them were in which state.

const (
	// many is the number of replicas up to which each has a row of its own.
	many = 40
	// mostOwn is how many have one in a larger job: what is reported of more is shown by the symbols of bands.
	mostOwn = 40
	// slots is into how many pieces a band cuts the time.
	slots = 360
)

// row is a replica, or a band of neighbours.
type row struct {
	replicas []replica
	isBand   bool
}

// rows returns the rows of replicas, which come by type and rank.
func rows(list []replica) (out []row) {
	own := 0
	for _, r := range list {
		isOwn := len(list) <= many
		if !isOwn && own < mostOwn && slices.ContainsFunc(r.symbols, func(m symbol) bool { return m.reported }) {
			isOwn = true
			own++
		}
		last := len(out) - 1
		if isOwn || last < 0 || !out[last].isBand || out[last].replicas[0].of != r.of {
			out = append(out, row{replicas: []replica{r}, isBand: !isOwn})
			continue
		}
		out[last].replicas = append(out[last].replicas, r)
	}
	return out
}

// name returns what the row is of, as in worker-[4-99].
func (r row) name() string {
	first, last := r.replicas[0], r.replicas[len(r.replicas)-1]
	if len(r.replicas) == 1 {
		return first.name
	}
	return fmt.Sprintf("%s-[%d-%d]", first.of, first.rank, last.rank)
}

// now returns how many of the row are in which phase, as in "98 Running, 2 Pending".
func (r row) now() string {
	if len(r.replicas) == 1 {
		return r.replicas[0].now
	}
	count := map[string]int{}
	var phases []string
	for _, one := range r.replicas {
		if count[one.now]++; count[one.now] == 1 {
			phases = append(phases, one.now)
		}
	}
	slices.SortStableFunc(phases, func(a, b string) int { return count[b] - count[a] })
	for i, phase := range phases {
		phases[i] = fmt.Sprintf("%d %s", count[phase], phase)
	}
	return strings.Join(phases, ", ")
}

// height returns the height of the row: a band has more, the more replicas it has.
func (r row) height() float64 {
	n := len(r.replicas)
	if n == 1 {
		return 14
	}
	return math.Round(18 + 5*math.Log2(float64(n)))
}

// stacked are the states of replicas from the bottom of a band to its top.
var stacked = []state{stateRunning, stateEarlier, stateRan, stateBarrier, statePending, stateStopping, stateLost}

// share is the part of a band, from below to above, that is in a state in the slots from one to another.
type share struct {
	is           state
	from, to     int
	below, above float64
}

// shares returns how much of a band was in which state. A replica is in a slot what it was in the middle of that.
func (r row) shares(from, to time.Time) (out []share) {
	counts := map[state][]int{}
	for _, is := range stacked {
		counts[is] = make([]int, slots+1)
	}
	for _, one := range r.replicas {
		for _, s := range one.spans {
			if changes := counts[s.is]; changes != nil {
				changes[slot(s.from, from, to)]++
				changes[slot(s.to, from, to)]--
			}
		}
	}
	below := make([]int, slots)
	for _, is := range stacked {
		n, last := 0, -1
		for i := range slots {
			n += counts[is][i]
			lower, upper := float64(below[i])/float64(len(r.replicas)), float64(below[i]+n)/float64(len(r.replicas))
			below[i] += n
			switch {
			case n == 0:
				last = -1
			case last >= 0 && out[last].below == lower && out[last].above == upper:
				out[last].to = i + 1
			default:
				last = len(out)
				out = append(out, share{is, i, i + 1, lower, upper})
			}
		}
	}
	return out
}

// slot returns the number of the first slot whose middle is not before a time.
func slot(t, from, to time.Time) int {
	at := float64(t.Sub(from)) / float64(to.Sub(from)) * slots
	return min(slots, max(0, int(math.Ceil(at-0.5))))
}

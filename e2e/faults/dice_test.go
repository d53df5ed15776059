package faults_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// dice draw from a seed. What they show for a question depends on the seed and the question alone, so that concurrent
// calls do not change each other's luck.
type dice struct {
	seed  int64
	start time.Time

	mu    sync.Mutex
	asked map[string]int
	count map[string]int // faults that happened, by name
}

func newDice(seed int64) *dice {
	return &dice{seed: seed, start: time.Now(), asked: map[string]int{}, count: map[string]int{}}
}

// of is a number from 0 to n-1 for a question.
func (d *dice) of(n int, question ...any) int {
	h := fnv.New64a()
	fmt.Fprint(h, d.seed, question)
	v := h.Sum64()
	v ^= v >> 33
	v *= 0xff51afd7ed558ccd
	v ^= v >> 29
	return int(v % uint64(n))
}

// next is a number from 0 to n-1 for the next time that a question is asked.
func (d *dice) next(n int, question string) int {
	d.mu.Lock()
	d.asked[question]++
	i := d.asked[question]
	d.mu.Unlock()
	return d.of(n, question, i)
}

// happened counts a fault.
func (d *dice) happened(fault string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count[fault]++
}

// times is how often a fault happened.
func (d *dice) times(fault string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count[fault]
}

func (d *dice) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for _, fault := range slices.Sorted(maps.Keys(d.count)) {
		list = append(list, fmt.Sprintf("%s %d", fault, d.count[fault]))
	}
	return strings.Join(list, ", ")
}

// The faults of calls.
const (
	none        = ""
	conflict    = "409"
	tooMany     = "429"
	internal    = "500"
	swallowed   = "swallowed"      // not executed, no answer
	lost        = "answer lost"    // executed, no answer
	late        = "executed late"  // even if the caller is dead by then
	slow        = "answered late"  // executed at once
	stale       = "list of old"    // a list from the past, from where the watch goes on
	unsupported = "no watch-list"  // makes the client list
	gone        = "410"            // the watch's revision is compacted
	cut         = "watch cut"      // in mid-stream
	lagging     = "events delayed" // of one kind, for a while
)

// allFaults must all have happened in a run that is long enough.
var allFaults = []string{conflict, tooMany, internal, swallowed, lost, late, slow, stale, gone, cut, lagging}

// odds are the chances of faults in percent, for writes, reads and the begin of watches.
var (
	writeOdds = []odd{{conflict, 4}, {tooMany, 3}, {internal, 4}, {swallowed, 3}, {lost, 5}, {late, 6}, {slow, 4}}
	readOdds  = []odd{{tooMany, 3}, {internal, 3}, {swallowed, 2}, {slow, 5}}
	watchOdds = []odd{{gone, 12}, {internal, 4}, {tooMany, 3}}
)

type odd struct {
	fault   string
	percent int
}

// fault draws what happens to a call.
func (d *dice) fault(who string, c call) string {
	odds := writeOdds
	switch c.verb {
	case "watch":
		odds = watchOdds
	case "get", "list":
		odds = readOdds
	}
	n := d.next(100, "fault "+who+" "+c.verb+" "+c.kind)
	if c.kind == "leases" {
		n *= 4 // a leader is to be lost now and then, not all the time
	}
	for _, o := range odds {
		if n -= o.percent; n < 0 {
			if o.fault == conflict && c.verb == "create" {
				return none
			}
			return o.fault
		}
	}
	return none
}

// pause draws how long something takes: from 0.2 to 2 seconds.
func (d *dice) pause(question string) time.Duration {
	return time.Duration(200+d.next(1800, question)) * time.Millisecond
}

// lag is how old the events of a kind are at the moment, in the eyes of one manager. Every few seconds it is another time, which is not
// that of other kinds.
func (d *dice) lag(who, kind string) time.Duration {
	epoch := int(time.Since(d.start) / (2500 * time.Millisecond))
	return []time.Duration{0, 0, 0, 0, 200, 800, 2000, 4000}[d.of(8, "lag", who, kind, epoch)] * time.Millisecond
}

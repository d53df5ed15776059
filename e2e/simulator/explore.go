package simulator

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// Exploration lives all lives of a miniature that have at most Most deviations from the healthy one.
type Exploration struct {
	Miniature *Miniature
	Most      int
	Limit     int  // begins no more parts after so many lives; 0 for no limit
	Stop      bool // at the first bad life

	Choices int // of the healthy life
	Parts   int // one for the healthy life, and one for each first deviation
	Lives   int
	States  map[uint64]bool // of the API, after any step of any life
	Found   []Finding
	Left    int // parts that were not lived, for the limit

	done map[Deviation]bool // parts of an earlier run
}

// Part is what became of all lives that have the same first deviation; of the healthy life, that is the zero Deviation.
type Part struct {
	First  Deviation
	Lives  int
	States []uint64
	Found  []Finding `json:",omitempty"`
}

// Finding is a life in which an invariant is broken.
type Finding struct {
	Deviations []Deviation
	Violation  string
}

// NewExploration returns an exploration that has done these parts before.
func NewExploration(s *Miniature, most int, before []Part) *Exploration {
	e := &Exploration{Miniature: s, Most: most, States: map[uint64]bool{}, done: map[Deviation]bool{}}
	for i := range before {
		e.add(&before[i])
	}
	return e
}

// Run explores with so many workers. Keep is told of each part that is done, one at a time.
func (e *Exploration) Run(ctx context.Context, workers int, keep func(*Part)) {
	_, trace := LiveIn(ctx, e.Miniature, nil, false)
	e.Choices = len(trace)
	parts := make(chan Deviation)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for first := range parts {
				p := e.explore(ctx, first)
				mu.Lock()
				e.add(p)
				keep(p)
				mu.Unlock()
			}
		})
	}
	for _, first := range e.parts(trace) {
		mu.Lock()
		full := e.Limit > 0 && e.Lives >= e.Limit || e.Stop && len(e.Found) > 0
		mu.Unlock()
		if full {
			e.Left++
			continue
		}
		parts <- first
	}
	close(parts)
	wg.Wait()
}

// parts are the parts that are to be done yet. Their order has the first of them come from all times of a life.
func (e *Exploration) parts(trace []int) []Deviation {
	list := []Deviation{{}}
	if e.Most > 0 {
		list = append(list, deviationsAfter(-1, trace)...)
	}
	e.Parts = len(list)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return slices.DeleteFunc(list, func(d Deviation) bool { return e.done[d] })
}

// deviationsAfter are all deviations of a life after one of its choices.
func deviationsAfter(at int, trace []int) []Deviation {
	var list []Deviation
	for i := at + 1; i < len(trace); i++ {
		for outcome := 1; outcome < trace[i]; outcome++ {
			list = append(list, Deviation{i, outcome})
		}
	}
	return list
}

func (e *Exploration) add(p *Part) {
	e.done[p.First] = true
	e.Lives += p.Lives
	e.Found = append(e.Found, p.Found...)
	for _, s := range p.States {
		e.States[s] = true
	}
}

// explore does a part.
func (e *Exploration) explore(ctx context.Context, first Deviation) *Part {
	x := &explorer{ctx: ctx, miniature: e.Miniature, most: e.Most, stop: e.Stop, part: &Part{First: first}, states: map[uint64]bool{}}
	if first == (Deviation{}) {
		x.most = 0
		x.descend(nil)
	} else {
		x.descend([]Deviation{first})
	}
	x.part.States = slices.Sorted(maps.Keys(x.states))
	return x.part
}

// explorer goes through the lives of one part, depth first.
type explorer struct {
	ctx       context.Context
	miniature *Miniature
	most      int
	stop      bool
	part      *Part
	states    map[uint64]bool
}

// descend lives a life, and all that deviate from it later on. Of a bad life it does not: they would be as bad.
func (x *explorer) descend(deviations []Deviation) {
	l, trace := LiveIn(x.ctx, x.miniature, deviations, false)
	x.part.Lives++
	for _, s := range l.states {
		x.states[s] = true
	}
	if bad := l.Violations(); len(bad) > 0 {
		x.part.Found = append(x.part.Found, Finding{slices.Clone(deviations), bad[0]})
		return
	}
	if len(deviations) >= x.most {
		return
	}
	for _, d := range deviationsAfter(deviations[len(deviations)-1].At, trace) {
		if x.stop && len(x.part.Found) > 0 {
			return
		}
		x.descend(append(slices.Clip(deviations), d))
	}
}

// ShrinkIn leaves out what deviations a violation does not need. Without one of them a later choice may have fewer outcomes: such a life is none.
func ShrinkIn(ctx context.Context, s *Miniature, f Finding) Finding {
	for i := range f.Deviations {
		fewer := slices.Delete(slices.Clone(f.Deviations), i, i+1)
		l, choices := follow(ctx, s, &schedule{deviations: fewer}, false)
		if choices.unfit != "" {
			continue
		}
		for _, v := range l.Violations() {
			if strings.HasPrefix(v, InvariantOf(f.Violation)) {
				return ShrinkIn(ctx, s, Finding{fewer, v})
			}
		}
	}
	return f
}

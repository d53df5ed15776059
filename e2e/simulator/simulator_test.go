package simulator

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	seeds = flag.Int64("seeds", 300, "number of lives")
	first = flag.Int64("first", 0, "seed of the first life")
	seed  = flag.Int64("seed", -1, "replay this one life, shrink it if it is bad, and tell it")
	most  = flag.Int("bad", 5, "stop after so many bad lives")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(4000) // lives are short and need little memory
	os.Exit(m.Run())
}

// sweep lives lives on all cores and hands each to visit, one at a time; visit returns false to stop.
func sweep(t *testing.T, from, n int64, visit func(int64, *Life) bool) {
	var next atomic.Int64
	var stop atomic.Bool
	var mu sync.Mutex
	var wg sync.WaitGroup
	next.Store(from)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !stop.Load() {
				i := next.Add(1) - 1
				if i >= from+n {
					return
				}
				l := Live(t.Context(), SeedTape(i), false)
				mu.Lock()
				if !visit(i, l) {
					stop.Store(true)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestSimulator(t *testing.T) {
	if *seed >= 0 {
		replay(t, *seed)
		return
	}
	var lives, finished, pods, restarts, disruptions, late, bad int
	shown := map[string]int{}
	sweep(t, *first, *seeds, func(i int64, l *Life) bool {
		if lives++; lives%5000 == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d lives, %d bad\n", lives, *seeds, bad)
		}
		pods += l.truth.pods
		finished += l.truth.finished
		restarts += l.truth.restarts
		disruptions += l.truth.disruptions
		late += len(l.truth.late)
		for state, times := range l.shown {
			shown[state] += times
		}
		if len(l.Violations()) > 0 {
			bad++
			t.Errorf("seed %d: %s\nreplay with: go test ./e2e/simulator -run 'TestSimulator$' -v -seed=%d", i, l, i)
		}
		return bad < *most
	})
	t.Logf("%d lives: %d finished, %d pods, %d restarts, %d disruptions, %d late creates, %d without progress, %d bad", *seeds, finished, pods, restarts, disruptions, late, shown[stuck], bad)
	// A simulator that does nothing finds nothing.
	n := int(*seeds)
	require.Greater(t, finished, n/4)
	require.Greater(t, restarts, n/10)
	require.Greater(t, disruptions, n/10)
	require.True(t, n < 5000 || shown[stuck] > 0, "no life shows: %s", stuck)
	for _, state := range rareStates {
		require.True(t, n < 300 || shown[state] > 0, "no life shows: %s", state)
	}
}

func replay(t *testing.T, seed int64) {
	tape := SeedTape(seed)
	l := Live(t.Context(), tape, true)
	if bad := l.Violations(); len(bad) > 0 {
		t.Logf("seed %d: %s", seed, l)
		small := Shrink(t.Context(), tape.Drawn(), InvariantOf(bad[0]), 1000)
		t.Logf("shrunk from %d to %d choices", len(tape.Drawn()), len(small))
		l = Live(t.Context(), ReplayTape(small), true)
	}
	t.Logf("%s\n%s", l, l.Story())
	require.Empty(t, l.Violations())
}

func FuzzLife(f *testing.F) {
	for i := range int64(3) {
		tape := SeedTape(i)
		Live(f.Context(), tape, false)
		f.Add(tape.Drawn())
	}
	f.Fuzz(func(t *testing.T, schedule []byte) {
		l := Live(t.Context(), ReplayTape(schedule), false)
		require.Empty(t, l.Violations())
	})
}

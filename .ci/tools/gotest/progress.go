package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// progress says how far a run is. Several goroutines may use it.
type progress struct {
	out     io.Writer
	started time.Time

	mu          sync.Mutex
	done, total int
	// at is what it is at, and since when. If that is nothing, go compiles since it was last at something.
	at    map[string]time.Time
	since time.Time
}

// newProgress says what it is at every so often, until the context ends.
func newProgress(ctx context.Context, out io.Writer, every time.Duration, total int) *progress {
	p := &progress{out: out, started: time.Now(), since: time.Now(), total: total, at: map[string]time.Time{}}
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				p.say("%s", p.now())
			}
		}
	}()
	return p
}

func (p *progress) say(format string, values ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, values...)
}

func (p *progress) begin(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at[what] = time.Now()
}

// leave is the end of what does not count.
func (p *progress) leave(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.at, what)
	p.since = time.Now()
}

// end counts, and prints the closing line with the place of what has ended.
func (p *progress) end(what, line string) {
	p.leave(what)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	fmt.Fprintf(p.out, "%s\t(%d of %d)\n", strings.TrimRight(line, "\n"), p.done, p.total)
}

func (p *progress) now() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	const clock = time.TimeOnly
	var at []string
	for _, what := range slices.Sorted(maps.Keys(p.at)) {
		at = append(at, what+" since "+p.at[what].Format(clock))
	}
	if len(at) == 0 {
		at = []string{"compiling since " + p.since.Format(clock)}
	}
	return fmt.Sprintf("=== %s: %d of %d done; now %s\n", time.Now().Format(clock), p.done, p.total, strings.Join(at, ", "))
}

func (p *progress) took() time.Duration { return time.Since(p.started).Round(time.Second) }

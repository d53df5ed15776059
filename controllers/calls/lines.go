package calls

import (
	"slices"
	"time"

	"github.com/genericjob/genericjob/kernel"
)

// due are the actions whose time has come. Those that were refused stand first, and first of them what has waited longest: a line may
// be closed again after a few.
func (m *Refusals) due(actions []kernel.Action) []kernel.Action {
	if len(m.refused) == 0 {
		return actions
	}
	type waiting struct {
		kernel.Action
		last time.Time
	}
	var before []waiting
	var others []kernel.Action
	now := m.clock.Now()
	for _, a := range actions {
		s, line := m.refused[idOf(a)], lineOf(a)
		switch {
		case s != nil && !now.Before(m.next(s)):
			before = append(before, waiting{a, s.last})
		case s == nil && !m.full[line] && !now.Before(m.closed[line]):
			others = append(others, a)
		}
	}
	slices.SortStableFunc(before, func(a, b waiting) int { return a.last.Compare(b.last) })
	due := make([]kernel.Action, 0, len(before)+len(others))
	for _, w := range before {
		due = append(due, w.Action)
	}
	return append(due, others...)
}

// lineOf names the line that an action stands in. Once something of a line is accepted, what was refused of it stands in another: neither
// do those that were never refused wait for it, nor is all of it asked for because they are accepted.
func (m *Refusals) lineOf(a kernel.Action) string {
	line := lineOf(a)
	if m.opened[line] && m.refused[idOf(a)] != nil {
		return again(line)
	}
	return line
}

// again names the line of what is asked for again. It is closed without the line itself, but not the line without it.
func again(line string) string { return line + ", again" }

// next is when a refusal can be asked about again: its line must be open.
func (m *Refusals) next(s *standing) time.Time {
	next := s.due()
	for _, line := range []string{s.line, again(s.line)} {
		if until := m.closed[line]; until.After(next) {
			next = until
		}
	}
	return next
}

// close keeps a line shut until the first of what was refused of it is asked for again. What is due already waits, too: else the line of
// a job of thousands would be open all the time.
func (m *Refusals) close(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.opened, name)
	var until time.Time
	for _, s := range m.refused {
		due := s.due()
		if soon := m.clock.Now().Add(s.wait()); due.Before(soon) {
			due = soon
		}
		if (s.line == name || again(s.line) == name) && (until.IsZero() || due.Before(until)) {
			until = due
		}
	}
	m.closed[name] = until
}

// rest closes the lines of what was asked for again in vain: else each of thousands of refusals would have a pass of its own.
func (m *Refusals) rest() {
	lines := map[string]bool{}
	for _, s := range m.refused {
		if s.fresh && s.since.Before(s.last) {
			lines[again(s.line)] = true
		}
	}
	for line := range lines {
		m.close(line)
	}
}

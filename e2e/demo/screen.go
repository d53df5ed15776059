package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// screen shows snapshots: in place on a terminal, otherwise as lines that say what changed.
type screen struct {
	out      io.Writer
	terminal bool
	width    func() int
	started  time.Time
	drawn    int // lines of the table that stands above the cursor
	last     snapshot
}

func newScreen(out *os.File) *screen {
	descriptor := int(out.Fd())
	return &screen{
		out:      out,
		terminal: term.IsTerminal(descriptor),
		width: func() int {
			width, _, err := term.GetSize(descriptor)
			if err != nil || width < 1 {
				return 80
			}
			return width
		},
		started: time.Now(),
	}
}

func (s *screen) show(next snapshot) {
	var text string
	if s.terminal {
		text = s.redrawn(next.table())
	} else {
		for _, line := range next.changesSince(s.last) {
			text += fmt.Sprintf("%4.0fs%s\n", time.Since(s.started).Seconds(), line)
		}
	}
	s.last = next
	// The job goes on whether or not somebody can see it.
	_, _ = io.WriteString(s.out, text)
}

// redrawn writes over the last table. Lines are cut at the terminal's width: a line that wraps would take two.
func (s *screen) redrawn(lines []string) string {
	var text strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", s.drawn)
	}
	width := s.width()
	for _, line := range lines {
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width])
		}
		fmt.Fprintf(&text, "\x1b[2K%s\n", line)
	}
	text.WriteString("\x1b[J") // what is left of a longer table
	s.drawn = len(lines)
	return text.String()
}

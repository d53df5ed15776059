package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// cell is a character on the screen, with the number of its colour; 0 is none.
type cell struct {
	char   rune
	colour int
}

// screen is as much of a terminal as `kubectl gj tree -w` uses. It knows lines, carriage returns and colours. It moves the cursor up, and
// erases lines or the rest of the screen.
type screen struct {
	lines  [][]cell
	row    int
	col    int
	colour int
}

// write takes what a program writes to the terminal. A sequence that the screen does not know is an error: the picture would be
// wrong.
func (s *screen) write(text string) error {
	for len(text) > 0 {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' })
			if end < 0 {
				return errors.New("an escape sequence is cut off")
			}
			if err := s.control(rest[:end], rest[end]); err != nil {
				return err
			}
			text = rest[end+1:]
			continue
		}
		char := []rune(text)[0]
		s.put(char)
		text = text[len(string(char)):]
	}
	return nil
}

func (s *screen) put(char rune) {
	switch char {
	case '\r':
		s.col = 0
	case '\n':
		s.row++
	default:
		s.reach(s.row)
		for len(s.lines[s.row]) <= s.col {
			s.lines[s.row] = append(s.lines[s.row], cell{char: ' '})
		}
		s.lines[s.row][s.col] = cell{char, s.colour}
		s.col++
	}
}

func (s *screen) reach(row int) {
	for len(s.lines) <= row {
		s.lines = append(s.lines, nil)
	}
}

func (s *screen) control(arguments string, verb byte) error {
	n, err := strconv.Atoi(arguments)
	if err != nil && arguments != "" {
		return fmt.Errorf("escape sequence %q%c is not known", arguments, verb)
	}
	switch verb {
	case 'A':
		s.row = max(0, s.row-max(1, n))
	case 'K':
		s.reach(s.row)
		s.lines[s.row] = nil
	case 'J':
		s.reach(s.row)
		s.lines = s.lines[:s.row]
	case 'm':
		s.colour = n
	default:
		return fmt.Errorf("escape sequence %q%c is not known", arguments, verb)
	}
	return nil
}

// frame is what the screen shows from a time on, in seconds.
type frame struct {
	at    float64
	lines [][]cell
}

// play plays a recording of script(1): what the terminal got, and when.
func play(terminal, timing []byte) ([]frame, error) {
	_, terminal, _ = bytes.Cut(terminal, []byte("\n")) // "Script started on"
	var s screen
	var frames []frame
	now := 0.0
	for lines := bufio.NewScanner(bytes.NewReader(timing)); lines.Scan(); {
		var delay float64
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "%f %d", &delay, &n); err != nil || n > len(terminal) {
			return nil, fmt.Errorf("timing: line %q: want seconds, and a number of bytes that the terminal has got", lines.Text())
		}
		if err := s.write(string(terminal[:n])); err != nil {
			return nil, err
		}
		now, terminal = now+delay, terminal[n:]
		frames = append(frames, frame{now, s.snapshot()})
	}
	return frames, nil
}

func (s *screen) snapshot() [][]cell {
	out := make([][]cell, len(s.lines))
	for i, line := range s.lines {
		out[i] = append([]cell(nil), line...)
	}
	return out
}

package inplace

import (
	"bytes"
	"regexp"
	"strings"
)

// LongestLine is how many bytes of a line of output are looked at, for progress and for signs of life.
const LongestLine = 4 << 10

var (
	// colour is what a program sends to a terminal to colour its words, and a backspace. Keras and TorchTitan write both between numbers.
	colour = regexp.MustCompile(`\x1b\[[0-9;]*m|\x08`)
	// thousands is a number with commas, as in 12,000.
	thousands = regexp.MustCompile(`^\d{1,3}(,\d{3})+(\.\d+)?$`)
)

// WithoutColour returns a line of output as expressions of progress see it.
func WithoutColour(line []byte) []byte {
	if !bytes.ContainsAny(line, "\x1b\x08") {
		return line
	}
	return colour.ReplaceAll(line, nil)
}

// NumberIn returns the number that a group of an expression of progress has matched in a line; "" if there is none. Found is what FindSubmatchIndex
// has found.
func NumberIn(line []byte, progress *regexp.Regexp, found []int, group string) string {
	i := progress.SubexpIndex(group)
	if i < 0 || found[2*i] < 0 {
		return ""
	}
	text := string(line[found[2*i]:found[2*i+1]])
	if thousands.MatchString(text) {
		text = strings.ReplaceAll(text, ",", "")
	}
	if !IsNumber(text) {
		return ""
	}
	return text
}

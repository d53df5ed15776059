package kernel

import (
	"strings"
	"unicode/utf8"
)

// What a job says of itself is bounded: the text may quote what a user wrote, and a status that the apiserver refuses for
// its size says nothing. Kubernetes allows an event's reason 128 bytes.
const (
	maxText   = 2000
	maxReason = 128
)

// cut shortens a text that is longer than a number of bytes, and marks that. It splits no character: JSON would have
// another one in its place, and a status that never reads as it was written would be written for ever.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}

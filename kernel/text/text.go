// Package text shortens what others wrote, so that it can be stored and told, and writes times.
package text

import (
	"strings"
	"time"
	"unicode/utf8"
)

// MaxWords is the length in bytes of what is kept of the last words of a container.
const MaxWords = 256

// Max is the length in bytes of what a job says in one condition. The text may quote what a user wrote, and a status that the apiserver
// refuses for its size says nothing.
const Max = 2000

// MaxReason is the length in bytes that Kubernetes allows the reason of an event.
const MaxReason = 128

// Time returns a time as messages have it.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Cut shortens a text that is longer than a number of bytes to so many, the last of which say that it was cut. It splits no character,
// because JSON would have another one in its place. A status that never reads as it was written would be written for ever. To cut again
// changes nothing.
func Cut(s string, most int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	const more = "..."
	end := max(most-len(more), 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more
}

// Tail returns the end of a text, of so many bytes at most; if it was cut, the first say so. It splits no character.
func Tail(s string, most int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	const more = "..."
	from := len(s) - max(most-len(more), 0)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return more + s[from:]
}

// Middle shortens a text that is longer than a number of bytes to so many by what stands in its middle. It splits no character, and to
// shorten again changes nothing.
func Middle(s string, most int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	head := Cut(s, most/2)
	return head + strings.TrimPrefix(Tail(s, most-len(head)+len("...")), "...")
}

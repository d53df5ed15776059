// Package text shortens texts that others wrote, so that a status can hold them, and formats times.
package text

import (
	"strings"
	"time"
	"unicode/utf8"
)

// MaxWords is how many bytes of the last words of a container are kept.
const MaxWords = 256

// Max is how many bytes the message of a condition may have. A message may quote what a user wrote, and the apiserver refuses a status that is too
// large.
const Max = 2000

// MaxReason is how many bytes Kubernetes allows in the reason of an event.
const MaxReason = 128

// Time returns a time in the format of messages.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Cut shortens a text to at most this many bytes, and ends a shortened text with "...". It splits no character: JSON would replace the parts. Then the
// status would never read as it was written, and would be written in each reconcile. Cutting again changes nothing.
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

// Tail returns the end of a text, of at most this many bytes. It begins a shortened text with "...". It splits no character.
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

// Middle shortens a text to at most this many bytes, by replacing its middle with "...". It splits no character. Shortening again changes nothing.
func Middle(s string, most int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= most {
		return s
	}
	head := Cut(s, most/2)
	return head + strings.TrimPrefix(Tail(s, most-len(head)+len("...")), "...")
}

// Package plain keeps what tenants write, in the fields and messages of their jobs, from doing anything to a terminal but being read.
package plain

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Text returns a text with its control characters as one reads them, as in \u001b. They could clear a screen, write over what was said before, or
// type for the reader. Those that turn the direction of writing could show the text in another order. Inside of JSON it means the same.
func Text(s string) string {
	s = strings.ToValidUTF8(s, string(unicode.ReplacementChar)) // some terminals obey bytes that are no character
	if strings.IndexFunc(s, acts) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if acts(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// acts reports whether a terminal does something else with a character than to show it.
func acts(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Writer returns a writer of texts. Each is written whole.
func Writer(to io.Writer) io.Writer { return writer{to} }

type writer struct{ to io.Writer }

// Write implements io.Writer.
func (w writer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(w.to, Text(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

package system

import (
	"regexp"
	"strings"
)

var plain = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Quote returns text as one word of a shell, for commands that a person copies.
func Quote(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

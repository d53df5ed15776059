package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A misspelt variable would reach the command unchanged, and a job might succeed with wrong results. So a name that only looks like a variable is
// reported as a mistake.

// likeVariable matches names that begin like a variable with brackets or dots, in singular or plural.
var likeVariable = regexp.MustCompile(`^(?i:replicas?|services?|onranks?|var)[\[.]`)

// misspelledForm returns the mistake in a name that begins like a variable with brackets or dots, but is none; "" for other names.
func misspelledForm(name string) string {
	if !likeVariable.MatchString(name) {
		return ""
	}
	return fmt.Sprintf("$(%s) is no variable: want $(replicas[<type>]), $(service.<type>[<rank>].host), $(service.<type>.hosts), $(service.port[<name>]) or $(onRank[<rank>].<text>)", name)
}

// words are the variables of one word.
var words = []string{"type", "rank", "index", "attempt", "jobAttempt"}

// misspelledWord returns the mistake in a name that is one letter away from a variable of one word; "" for other names. A name that the environment
// of the container has, or may have, is no mistake.
func misspelledWord(c *corev1.Container, name string) string {
	i := slices.IndexFunc(words, func(w string) bool { return oneAway(name, w) })
	if i < 0 || len(c.EnvFrom) > 0 || slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
		return ""
	}
	return fmt.Sprintf("$(%s) is no variable: do you mean $(%s)? If it is your own, write $(var[%s])", name, words[i], name)
}

// oneAway reports whether a text becomes another by one letter that is added, left out or replaced.
func oneAway(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if a == b || len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return strings.HasPrefix(a[i:], b[i+1:]) && len(a) < len(b) || len(a) == len(b) && a[i+1:] == b[i+1:]
}

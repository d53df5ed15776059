package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A variable that is misspelt would reach the command as it is, and a job might succeed with wrong results. Therefore a name that looks like one of
// ours, and is not, is a mistake.

// nearly is what begins like a variable with brackets or dots, with or without a plural.
var nearly = regexp.MustCompile(`^(?i:replicas?|services?|onranks?|var)[\[.]`)

// nearForm says that a name looks like one of the variables that name something, and is none.
func nearForm(name string) string {
	if !nearly.MatchString(name) {
		return ""
	}
	return fmt.Sprintf("$(%s) is no variable: want $(replicas[<type>]), $(service.<type>[<rank>].host), $(service.<type>.hosts), $(service.port[<name>]) or $(onRank[<rank>].<text>)", name)
}

// words are the variables that are one word.
var words = []string{"type", "rank", "index", "attempt", "jobAttempt"}

// nearWord says that a name is one letter away from such a variable, and nothing that its container has in its environment.
// Others with capitals are not ours.
func nearWord(c *corev1.Container, name string) string {
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

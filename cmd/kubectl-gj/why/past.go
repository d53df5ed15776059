package why

import (
	"fmt"
	"strings"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
)

// failedBefore says what the restarts of a job that has succeeded were for, as far as its status still knows: five failures.
func (q question) failedBefore() string {
	times := map[string]int{}
	var texts []string
	for _, f := range q.Status().Failures {
		text := fmt.Sprintf("Pod[%s]: %s", f.Pod, tree.Describe(f))
		if first := q.Status().FirstFailure; first != nil && first.Probable && first.Pod == f.Pod && first.Time.Equal(f.Time) {
			text = first.Summary // which says that it may have been another
		}
		if times[text]++; times[text] == 1 {
			texts = append(texts, text)
		}
	}
	for i, text := range texts {
		if n := times[text]; n > 1 {
			texts[i] = fmt.Sprintf("%s (%d times)", text, n)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " Before that, replicas failed: " + strings.Join(texts, "; ") + "."
}

package simulator

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Violations are the invariants that were broken in the life, and how.
func (l *Life) Violations() []string { return l.truth.violations }

// Story tells the life, if it was lived to be told.
func (l *Life) Story() string { return strings.Join(l.story, "\n") + "\n" }

// String prints a life on one line.
func (l *Life) String() string {
	t := l.truth
	return fmt.Sprintf("%s, %d operators, %d pods, %d restarts, %d disruptions, finished %v, violations %q",
		l.user.kind, l.born, t.pods, t.restarts, t.disruptions, t.finished > 0, t.violations)
}

// tellStatus prints what a status holds of the ledger, and the phase.
func tellStatus(s *v1beta1.GenericJobStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s, mode %s/%d, attempt %d, restarts %d", s.Phase, s.Mode, s.ModeGeneration, s.JobAttempt, s.BackoffCount)
	for _, l := range s.Ledger {
		fmt.Fprintf(&b, "; %s ok %q failed %q", l.Type, l.Succeeded, l.Failed)
		for _, r := range l.Replicas {
			fmt.Fprintf(&b, " %d@%d/%d", r.Rank, r.Attempt, r.Restarts)
		}
	}
	b.WriteString("]")
	return b.String()
}

// specOf prints the spec of a job, without its templates.
type specOf struct{ client.Object }

func (s specOf) String() string {
	raw, err := json.Marshal(s.Object)
	if err != nil {
		return err.Error()
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return err.Error()
	}
	spec := body["spec"].(map[string]any)
	withoutTemplates(spec)
	raw, err = json.Marshal(spec)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func withoutTemplates(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "template")
		for _, inner := range v {
			withoutTemplates(inner)
		}
	case []any:
		for _, inner := range v {
			withoutTemplates(inner)
		}
	}
}

package operator

import (
	"encoding/json"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel/text"
)

// maxLogged is the length in bytes of one value in the log. An apiserver that refuses a name of a megabyte quotes it whole, and
// so does the log, each time that the operator tries again.
const maxLogged = text.Max

// terse returns a logger that cuts long values. All that the operator and its libraries log goes through it.
func terse(l logr.Logger) logr.Logger { return logr.New(terseSink{l.GetSink()}) }

type terseSink struct{ logr.LogSink }

// Info implements logr.LogSink.
func (s terseSink) Info(level int, message string, pairs ...any) {
	s.LogSink.Info(level, text.Cut(message, maxLogged), cutAll(pairs)...)
}

// Error implements logr.LogSink. That nothing is created any more in a namespace which is being deleted, no event either, is no error.
func (s terseSink) Error(err error, message string, pairs ...any) {
	if calls.NamespaceEnds(err) {
		if s.Enabled(1) {
			s.Info(1, message, append(pairs, "error", err)...)
		}
		return
	}
	s.LogSink.Error(cutError(err), text.Cut(message, maxLogged), cutAll(pairs)...)
}

// WithValues implements logr.LogSink.
func (s terseSink) WithValues(pairs ...any) logr.LogSink {
	return terseSink{s.LogSink.WithValues(cutAll(pairs)...)}
}

// WithName implements logr.LogSink.
func (s terseSink) WithName(name string) logr.LogSink { return terseSink{s.LogSink.WithName(name)} }

func cutError(err error) error {
	if err == nil || len(err.Error()) <= maxLogged {
		return err
	}
	return errors.New(text.Cut(err.Error(), maxLogged))
}

func cutAll(pairs []any) []any {
	out := make([]any, len(pairs))
	for i, value := range pairs {
		out[i] = cut(value)
	}
	return out
}

// cut shortens a value that would be long in the log. Of objects of the API the log shows kind and name alone.
func cut(value any) any {
	switch v := value.(type) {
	case string:
		return text.Cut(v, maxLogged)
	case error:
		return cutError(v)
	case nil, bool, int, int32, int64, uint64, float64, types.NamespacedName, client.Object, logr.Marshaler:
		return value
	}
	raw, err := json.Marshal(value)
	if err != nil || len(raw) <= maxLogged {
		return value
	}
	return text.Cut(string(raw), maxLogged)
}

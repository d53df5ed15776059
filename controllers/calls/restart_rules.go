package calls

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/kernel"
)

const (
	// lookAtVersion is how often the apiserver is asked for its version, while pods with restart rules are created.
	lookAtVersion = 5 * time.Minute
	// refusedFor is for how long a refusal of restart rules is remembered. An upgrade of the control plane is over by then, or costs one
	// more call.
	refusedFor = 10 * time.Minute
	// answerVersion is how long the apiserver may take to tell its version.
	answerVersion = 5 * time.Second
)

// rulesSince is the first version of Kubernetes that takes restart rules. Older ones answer 422.
var rulesSince = version.MajorMinor(1, 34)

// RestartRules remembers whether the apiserver takes containers with restart rules. Its version tells, and so does a refusal: while a
// control plane is upgraded, apiservers of two versions answer. Nothing depends on this memory: without it a pod takes two calls.
type RestartRules struct {
	// Version asks the apiserver for its version, as in "v1.34.1". Nil: the version is not known.
	Version func(context.Context) (string, error)

	mu      sync.Mutex
	version string
	asked   time.Time
	refused map[string]time.Time // by version: when restart rules were refused last
}

// accepted reports whether the apiserver accepts restart rules, so far as is known.
func (r *RestartRules) accepted(ctx context.Context, now time.Time) bool {
	r.look(ctx, now)
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.refused[r.version]
	return !tooOld(r.version) && (!ok || !recent(at, now, refusedFor))
}

// look asks for the version, if that is due. Other reconciles go on with what is known.
func (r *RestartRules) look(ctx context.Context, now time.Time) {
	r.mu.Lock()
	due := r.Version != nil && (r.asked.IsZero() || !recent(r.asked, now, lookAtVersion))
	if due {
		r.asked = now
	}
	r.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerVersion)
	defer cancel()
	found, err := r.Version(ctx)
	if err != nil {
		log.FromContext(ctx).Info("the apiserver's version is not known", "error", err.Error())
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = found
}

// refuse notes that restart rules were refused.
func (r *RestartRules) refuse(ctx context.Context, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.refused[r.version]; !ok || !recent(at, now, refusedFor) {
		log.FromContext(ctx).Info("the apiserver refuses container restart rules: pods are created without them, and one that fails is replaced", "version", r.version)
	}
	if r.refused == nil {
		r.refused = map[string]time.Time{}
	}
	r.refused[r.version] = now
}

// recent reports whether something was less than a while ago. If the clock was set back it was not.
func recent(at, now time.Time, while time.Duration) bool {
	return !now.Before(at) && now.Sub(at) < while
}

// tooOld reports whether a version takes no restart rules. One that cannot be read is tried.
func tooOld(text string) bool {
	v, err := version.ParseGeneric(text)
	return err == nil && v.LessThan(rulesSince)
}

// refusesRules reports whether an error is about the restart rules of an action's pod.
func (x *Executor) refusesRules(a kernel.Action, err error) bool {
	var refused *RefusalError
	if !errors.As(err, &refused) {
		return false
	}
	r := refused.Refusal
	r.Action = a
	return r.NamesRestartRules(x.Job)
}

package simulator

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// simulated is the simulated API, behind the client of an operator in the calm.
type simulated struct {
	api    *api
	caller client.Client
	reader client.Reader
}

// newSimulated returns the simulated API, and a context in which its clients work.
func newSimulated(ctx context.Context) (*simulated, context.Context) {
	l := &Life{tape: ReplayTape(nil), now: start, user: frameworks[1], framework: frameworks[1]}
	l.api = &api{life: l, objects: map[key]client.Object{}, trails: map[string][]change{}, fresh: map[types.UID]string{}}
	l.truth = newTruth(l)
	o := &operator{life: l}
	ctx = context.WithValue(ctx, reconcileKey{}, &reconcile{operator: o, thread: &thread{yield: func(struct{}) bool { return true }}})
	l.ctx = ctx
	return &simulated{l.api, &cached{operator: o}, &live{operator: o}}, ctx
}

func (s *simulated) client() client.Client { return s.caller }

func (s *simulated) live() client.Reader { return s.reader }

func (s *simulated) edit(_ context.Context, o client.Object, _ bool, change func(client.Object)) error {
	s.api.edit(keyOf(o), change)
	return nil
}

func (s *simulated) bind(_ context.Context, p *corev1.Pod, node string) error {
	s.api.life.change(p, func(p *corev1.Pod) { p.Spec.NodeName = node })
	return nil
}

func (s *simulated) foreground(_ context.Context, o client.Object) error {
	s.api.foreground(keyOf(o))
	return nil
}

// events are what a watch tells of a kind.
func (s *simulated) events(kind string) []answer {
	var told []answer
	known := map[key]bool{}
	for _, ch := range s.api.trails[kind] {
		switch {
		case ch.gone != nil:
			told = append(told, happening(watch.Deleted, ch.gone))
		case known[ch.key]:
			told = append(told, happening(watch.Modified, ch.now))
		default:
			told = append(told, happening(watch.Added, ch.now))
		}
		known[ch.key] = ch.gone == nil
	}
	return told
}

func happening(of watch.EventType, o client.Object) answer {
	return answer{"step": "event", "type": string(of), "object": normal(o)}
}

// actual is a real apiserver.
type actual struct {
	client.WithWatch
	minor int // of its version: 37 of 1.37.2
}

// newActual starts one.
func newActual(t *testing.T) *actual {
	env, err := testenv.Start()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1beta1.AddToScheme(scheme))
	env.Config.QPS = -1
	c, err := client.NewWithWatch(env.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return &actual{c, testenv.Minor(t, env)}
}

func (r *actual) client() client.Client { return r }

func (r *actual) live() client.Reader { return r }

func (r *actual) edit(ctx context.Context, o client.Object, status bool, change func(client.Object)) error {
	next := o.DeepCopyObject().(client.Object)
	change(next)
	if status {
		return r.Status().Update(ctx, next)
	}
	return r.Update(ctx, next)
}

func (r *actual) bind(ctx context.Context, p *corev1.Pod, node string) error {
	return r.SubResource("binding").Create(ctx, p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})
}

func (r *actual) foreground(ctx context.Context, o client.Object) error {
	return r.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationForeground))
}

// spaces are the namespaces so far: each script has one of its own.
var spaces atomic.Int64

// space makes a namespace.
func (r *actual) space(ctx context.Context) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("script-%d", spaces.Add(1))}}
	return ns.Name, r.Create(ctx, ns)
}

// defaulted is a new object of a kind with what the apiserver fills in, so that the specs of both are the same.
func (r *actual) defaulted(ctx context.Context, s *subject) (client.Object, error) {
	o := s.make()
	o.SetNamespace("default")
	err := r.Create(ctx, o, client.DryRunAll)
	clean(o)
	return o, err
}

// withoutBreath leaves out what only a real apiserver tells: a graceful deletion that leaves no time is stored before the pod is removed.
func withoutBreath(told []answer) []answer {
	var kept []answer
	for i, e := range told {
		meta := e["object"].(map[string]any)["metadata"].(map[string]any)
		breath := meta["deletionGracePeriodSeconds"] == 0.0 && meta["finalizers"] == nil && e["type"] == string(watch.Modified)
		if removed := i+1 < len(told) && told[i+1]["type"] == string(watch.Deleted); !breath || !removed {
			kept = append(kept, e)
		}
	}
	return kept
}

// last is the name of an object whose event ends a watch.
const last = "last"

// follow watches a kind in a namespace. The function that it returns ends that, and tells the events.
func (r *actual) follow(ctx context.Context, template client.Object, list client.ObjectList) (func() ([]answer, error), error) {
	w, err := r.Watch(ctx, list, client.InNamespace(template.GetNamespace()))
	if err != nil {
		return nil, err
	}
	return func() ([]answer, error) {
		defer w.Stop()
		end := template.DeepCopyObject().(client.Object)
		end.SetName(last)
		if err := r.Create(ctx, end); err != nil {
			return nil, err
		}
		var told []answer
		for {
			select {
			case e, open := <-w.ResultChan():
				o, ok := e.Object.(client.Object)
				switch {
				case !open || !ok:
					return nil, fmt.Errorf("the watch broke off: %v", e)
				case o.GetName() == last:
					return withoutBreath(told), nil
				}
				told = append(told, happening(e.Type, o))
			case <-time.After(10 * time.Minute):
				return nil, fmt.Errorf("no event of what was created last")
			}
		}
	}, nil
}

package simulator

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// breaks are what a simulated API may have wrong: scripts that do not tell it would prove nothing.
var breaks = []struct {
	name string
	do   func(*simulated)
}{
	{"a deletion asks for no precondition", func(s *simulated) {
		s.caller = &faulty{Client: s.caller, deletes: func(options []client.DeleteOption) []client.DeleteOption {
			return slices.DeleteFunc(options, func(o client.DeleteOption) bool { _, ok := o.(client.Preconditions); return ok })
		}}
	}},
	{"a deletion leaves no time", func(s *simulated) {
		s.caller = &faulty{Client: s.caller, deletes: func(options []client.DeleteOption) []client.DeleteOption {
			return append(options, client.GracePeriodSeconds(0))
		}}
	}},
	{"an update is taken whatever it was made from", func(s *simulated) {
		s.caller = &faulty{Client: s.caller, updates: func(o client.Object) {
			o.SetResourceVersion("")
			o.SetUID("")
		}}
	}},
	{"a finalizer does not hold", func(s *simulated) {
		s.caller = &faulty{Client: s.caller, after: func(k key) {
			s.api.edit(k, func(o client.Object) { o.SetFinalizers(nil) })
		}}
	}},
	{"an update moves no generation", func(s *simulated) {
		s.caller = &faulty{Client: s.caller, after: func(k key) {
			if o := s.api.get(k); o != nil {
				o.SetGeneration(min(1, o.GetGeneration()))
			}
		}}
	}},
	{"what changes nothing is stored", func(s *simulated) {
		s.caller = &faulty{Client: s.caller, after: func(k key) { s.api.edit(k, func(client.Object) {}) }}
	}},
	{"a removal is not told", func(s *simulated) {
		s.caller = &faulty{Client: s.caller, after: func(k key) {
			s.api.trails[k.kind] = slices.DeleteFunc(s.api.trails[k.kind], func(ch change) bool { return ch.gone != nil })
		}}
	}},
}

// faulty is the client of a simulated API that is broken.
type faulty struct {
	client.Client
	deletes func([]client.DeleteOption) []client.DeleteOption
	updates func(client.Object)
	after   func(key) // a deletion or an update
}

func (b *faulty) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	if b.deletes != nil {
		options = b.deletes(options)
	}
	return b.then(keyOf(o), b.Client.Delete(ctx, o, options...))
}

func (b *faulty) Update(ctx context.Context, o client.Object, options ...client.UpdateOption) error {
	if b.updates != nil {
		b.updates(o)
	}
	return b.then(keyOf(o), b.Client.Update(ctx, o, options...))
}

func (b *faulty) then(k key, err error) error {
	if b.after != nil && err == nil {
		b.after(k)
	}
	return err
}

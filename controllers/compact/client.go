package compact

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client returns a client that opens packed objects when a reconcile reads them. Outside of a reconcile they stay packed: handlers of events read
// names and owners only, and what IsForeign says.
func Client(c client.Client) client.Client { return &opening{c} }

type opening struct{ client.Client }

// Get implements client.Client.
func (c *opening) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	return openFor(ctx, o)
}

// List implements client.Client.
func (c *opening) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		o, ok := item.(client.Object)
		if !ok {
			return errors.New("list objects that have no metadata")
		}
		return openFor(ctx, o)
	})
}

func openFor(ctx context.Context, o client.Object) error {
	n, s := size(o), shareOf(ctx)
	if n == 0 || s == nil {
		return nil
	}
	if err := s.take(n); err != nil {
		return err
	}
	return open(o)
}

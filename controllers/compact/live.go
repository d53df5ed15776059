package compact

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// longestPage is how many objects a page may have that is read live. The reader says how many it wants: see calls.Pages.
	longestPage = 50
	// pagesAtOnce is how many pages are read at once. There are many reconciles, and a page may consist of the largest objects.
	pagesAtOnce = 2
)

// Live returns a reader of the apiserver that lists only page by page. It refuses a list without a limit: tenants decide how many objects there are,
// and how large they are.
func Live(from client.Reader) client.Reader { return &live{from, make(chan struct{}, pagesAtOnce)} }

type live struct {
	client.Reader
	pages chan struct{}
}

// List implements client.Reader.
func (l *live) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(options)
	if o.Limit < 1 || o.Limit > longestPage {
		return fmt.Errorf("list %T with the limit %d: want 1 to %d", list, o.Limit, longestPage)
	}
	select {
	case l.pages <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.pages }()
	return l.Reader.List(ctx, list, options...)
}

package compact

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// longestPage is how many objects a page has at most that is read live. Their readers say how many; see calls.Pages.
	longestPage = 50
	// pagesAtOnce are read at once: there are many reconciles, and each page may be of the largest objects.
	pagesAtOnce = 2
)

// Live returns a reader of the apiserver that lists page by page alone. A list without a limit is refused: tenants decide how long
// it is, and how large what it lists.
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

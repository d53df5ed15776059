package definitions

import (
	"context"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
)

// filling tells how the cache of a kind is filled. The conversion webhook of the kind may be down for days.
type filling struct {
	since time.Time

	mu      sync.Mutex
	failure error // of the last list or watch
}

// Each look at a definition costs calls, so the looks become fewer.
const (
	askForCacheFirst = 500 * time.Millisecond
	askForCacheLast  = 30 * time.Second
	slowToFill       = time.Minute
)

// note notes why a list or watch has failed. The cache calls it.
func (f *filling) note(ctx context.Context, r *toolscache.Reflector, err error) {
	f.mu.Lock()
	f.failure = err
	f.mu.Unlock()
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
}

// report returns what the definition says of a cache that is not filled, and when to look again.
func (f *filling) report(now time.Time) (message string, again time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	waits := now.Sub(f.since)
	again = min(max(waits/4, askForCacheFirst), askForCacheLast)
	switch {
	case waits < slowToFill:
		return "The jobs that there are are being read.", again
	case f.failure == nil:
		return fmt.Sprintf("The jobs that there are are being read, which takes more than %s.", slowToFill), again
	default:
		return fmt.Sprintf("The jobs that there are cannot be read: %v. The operator keeps trying.", f.failure), again
	}
}

package definitions

import (
	"context"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// filling tells how the cache of a kind is filled. The conversion webhook of the kind may be down for days.
type filling struct {
	clock clock.PassiveClock
	since time.Time

	mu       sync.Mutex
	failure  error // the last of a list or watch. Nobody tells of a success, so a list may be under way since
	failedAt time.Time
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
	f.failure, f.failedAt = err, f.clock.Now()
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
		return fmt.Sprintf("The jobs that there are are being read, which takes more than %s. The last failure was at %s: %v. The operator keeps trying.",
			slowToFill, f.failedAt.UTC().Format("2006-01-02 15:04 UTC"), f.failure), again // without seconds: each new message is a write
	}
}

package compact

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

// pageSize is how many objects a list reads at once. That many of the largest take some 200 MB of memory.
const pageSize = 20

// NewInformer returns an informer that reads the objects of a kind as a stream, one after the other, if the apiserver offers that. Kubernetes 1.34 and
// newer do. From an older apiserver, or one that cannot do it at the moment, it reads pages. The informer of client-go would hold all objects of the
// cluster in memory before it makes the first one compact.
func NewInformer(from toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, by toolscache.Indexers) toolscache.SharedIndexInformer {
	source := toolscache.ToListerWatcherWithContext(from)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, source, o) },
		WatchFuncWithContext: source.WatchWithContext,
	}, kind, resync, by)
}

// list reads all objects, and makes those of each page compact. It reads the newest version: for version 0 the apiserver would ignore the limit.
func list(ctx context.Context, from toolscache.ListerWithContext, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch, options.Limit = "", "", pageSize
	p := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		some, err := from.ListWithContext(ctx, options)
		if err != nil {
			return nil, err
		}
		return some, meta.EachListItem(some, func(o runtime.Object) error {
			_, err := Object(o)
			return err
		})
	})
	p.FullListIfExpired = false // the informer begins again
	all, _, err := p.ListWithAlloc(ctx, options)
	return all, err
}

package wake

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Owners leads from events of what jobs own to reconciles over those, for a controller that comes and goes. The cache goes on, and forgets
// the controller when that ends. Controller-runtime's own sources would stay.
type Owners struct {
	// Cache tells of the objects.
	Cache cache.Cache
	// Of is one of the kind that jobs own.
	Of client.Object
	// Jobs are those that an object is news for.
	Jobs func(context.Context, client.Object) []ctrl.Request
}

// Start implements source.Source.
func (o *Owners) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	informer, err := o.Cache.GetInformer(ctx, o.Of, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %T: %w", o.Of, err)
	}
	see := func(of any) {
		if gone, ok := of.(toolscache.DeletedFinalStateUnknown); ok {
			of = gone.Obj
		}
		object, ok := of.(client.Object)
		if !ok || ctx.Err() != nil {
			return
		}
		for _, job := range o.Jobs(ctx, object) {
			queue.Add(job)
		}
	}
	registered, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, of any) { see(of) }, DeleteFunc: see,
	})
	if err != nil {
		return fmt.Errorf("watch %T: %w", o.Of, err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registered) })
	return nil
}

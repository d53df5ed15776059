package wake

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Workloads leads from events of Kueue's Workloads of jobs to reconciles over those. Workloads are watched from the first job on that waits in
// a queue: the kind need not be there before. The zero value watches nothing.
type Workloads struct {
	// Client watches.
	Client metadata.Interface
	// Kind is that of Workloads, by its plural.
	Kind schema.GroupVersionResource
	// Namespaces are watched. Default: all.
	Namespaces []string

	once  sync.Once
	mu    sync.Mutex
	ctx   context.Context
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// Start implements source.Source. It keeps the queue for later.
func (w *Workloads) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx, w.queue = ctx, queue
	return nil
}

// Watch begins to watch, if nobody has before.
func (w *Workloads) Watch(ctx context.Context) {
	if w.Client == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		return
	}
	w.once.Do(func() {
		log.FromContext(ctx).Info("the first job waits in a queue of Kueue's: watching Workloads")
		if len(w.Namespaces) == 0 {
			w.watchIn(metav1.NamespaceAll)
		}
		for _, namespace := range w.Namespaces {
			w.watchIn(namespace)
		}
	})
}

func (w *Workloads) watchIn(namespace string) {
	informer := w.informer(namespace)
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.see,
		UpdateFunc: func(_, o any) { w.see(o) },
		DeleteFunc: w.see,
	})
	go informer.Run(w.ctx.Done())
}

func (w *Workloads) informer(namespace string) cache.SharedIndexInformer {
	informer := metadatainformer.NewFilteredMetadataInformer(w.Client, w.Kind, namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = v1beta1.LabelJobName }).Informer()
	_ = informer.SetTransform(trim) // it fails for an informer that runs
	return informer
}

// trim reduces a Workload to what see reads. Its annotations and managedFields may be large.
func trim(o any) (any, error) {
	if workload, ok := o.(*metav1.PartialObjectMetadata); ok {
		workload.ObjectMeta = metav1.ObjectMeta{
			Namespace: workload.Namespace, Name: workload.Name, UID: workload.UID, ResourceVersion: workload.ResourceVersion,
			Labels: map[string]string{v1beta1.LabelJobName: workload.Labels[v1beta1.LabelJobName]},
		}
	}
	return o, nil
}

// see leads to a reconcile over the job of a Workload.
func (w *Workloads) see(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if workload, ok := o.(client.Object); ok {
		w.queue.Add(ctrl.Request{NamespacedName: types.NamespacedName{
			Namespace: workload.GetNamespace(), Name: workload.GetLabels()[v1beta1.LabelJobName],
		}})
	}
}

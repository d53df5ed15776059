package jobs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/controllers/wake"
)

// podLister returns the cached pods that some job of this name controls.
type podLister func(job types.NamespacedName) ([]*corev1.Pod, error)

// podsInCache makes the cache find pods by job, and returns a lister that hands out the cache's own pods. The client's lists are copies, which are 6
// MB in each reconcile of 5,000 pods. The lister is nil if the manager's cache consists of one for each namespace, which has no single index. Then
// the client lists.
func podsInCache(ctx context.Context, mgr ctrl.Manager) (podLister, error) {
	informer, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	one, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return nil, indexByJob(ctx, mgr, &corev1.Pod{})
	}
	if err := informer.AddIndexers(toolscache.Indexers{indexJob: keyOfJob}); err != nil {
		return nil, fmt.Errorf("index pods by job: %w", err)
	}
	return func(job types.NamespacedName) ([]*corev1.Pod, error) {
		found, err := one.GetIndexer().ByIndex(indexJob, job.String())
		if err != nil {
			return nil, err
		}
		pods := make([]*corev1.Pod, 0, len(found))
		for _, o := range found {
			if pod, ok := o.(*corev1.Pod); ok {
				pods = append(pods, pod)
			}
		}
		return pods, nil
	}, nil
}

// keyOfJob is wake.JobOf with the namespace, as the cache's own indexes want it.
func keyOfJob(o any) ([]string, error) {
	pod, ok := o.(client.Object)
	if !ok {
		return nil, fmt.Errorf("index %T by job: want an object of the API", o)
	}
	var keys []string
	for _, name := range wake.JobOf(pod) {
		keys = append(keys, types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}.String())
	}
	return keys, nil
}

// indexByJob makes the client find objects of a kind by job.
func indexByJob(ctx context.Context, mgr ctrl.Manager, kind client.Object) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, kind, indexJob, wake.JobOf); err != nil {
		return fmt.Errorf("index %T by job: %w", kind, err)
	}
	return nil
}

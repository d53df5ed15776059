package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// askCaches bounds a question to the caches; the kubelet waits a second for its answer.
const askCaches = 500 * time.Millisecond

// Ready returns nil if the cache holds all that the operator works with under these options. It returns an error if something is not there
// yet, for want of rights or of a CRD perhaps. An operator that waits for its lease gets ready, too, or a rolling update would never end.
// Therefore Ready watches the kinds that no controller watches yet. The watching begins when the cache has started, because a manager that starts
// waits without an end for what is watched before.
func Ready(ctx context.Context, c cache.Cache, o Options) error {
	bounded, cancel := context.WithTimeout(ctx, askCaches)
	defer cancel()
	if !c.WaitForCacheSync(bounded) {
		return errors.New("the caches are being filled")
	}
	for _, kind := range o.watched() {
		informer, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", kind, err)
		}
		if !informer.HasSynced() {
			return fmt.Errorf("the cache of %T is being filled", kind)
		}
	}
	return nil
}

// watched returns objects of the kinds that the controllers watch.
func (o Options) watched() []client.Object {
	list := []client.Object{&v1beta1.GenericJob{}, &corev1.Pod{}, &corev1.Service{}}
	if len(o.BadNodes.Conditions) > 0 {
		list = append(list, &corev1.Node{})
	}
	if o.Definitions {
		list = append(list, &v1beta1.TrainingFramework{}, &corev1.ConfigMap{})
	}
	for _, f := range o.Frameworks {
		list = append(list, f.New(), &corev1.ConfigMap{})
		if f.MirrorTensorBoard != nil {
			list = append(list, &appsv1.Deployment{})
		}
		if f.Autoscales {
			list = append(list, &autoscalingv2.HorizontalPodAutoscaler{})
		}
	}
	return list
}

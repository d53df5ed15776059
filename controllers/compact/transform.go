package compact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
)

// Object reduces an object to what a cache shall hold of it, in place. It is a cache's transform: it may meet its own result.
func Object(o any) (any, error) {
	switch o := o.(type) {
	case *corev1.Pod:
		ending.Trim(o)
		o.Finalizers, o.OwnerReferences = ours(o.Finalizers), controller(o)
	case *corev1.ConfigMap: // its name is made of its content, so nobody reads that again
		*o = corev1.ConfigMap{TypeMeta: o.TypeMeta, ObjectMeta: handle(o)}
	case *metav1.PartialObjectMetadata: // that it is there, and has changed, is all that is asked
		o.ObjectMeta = handle(o)
	case *corev1.Service:
		trimService(o)
	case *corev1.Node:
		trimNode(o)
	case client.Object:
		o.SetManagedFields(nil)
		pack(o)
	}
	return o, nil
}

var _ toolscache.TransformFunc = Object

// mostPorts is how many ports are kept of a large Service. The CRDs let none of the operator's have so many, so it is seen to be another
// than is wanted.
const mostPorts = 65

// trimService leaves of a large Service what a reconcile compares. A reconcile reads all Services of a job, however many somebody has made, and what
// others wrote into them may be a megabyte each.
func trimService(o *corev1.Service) {
	o.ManagedFields = nil
	if raw, err := o.Marshal(); err == nil && len(raw) <= maxPlain {
		return
	}
	kept := corev1.ServiceSpec{
		Ports: slices.Clone(o.Spec.Ports[:min(len(o.Spec.Ports), mostPorts)]),
		Type:  o.Spec.Type, ClusterIP: o.Spec.ClusterIP, PublishNotReadyAddresses: o.Spec.PublishNotReadyAddresses,
		IPFamilies: o.Spec.IPFamilies, IPFamilyPolicy: o.Spec.IPFamilyPolicy,
	}
	*o = corev1.Service{TypeMeta: o.TypeMeta, ObjectMeta: handle(o), Spec: kept}
}

// trimNode leaves of a node its conditions, without what changes with each heartbeat: nothing else is asked of the cache.
func trimNode(o *corev1.Node) {
	conditions := make([]corev1.NodeCondition, 0, len(o.Status.Conditions))
	for _, c := range o.Status.Conditions {
		conditions = append(conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
	}
	*o = corev1.Node{TypeMeta: o.TypeMeta, ObjectMeta: handle(o), Status: corev1.NodeStatus{Conditions: conditions}}
}

// ours are the finalizers that a reconcile looks at. Somebody else may have put thousands of others on a pod.
func ours(all []string) []string {
	for _, f := range all {
		if f == v1beta1.FinalizerTracking {
			return []string{f}
		}
	}
	return nil
}

// longestReference bounds the texts of a reference to a controller. No object has a longer name, but the apiserver takes references with
// names of a megabyte.
const longestReference = 1024

// controller is the one owner that a reconcile asks for, unless no object can be that.
func controller(o metav1.Object) []metav1.OwnerReference {
	ref := metav1.GetControllerOf(o)
	if ref == nil || len(ref.APIVersion)+len(ref.Kind)+len(ref.Name)+len(ref.UID) > longestReference {
		return nil
	}
	return []metav1.OwnerReference{*ref}
}

// handle is what tells an object from others, and whose it is.
func handle(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Generation: o.GetGeneration(), CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
		OwnerReferences: controller(o),
	}
}

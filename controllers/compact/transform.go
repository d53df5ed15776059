package compact

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Object reduces an object to what the cache holds of it, and makes no copy. It is the cache's transform, so it may get its own result again.
func Object(o any) (any, error) {
	switch o := o.(type) {
	case *corev1.Pod:
		podstate.Trim(o)
		o.Finalizers, o.OwnerReferences = ours(o.Finalizers), controller(o)
	case *corev1.ConfigMap: // nobody reads its content: its name is a hash of that
		*o = corev1.ConfigMap{TypeMeta: o.TypeMeta, ObjectMeta: handle(o)}
	case *metav1.PartialObjectMetadata: // only whether it exists and has changed is asked
		o.ObjectMeta = handle(o)
	case *corev1.Service:
		trimService(o)
	case *corev1.Node:
		trimNode(o)
	case *v1beta1.TrainingFramework: // handlers of events read its kind; only admins write it, and its templates are text in memory, too
		o.SetManagedFields(nil)
	case client.Object:
		o.SetManagedFields(nil)
		pack(o)
	}
	return o, nil
}

var _ toolscache.TransformFunc = Object

// mostPorts is how many ports are kept of a large Service. The CRDs allow a job one less, so a Service that was cut to this differs from the wanted
// one.
const mostPorts = 65

// trimService reduces a large Service to what a reconcile compares. A reconcile reads all Services of a job. Somebody may have made many with its
// labels, and may have written a megabyte into each.
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

// trimNode reduces a node to its conditions, without what changes with each heartbeat.
func trimNode(o *corev1.Node) {
	conditions := make([]corev1.NodeCondition, 0, len(o.Status.Conditions))
	for _, c := range o.Status.Conditions {
		conditions = append(conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
	}
	*o = corev1.Node{TypeMeta: o.TypeMeta, ObjectMeta: handle(o), Status: corev1.NodeStatus{Conditions: conditions}}
}

// ours returns the operator's finalizer, if it is among these. Somebody may have put thousands of others on a pod.
func ours(all []string) []string {
	for _, f := range all {
		if f == v1beta1.FinalizerTracking {
			return []string{f}
		}
	}
	return nil
}

// longestReference bounds the texts of a reference to a controller. The texts of a real one are shorter. But the apiserver accepts references with
// names of a megabyte.
const longestReference = 1024

// controller returns the reference to the object's controller: a reconcile looks at no other owner. It drops one that is too long to be real.
func controller(o metav1.Object) []metav1.OwnerReference {
	ref := metav1.GetControllerOf(o)
	if ref == nil || len(ref.APIVersion)+len(ref.Kind)+len(ref.Name)+len(ref.UID) > longestReference {
		return nil
	}
	return []metav1.OwnerReference{*ref}
}

// handle returns the metadata that identify an object and its controller.
func handle(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Generation: o.GetGeneration(), CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
		OwnerReferences: controller(o),
	}
}

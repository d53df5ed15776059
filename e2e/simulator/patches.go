package simulator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patched is what the operator's patches say. What it does not name is refused, so that no patch is ignored.
type patched struct {
	Metadata struct {
		UID             types.UID         `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
		Finalizers      []string          `json:"$deleteFromPrimitiveList/finalizers"`
	} `json:"metadata"`
	Spec struct {
		Ports                 []corev1.ServicePort `json:"ports"`
		ActiveDeadlineSeconds *int64               `json:"activeDeadlineSeconds"`
	} `json:"spec"`
}

// apply carries out a patch.
func (b *patched) apply(o client.Object) {
	annotations := o.GetAnnotations()
	for name, value := range b.Metadata.Annotations {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[name] = value
	}
	o.SetAnnotations(annotations)
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return slices.Contains(b.Metadata.Finalizers, f) }))
	if s, ok := o.(*corev1.Service); ok && b.Spec.Ports != nil {
		s.Spec.Ports = b.Spec.Ports
	}
	if p, ok := o.(*corev1.Pod); ok && b.Spec.ActiveDeadlineSeconds != nil {
		p.Spec.ActiveDeadlineSeconds = b.Spec.ActiveDeadlineSeconds
	}
}

package simulator

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patched is what the operator's patches say. What it does not name is refused, so that no patch is ignored.
type patched struct {
	Metadata struct {
		UID             types.UID          `json:"uid"`
		ResourceVersion string             `json:"resourceVersion"`
		Annotations     map[string]*string `json:"annotations"`
		Finalizers      []string           `json:"$deleteFromPrimitiveList/finalizers"`
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
		if value == nil {
			delete(annotations, name)
			continue
		}
		annotations[name] = *value
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

// changes reports whether a patch has made something else of an object.
func (b *patched) changes(was, is client.Object) bool {
	if b.Spec.Ports != nil || b.Spec.ActiveDeadlineSeconds != nil {
		return !equality.Semantic.DeepEqual(was, is)
	}
	return !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) || len(was.GetFinalizers()) != len(is.GetFinalizers())
}

// patch carries out a patch of an object, if its UID and resourceVersion, where given, are those of the object.
func (a *api) patch(o client.Object, body *patched) error {
	k := keyOf(o)
	have, err := a.current(k, "", body.Metadata.ResourceVersion)
	if err != nil {
		return err
	}
	if uid := body.Metadata.UID; uid != "" && uid != have.GetUID() {
		return another(k, uid)
	}
	a.life.truth.patched(have, *body)
	if p, ok := have.(*corev1.Pod); ok && body.Spec.ActiveDeadlineSeconds != nil {
		a.life.truth.podEnded(p)
	}
	next := have.DeepCopyObject().(client.Object)
	body.apply(next)
	if body.changes(have, next) {
		a.store(next)
	}
	fill(o, next)
	return nil
}

package tensorboard

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// UpdatedDeployment returns the stored Deployment with all that is wanted; nil if it has that already.
func (b Board) UpdatedDeployment(have *appsv1.Deployment) *appsv1.Deployment {
	want := b.Deployment
	if upToDate(have, want) && covers(fields(&have.Spec), fields(&want.Spec)) {
		return nil
	}
	to := have.DeepCopy()
	setMetadata(to, want)
	selector := to.Spec.Selector // immutable
	want.Spec.DeepCopyInto(&to.Spec)
	to.Spec.Selector = selector
	return to
}

// UpdatedService returns the stored Service with all that is wanted; nil if it has that already.
func (b Board) UpdatedService(have *corev1.Service) *corev1.Service {
	want := b.Service
	if upToDate(have, want) && covers(fields(&have.Spec), fields(&want.Spec)) {
		return nil
	}
	to := have.DeepCopy()
	setMetadata(to, want)
	to.Spec.Ports, to.Spec.Selector = want.Spec.Ports, want.Spec.Selector
	to.Spec.Type, to.Spec.PublishNotReadyAddresses = want.Spec.Type, want.Spec.PublishNotReadyAddresses
	return to
}

// upToDate reports whether an object has the wanted hash and labels.
func upToDate(have, want metav1.Object) bool {
	return have.GetAnnotations()[annotationHash] == want.GetAnnotations()[annotationHash] && has(have.GetLabels(), want.GetLabels())
}

func has(have, want map[string]string) bool {
	for key, value := range want {
		if have[key] != value {
			return false
		}
	}
	return true
}

// setMetadata adds the wanted labels and annotations to those of an object.
func setMetadata(to, want metav1.Object) {
	labels, annotations := maps.Clone(to.GetLabels()), maps.Clone(to.GetAnnotations())
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(labels, want.GetLabels())
	maps.Copy(annotations, want.GetAnnotations())
	to.SetLabels(labels)
	to.SetAnnotations(annotations)
}

func fields(spec any) any {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return nil // cannot happen: API types can always be converted
	}
	return out
}

// covers reports whether have has all that want has. It may have more: the apiserver fills in defaults, and webhooks add fields. Lists must have the
// same length.
func covers(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		for key, value := range want {
			if !covers(have[key], value) {
				return false
			}
		}
		return ok || len(want) == 0
	case []any:
		have, _ := have.([]any)
		if len(have) != len(want) {
			return false
		}
		for i := range want {
			if !covers(have[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return have == want
	}
}

package compact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
)

// packedIn is the annotation in which a packed object holds itself as JSON. The apiserver allows no such key. So nobody can forge one, and the
// apiserver refuses a packed object that somebody writes by mistake. Copies of the object share the text.
const packedIn = " packed"

// maxPlain is the size, in bytes of JSON without the status, up to which an object is not packed. A usual job takes several times less. To open a
// packed object costs a reconcile some microseconds for each kilobyte.
const maxPlain = 16 << 10

// packedForeign is the annotation of a packed job that another controller runs.
const packedForeign = " foreign"

// maxRevision is longer than the name of any revision.
const maxRevision = 63

// pack replaces the metadata and spec of a large object by its JSON. It keeps what identifies the object, and its status: the operator itself writes
// that, and bounds it. Objects that lack a spec or a status stay as they are.
func pack(o client.Object) {
	spec, _, ok := parts(o)
	if !ok || size(o) > 0 {
		return
	}
	without := reflect.New(reflect.TypeOf(o).Elem())
	without.Elem().Set(reflect.ValueOf(o).Elem())
	without.Elem().FieldByName("Status").SetZero()
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // or each < would be six bytes
	if err := to.Encode(without.Interface()); err != nil || text.Len() <= maxPlain {
		return // an error does not occur: the object came from the apiserver as JSON
	}
	meta := handle(o)
	meta.Annotations = map[string]string{packedIn: text.String()}
	if revision := o.GetAnnotations()[v1beta1.AnnotationFrameworkRevision]; revision != "" && len(revision) <= maxRevision {
		meta.Annotations[v1beta1.AnnotationFrameworkRevision] = revision // training.Revised reads it to choose who opens the object
	}
	if IsForeign(o) {
		meta.Annotations[packedForeign] = "true"
	}
	reflect.ValueOf(o).Elem().FieldByName("ObjectMeta").Set(reflect.ValueOf(meta))
	spec.SetZero()
}

// parts returns the spec and the status of an object; false if it lacks one of them.
func parts(o client.Object) (spec, status reflect.Value, ok bool) {
	v := reflect.ValueOf(o)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || !v.Elem().FieldByName("ObjectMeta").IsValid() {
		return spec, status, false
	}
	spec, status = v.Elem().FieldByName("Spec"), v.Elem().FieldByName("Status")
	return spec, status, spec.IsValid() && status.IsValid()
}

// size returns the bytes of JSON that a packed object holds; 0 if it is not packed.
func size(o client.Object) int { return len(o.GetAnnotations()[packedIn]) }

// SpecIsPacked reports whether an object of the cache is packed: its spec, labels and annotations are empty. Its status and what identifies it can be
// read.
func SpecIsPacked(o client.Object) bool { return size(o) > 0 }

// IsForeign reports whether another controller runs a job, by its managedBy. The job may be packed. It knows every kind whose jobs may be foreign.
func IsForeign(o client.Object) bool {
	if SpecIsPacked(o) {
		return o.GetAnnotations()[packedForeign] != ""
	}
	switch o := o.(type) {
	case *v1beta1.GenericJob:
		return o.Spec.ManagedBy.IsForeign()
	case *v1beta1.TensorFlowTrainingJob:
		return o.Spec.ManagedBy.IsForeign()
	case *v1beta1.PyTorchTrainingJob:
		return o.Spec.ManagedBy.IsForeign()
	case *kubeflow.TFJob:
		return o.Spec.RunPolicy.ManagedBy.IsForeign()
	case *kubeflow.PyTorchJob:
		return o.Spec.RunPolicy.ManagedBy.IsForeign()
	case *kubeflow.XGBoostJob:
		return o.Spec.RunPolicy.ManagedBy.IsForeign()
	case *kubeflow.PaddleJob:
		return o.Spec.RunPolicy.ManagedBy.IsForeign()
	case *kubeflow.JAXJob:
		return o.Spec.RunPolicy.ManagedBy.IsForeign()
	case *v2beta1.MPIJob:
		return o.Spec.RunPolicy.IsForeign()
	}
	return false
}

// open restores a packed object. It leaves other objects as they are.
func open(o client.Object) error {
	text := o.GetAnnotations()[packedIn]
	_, status, ok := parts(o)
	if text == "" || !ok {
		return nil
	}
	kept := reflect.New(status.Type()).Elem()
	kept.Set(status)
	kind := o.GetObjectKind().GroupVersionKind()
	reflect.ValueOf(o).Elem().SetZero()
	if err := json.Unmarshal([]byte(text), o); err != nil {
		return fmt.Errorf("open a packed %T: %w", o, err)
	}
	o.GetObjectKind().SetGroupVersionKind(kind)
	status.Set(kept)
	return nil
}

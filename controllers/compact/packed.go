package compact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// packedIn is the annotation in which a packed object keeps itself as JSON. The apiserver allows no such key, so nobody can
// forge one, and an object that is written without having been opened is refused. Copies of the object share the text.
const packedIn = " packed"

// maxPlain is the size, in bytes of JSON without the status, up to which an object stays as it is. A usual job takes several times less. To open a packed object
// costs a reconcile some microseconds for each kilobyte.
const maxPlain = 16 << 10

// maxRevision is longer than the name of any revision.
const maxRevision = 63

// pack replaces all of a large object but its status and what tells it from others by its JSON. Status is the operator's own,
// and bounded by it. Objects without both a spec and a status stay as they are.
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
		return // what cannot be JSON has not come from an apiserver
	}
	meta := handle(o)
	meta.Annotations = map[string]string{packedIn: text.String()}
	if revision := o.GetAnnotations()[v1beta1.AnnotationFrameworkRevision]; revision != "" && len(revision) <= maxRevision {
		meta.Annotations[v1beta1.AnnotationFrameworkRevision] = revision // who opens the object is asked for by it
	}
	reflect.ValueOf(o).Elem().FieldByName("ObjectMeta").Set(reflect.ValueOf(meta))
	spec.SetZero()
}

// parts are the spec and the status of an object of the usual shape.
func parts(o client.Object) (spec, status reflect.Value, ok bool) {
	v := reflect.ValueOf(o)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || !v.Elem().FieldByName("ObjectMeta").IsValid() {
		return spec, status, false
	}
	spec, status = v.Elem().FieldByName("Spec"), v.Elem().FieldByName("Status")
	return spec, status, spec.IsValid() && status.IsValid()
}

// size is how many bytes a packed object is as JSON; 0 if it is not packed.
func size(o client.Object) int { return len(o.GetAnnotations()[packedIn]) }

// IsPacked reports whether of an object of the cache only the status can be read, and what tells it from others.
func IsPacked(o client.Object) bool { return size(o) > 0 }

// open makes a packed object what it was. It leaves others alone.
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

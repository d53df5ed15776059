package simulator

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reread does to a value what writing it to JSON and reading it again does. It goes through the fields itself, which takes half the time. What has
// a form of its own in JSON does take that way.
func reread(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	rereadInto(out, v)
	return out
}

var (
	timeType  = reflect.TypeFor[metav1.Time]()
	marshaler = reflect.TypeFor[json.Marshaler]()
)

func rereadInto(out, v reflect.Value) {
	switch t := v.Type(); {
	case t == timeType:
		if at := v.Interface().(metav1.Time); !at.IsZero() {
			out.Set(reflect.ValueOf(metav1.NewTime(at.Truncate(time.Second).Local())))
		}
		return
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(marshaler):
		throughJSON(out, v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		rereadFields(out, v)
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			rereadInto(out.Elem(), v.Elem())
		}
	case reflect.Slice:
		rereadList(out, v)
	case reflect.String:
		out.SetString(strings.ToValidUTF8(v.String(), "\uFFFD"))
	case reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		out.Set(v)
	default:
		throughJSON(out, v)
	}
}

func rereadList(out, v reflect.Value) {
	if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
		throughJSON(out, v)
		return
	}
	out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
	for i := range v.Len() {
		rereadInto(out.Index(i), v.Index(i))
	}
}

// rereadFields leaves out empty lists and maps whose tag says so.
func rereadFields(out, v reflect.Value) {
	for i := range v.NumField() {
		tag, field := v.Type().Field(i).Tag.Get("json"), v.Field(i)
		empty := (field.Kind() == reflect.Slice || field.Kind() == reflect.Map) && field.Len() == 0
		if tag == "-" || empty && strings.Contains(tag, ",omitempty") {
			continue
		}
		rereadInto(out.Field(i), field)
	}
}

func throughJSON(out, v reflect.Value) {
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err)
	}
	if err := json.Unmarshal(raw, out.Addr().Interface()); err != nil {
		panic(err)
	}
}

package translatortest

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/translators/framework"
)

// brokenPromise checks, with one job, what framework.Translator says of Compile. It returns the promise that is broken; "" if none is.
func brokenPromise(t testing.TB, r framework.Registration, job client.Object) string {
	t.Helper()
	before := job.DeepCopyObject()
	program, err := r.Compile(job)
	if !reflect.DeepEqual(before, job) {
		return "Compile must not change the job"
	}
	want := Render(t, program, err)
	for range 5 { // Go ranges over maps in another order each time
		if compile(t, r, job) != want {
			return "compiling again must give the same"
		}
	}
	if compile(t, r, disguised(job)) != want {
		return "nothing but the job's name and spec may count"
	}
	if err != nil {
		return ""
	}
	if host := literalHost(t, job, program); host != "" {
		return "a template serves all replicas of its type, but this one names " + host
	}
	scribble(reflect.ValueOf(&program.Spec))
	if !reflect.DeepEqual(before, job) {
		return "the GenericJob's spec must share no memory with the job"
	}
	return ""
}

func compile(t testing.TB, r framework.Registration, job client.Object) string {
	t.Helper()
	program, err := r.Compile(job)
	return Render(t, program, err)
}

// disguised returns a job that has the same name and spec, and differs in all else.
func disguised(job client.Object) client.Object {
	out := job.DeepCopyObject().(client.Object)
	v := reflect.ValueOf(out)
	spec := reflect.New(v.Elem().FieldByName("Spec").Type()).Elem()
	spec.Set(v.Elem().FieldByName("Spec"))
	v.Elem().FieldByName("Spec").SetZero()
	scribble(v)
	v.Elem().FieldByName("Spec").Set(spec)
	out.SetName(job.GetName())
	return out
}

// literalHost returns a host name of the job that stands in a template, where its rank should be a variable. Host names that the user wrote do not
// count.
func literalHost(t testing.TB, job client.Object, program framework.Program) string {
	t.Helper()
	written, err := json.Marshal(job)
	require.NoError(t, err)
	for _, template := range program.Spec.ReplicaSpecs {
		text, err := json.Marshal(template.Template)
		require.NoError(t, err)
		for _, spec := range program.Spec.ReplicaSpecs {
			host := regexp.MustCompile(`\b` + regexp.QuoteMeta(job.GetName()+"-"+spec.Type) + `-[0-9]+\b`)
			for _, found := range host.FindAllString(string(text), -1) {
				if !strings.Contains(string(written), found) {
					return found
				}
			}
		}
	}
	return ""
}

// scribble changes every value that v leads to, and fills what is empty.
func scribble(v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		scribble(v.Elem())
		return
	}
	switch {
	case !v.CanSet(): // an unexported field
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			scribble(v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		scribbleSlice(v)
	case v.Kind() == reflect.Map:
		scribbleMap(v)
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "scribble")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	}
}

func scribbleSlice(v reflect.Value) {
	if v.Len() == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	}
	for i := range v.Len() {
		scribble(v.Index(i))
	}
}

func scribbleMap(v reflect.Value) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	value := reflect.New(v.Type().Elem()).Elem()
	scribble(value)
	v.SetMapIndex(reflect.ValueOf("scribble").Convert(v.Type().Key()), value)
	for _, key := range v.MapKeys() {
		v.SetMapIndex(key, value)
	}
}

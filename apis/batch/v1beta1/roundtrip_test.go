package v1beta1_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// fill sets every field below v: pointers, maps and slices get one element. What has rules of its own is set to one of
// the values that they allow.
func fill(v reflect.Value) {
	if special, ok := allowed[v.Type()]; ok {
		v.Set(reflect.ValueOf(special))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte("bytes"))
			return
		}
		fill(v.Index(0))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(1)
	}
}

var noon = time.Date(2024, 2, 29, 12, 0, 0, 0, time.Local)

// allowed are values for types that are not filled field by field.
var allowed = map[reflect.Type]any{
	reflect.TypeFor[metav1.Time]():               metav1.NewTime(noon),
	reflect.TypeFor[metav1.MicroTime]():          metav1.NewMicroTime(noon.Add(time.Microsecond)),
	reflect.TypeFor[resource.Quantity]():         resource.MustParse("1Gi"),
	reflect.TypeFor[intstr.IntOrString]():        intstr.FromString("1"),
	reflect.TypeFor[v1beta1.FinishRule]():        v1beta1.FinishRule{"text": {intstr.FromInt32(0), intstr.FromString("1")}},
	reflect.TypeFor[v1beta1.CleanUpPolicy]():     v1beta1.CleanUpUnfinished,
	reflect.TypeFor[v1beta1.RestartScope]():      v1beta1.RestartScopeJob,
	reflect.TypeFor[v1beta1.RestartPolicyType](): v1beta1.RestartExitCode,
	reflect.TypeFor[v1beta1.JobPhase]():          v1beta1.JobRunning,
	// What a template may say about its object's metadata. The rest (a UID, owners, ...) makes no sense there.
	reflect.TypeFor[metav1.ObjectMeta](): metav1.ObjectMeta{
		Name: "name", Namespace: "namespace", Labels: map[string]string{"l": "v"},
		Annotations: map[string]string{"a": "v"}, Finalizers: []string{"example.com/f"},
	},
}

func TestEveryFieldComesBackAsItWasWritten(t *testing.T) {
	c := newClient(t)
	want := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "full", Namespace: newNamespace(t, c)}}
	fill(reflect.ValueOf(&want.Spec).Elem())
	sent := want.DeepCopy()
	require.NoError(t, c.Create(t.Context(), sent))
	fill(reflect.ValueOf(&want.Status).Elem())
	want.Status.DeepCopyInto(&sent.Status)
	require.NoError(t, c.Status().Update(t.Context(), sent))

	got := &v1beta1.GenericJob{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(want), got))
	require.Equal(t, want.Spec, got.Spec)
	require.Equal(t, want.Status, got.Status)
}

// Every replica of a type is a list without ranks, and Go writes such a list as null. Were it dropped, the rule would
// hold as soon as the other types have succeeded.
func TestARuleWithNullForAllRanksKeepsItsKey(t *testing.T) {
	c := newClient(t)
	j := job(spec(func(s *v1beta1.GenericJobSpec) {
		s.SuccessRules = []v1beta1.FinishRule{{"worker": nil, "ps": {intstr.FromInt32(0)}}}
	}))
	j.Namespace = newNamespace(t, c)
	want := j.Spec.DeepCopy()
	require.NoError(t, c.Create(t.Context(), j))
	require.Equal(t, want.SuccessRules, j.Spec.SuccessRules)
}

// A typing error in a manifest is an error to whoever asks for strict validation, as kubectl does by default.
func TestAnUnknownFieldIsRefusedWhereValidationIsStrict(t *testing.T) {
	c := newClient(t)
	j := manifest(t, job())
	j.SetNamespace(newNamespace(t, c))
	j.Object["spec"].(map[string]any)["replicaSpec"] = "typo"
	require.ErrorContains(t, c.Create(t.Context(), j), `unknown field "spec.replicaSpec"`)
}

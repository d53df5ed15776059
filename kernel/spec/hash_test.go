package spec

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// editedFreely are the fields that may be edited while pods are there, and whose edit makes no pod again, each with the reason.
var editedFreely = map[string]string{
	"spec.runMode":                    "status.modeGeneration counts its changes, and pods of an earlier one are replaced",
	"spec.cleanUpPolicy":              "it says what becomes of pods at the end, whichever they are",
	"spec.replicas":                   "pods that are there keep their variables when a job is scaled",
	"spec.replicaSpecs[].replicas":    "pods that are there keep their variables when a job is scaled",
	"spec.replicaSpecs[].startPolicy": "pods that are there stay, and those that come follow it",
	"spec.activeDeadlineSeconds":      "the operator's clock keeps it, and no pod has it",
	"spec.backoffLimit":               "the ledger keeps it, and no pod has it",
	"spec.failurePolicy":              "the ledger keeps what it decides, and no pod has it",
	"spec.avoidNodes":                 "the ledger keeps what it decides, and pods that are there stay where they are",
	"spec.inPlaceLimit":               "the ledger keeps it, and no pod has it",
	"spec.stopTogether":               "the operator orders pods to stop, and no pod has it",
	"spec.ttlSecondsAfterFinished":    "the operator's clock keeps it, and no pod has it",
}

// If a field were forgotten, an edit of it before code has started would be accepted. Then pods of the old spec would run beside pods of
// the new one.
func TestEachFieldMakesPodsAgainOrCannotBeEdited(t *testing.T) {
	frozen := immutable(t)
	require.True(t, frozen["spec.scheduler"], "the rules of the CRD are read")
	left := map[string]bool{}
	for name := range editedFreely {
		left[name] = true
	}
	try := func(name string, makesAgain bool) {
		_, isFree := editedFreely[name]
		delete(left, name)
		require.NotEqual(t, isFree, makesAgain || frozen[name],
			"%s: have PodsHash read it, or have the CRD refuse its edit, or give in editedFreely the one reason why neither need be", name)
	}
	for i := range reflect.TypeFor[v1beta1.GenericJobSpec]().NumField() {
		if name := nameOf[v1beta1.GenericJobSpec](i); name != "replicaSpecs" {
			try("spec."+name, changesHash(func(s *v1beta1.GenericJobSpec) reflect.Value { return reflect.ValueOf(s).Elem().Field(i) }))
		}
	}
	for i := range reflect.TypeFor[v1beta1.ReplicaSpec]().NumField() {
		try("spec.replicaSpecs[]."+nameOf[v1beta1.ReplicaSpec](i),
			changesHash(func(s *v1beta1.GenericJobSpec) reflect.Value {
				return reflect.ValueOf(&s.ReplicaSpecs[0]).Elem().Field(i)
			}))
	}
	require.Empty(t, left, "there are no such fields")
}

// nameOf is the name of a field in JSON.
func nameOf[T any](i int) string {
	name, _, _ := strings.Cut(reflect.TypeFor[T]().Field(i).Tag.Get("json"), ",")
	return name
}

// changesHash reports whether PodsHash differs between a job without a field and one with it.
func changesHash(field func(*v1beta1.GenericJobSpec) reflect.Value) bool {
	without := &v1beta1.GenericJob{Spec: v1beta1.GenericJobSpec{ReplicaSpecs: make([]v1beta1.ReplicaSpec, 1)}}
	with := without.DeepCopy()
	fill(field(&with.Spec), 3)
	return PodsHash(with) != PodsHash(without)
}

// fill sets what is in a value, down to so many structs in each other.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); depth > 0 && f.CanSet() {
				fill(f, depth-1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	default: // of maps and the rest no field consists alone
	}
}

// immutable are the fields whose edits the CRD refuses unless the job is paused, also as long as no code has started.
func immutable(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile("../../deploy/crd/batch.tensorstack.dev_genericjobs.yaml")
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(raw, &crd))
	out := map[string]bool{}
	add := func(prefix string, rules apiextensionsv1.ValidationRules) {
		for _, r := range rules {
			path := strings.TrimPrefix(prefix+r.FieldPath, ".")
			field := regexp.QuoteMeta(strings.TrimPrefix(path, "spec."))
			comparesOld := regexp.MustCompile(`\boldSelf(\.spec)?\.\??` + field + `\b`).MatchString(r.Rule)
			if comparesOld && !strings.Contains(r.Rule, "unstartedSpec") {
				out[path] = true
			}
		}
	}
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	add("", root.XValidations)
	add(".spec", root.Properties["spec"].XValidations)
	return out
}

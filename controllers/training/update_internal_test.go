package training

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// waitForAPause are the fields of a spec, by name, that the CRD lets nobody change while a job runs.
func waitForAPause(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile("../../deploy/crd/batch.tensorstack.dev_genericjobs.yaml")
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(raw, &crd))
	fields := map[string]bool{}
	for _, rule := range crd.Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations {
		if name, of := strings.CutPrefix(rule.FieldPath, ".spec."); of && strings.Contains(rule.Rule, "oldSelf") {
			fields[name] = true
		}
	}
	require.Greater(t, len(fields), 5)
	return fields
}

// set gives a field some value that is not its zero.
func set(field reflect.Value) {
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case reflect.String:
		field.SetString("wanted")
	case reflect.Bool:
		field.SetBool(true)
	default:
		panic("no value for a " + field.Kind().String())
	}
}

// TestUntilAPauseAJobKeepsWhatItsCRDWouldNotLetChange: an update with one field more would be refused as a whole.
func TestUntilAPauseAJobKeepsWhatItsCRDWouldNotLetChange(t *testing.T) {
	var wanted v1beta1.GenericJobSpec
	for i := range reflect.TypeOf(wanted).NumField() {
		set(reflect.ValueOf(&wanted).Elem().Field(i))
	}
	have := &v1beta1.GenericJobSpec{}
	require.False(t, untilPaused(have, framework.Program{Spec: wanted}).StopTogether, "the CRD takes it with the scope Job alone")
	wanted.StopTogether = false
	kept, waits := untilPaused(have, framework.Program{Spec: wanted}), waitForAPause(t)
	waits["stopTogether"], waits["replicas"] = true, true
	for i := range reflect.TypeOf(kept).NumField() {
		name, _, _ := strings.Cut(reflect.TypeOf(kept).Field(i).Tag.Get("json"), ",")
		require.Equal(t, waits[name], reflect.ValueOf(kept).Field(i).IsZero(), "%s: kept, if it may not change; else as it is wanted", name)
	}
	require.Equal(t, wanted.Replicas, untilPaused(have, framework.Program{Spec: wanted, Elastic: true}).Replicas)
}

// A definition may have its users edit startPolicy, which needs no pause.
func TestUntilAPauseAJobFollowsItsStartPolicy(t *testing.T) {
	have := &v1beta1.GenericJobSpec{ReplicaSpecs: []v1beta1.ReplicaSpec{{Type: "worker", Auxiliary: true}}}
	wanted := v1beta1.GenericJobSpec{ReplicaSpecs: []v1beta1.ReplicaSpec{{Type: "worker", StartPolicy: v1beta1.StartAfterOthers}}}
	kept := untilPaused(have, framework.Program{Spec: wanted}).ReplicaSpecs[0]
	require.Equal(t, v1beta1.StartAfterOthers, kept.StartPolicy)
	require.True(t, kept.Auxiliary, "which waits for the pause")
}

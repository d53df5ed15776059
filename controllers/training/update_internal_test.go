package training

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/metrics"
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

// TestAnUpdateThatAConflictStopsIsCounted, as one of a status is.
func TestAnUpdateThatAConflictStopsIsCounted(t *testing.T) {
	stopped := func(m *annotating) int {
		registry := prometheus.NewRegistry()
		registry.MustRegister(m.Counts)
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() == "genericjob_reconciles_stopped_total" {
				var sum float64
				for _, one := range f.GetMetric() {
					sum += one.GetCounter().GetValue()
				}
				return int(sum)
			}
		}
		return 0
	}
	program := framework.Program{Spec: v1beta1.GenericJobSpec{CleanUpPolicy: v1beta1.CleanUpAll}}
	for name, update := range map[string]func(*annotating) (showing, error){
		"whole": func(m *annotating) (showing, error) { return m.update(t.Context(), m.owner, m.read(t), program) },
		"of what may change while the job runs": func(m *annotating) (showing, error) {
			return m.updateAllowed(t.Context(), m.owner, m.read(t), program, errCompiledOtherwise)
		},
	} {
		for want, answer := range map[int]error{
			1: apierrors.NewConflict(genericJobs, "job", errors.New("modified")),
			0: apierrors.NewNotFound(genericJobs, "job"),
		} {
			m := newAnnotating(t, ofEarlier())
			m.Counts, m.answer = metrics.New(m.Kind), answer
			out, err := update(m)
			require.NoError(t, err)
			require.Equal(t, showing{requeueAfter: calls.RetrySoon}, out, name)
			require.Equal(t, want, stopped(m), "%s: %v", name, answer)
		}
	}
}

// TestTheGenericJobOfAPredecessorIsWaitedFor, as after `kubectl replace --force`: the user was told to give the job another name.
func TestTheGenericJobOfAPredecessorIsWaitedFor(t *testing.T) {
	m := newAnnotating(t, ofEarlier())
	m.owner.UID = "new"
	out, err := m.reconcileUnfinished(t.Context(), m.owner, framework.Program{}, nil)
	require.NoError(t, err)
	require.Equal(t, showing{}, out, "the garbage collector takes it away, and its end leads to the next reconcile")
	m.Kind.Kind = v1beta1.KindPyTorchTrainingJob
	out, err = m.reconcileUnfinished(t.Context(), m.owner, framework.Program{}, nil)
	require.NoError(t, err)
	require.Equal(t, v1beta1.ReasonNameConflict, out.events[0].Reason, "that of a job of another kind stays")
}

package v1beta1_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
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
	reflect.TypeFor[metav1.Time]():                   metav1.NewTime(noon),
	reflect.TypeFor[metav1.MicroTime]():              metav1.NewMicroTime(noon.Add(time.Microsecond)),
	reflect.TypeFor[resource.Quantity]():             resource.MustParse("1Gi"),
	reflect.TypeFor[intstr.IntOrString]():            intstr.FromString("1"),
	reflect.TypeFor[v1beta1.FinishRule]():            v1beta1.FinishRule{"text": {intstr.FromInt32(0), intstr.FromString("1")}},
	reflect.TypeFor[v1beta1.CleanUpPolicy]():         v1beta1.CleanUpUnfinished,
	reflect.TypeFor[v1beta1.PodNames]():              v1beta1.PodNamesPlain,
	reflect.TypeFor[v1beta1.RestartScope]():          v1beta1.RestartScopeJob,
	reflect.TypeFor[v1beta1.StartPolicy]():           v1beta1.StartAfterOthers,
	reflect.TypeFor[v1beta1.RestartStrategy]():       v1beta1.RestartInPlace,
	reflect.TypeFor[v1beta1.Heartbeat]():             v1beta1.Heartbeat{Stdout: "(?P<step>[0-9]+)", StartupSeconds: ptr.To[int32](1), SteadySeconds: ptr.To[int32](1)},
	reflect.TypeFor[v1beta1.ProgressFormat]():        v1beta1.ProgressFormat{Preset: v1beta1.PresetMegatron},
	reflect.TypeFor[v1beta1.RestartPolicyType]():     v1beta1.RestartExitCode,
	reflect.TypeFor[v1beta1.FailureAction]():         v1beta1.FailureActionRestart,
	reflect.TypeFor[v1beta1.CauseKind]():             v1beta1.CauseNetwork,
	reflect.TypeFor[v1beta1.NoProgress]():            v1beta1.NoProgress{Rounds: 2},
	reflect.TypeFor[v1beta1.CauseRole]():             v1beta1.CauseRoot,
	reflect.TypeFor[v1beta1.AvoidReason]():           v1beta1.AvoidLost,
	reflect.TypeFor[v1beta1.AvoidTime]():             v1beta1.AvoidTime("1h30m"),
	reflect.TypeFor[v1beta1.JobPhase]():              v1beta1.JobRunning,
	reflect.TypeFor[v1beta1.TimeCause]():             v1beta1.TimeLostToHang,
	reflect.TypeFor[v1beta1.TimeBasis]():             v1beta1.TimeBasisSteps,
	reflect.TypeFor[v1beta1.HistoryKind]():           v1beta1.HistoryFailure,
	reflect.TypeFor[v1beta1.TensorFlowReplicaType](): v1beta1.TensorFlowWorker,
	reflect.TypeFor[v1beta1.ManagedBy]():             v1beta1.ManagedByMultiKueue,
	reflect.TypeFor[v1beta1.SchedulePolicy](): v1beta1.SchedulePolicy{ // the others follow below, for one job has one
		MinMember: ptr.To[int32](1), T9kScheduler: &v1beta1.T9kScheduler{Queue: "q", Priority: 1},
	},
	reflect.TypeFor[v1beta1.LogDirS3]():   v1beta1.LogDirS3{SecretRef: v1beta1.LogDirSecret{Name: "s"}, URI: []string{"s3://b/p"}},
	reflect.TypeFor[v1beta1.LogDirHTTP](): v1beta1.LogDirHTTP{URL: []string{"https://host/events"}},
	// What a template may say about its object's metadata. The rest (a UID, owners, ...) makes no sense there.
	reflect.TypeFor[metav1.ObjectMeta](): metav1.ObjectMeta{
		Name: "name", Namespace: "namespace", Labels: map[string]string{"l": "v"},
		Annotations: map[string]string{"a": "v"}, Finalizers: []string{"example.com/f"},
	},
}

// consistent mends what cannot be filled field by field, for fields depend on each other.
var consistent = map[string]func(client.Object){
	v1beta1.KindGenericJob: func(o client.Object) {
		o.(*v1beta1.GenericJob).Spec.ReplicaSpecs[0].Auxiliary = false // it has a restart policy, and the job no other type
	},
	v1beta1.KindTensorFlowTrainingJob: func(o client.Object) {
		j := o.(*v1beta1.TensorFlowTrainingJob)
		j.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Name = "tensorflow"
		j.Spec.RunMode.Debug.ReplicaSpecs[0].Type = "worker"
		j.Spec.RunMode.Pause.ResumeSpecs[0].Type = "worker"
		j.Spec.RunPolicy.FailurePolicy.Rules[0].Match.Types[0] = "worker"
	},
	v1beta1.KindPyTorchTrainingJob: func(o client.Object) {
		torchrun := o.(*v1beta1.PyTorchTrainingJob).Spec.TorchrunConfig
		torchrun.ProcPerNode, torchrun.RdzvBackend = "1", "c10d"
	},
}

func TestEveryFieldComesBackAsItWasWritten(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for kind, want := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			want.SetName("full")
			want.SetNamespace(ns)
			require.Contains(t, consistent, kind)
			spec, status := part(want, "Spec"), part(want, "Status")
			fill(spec)
			consistent[kind](want)
			fill(status)
			sent := want.DeepCopyObject().(client.Object)
			require.NoError(t, c.Create(t.Context(), sent)) // which drops the status
			part(sent, "Status").Set(status)
			require.NoError(t, c.Status().Update(t.Context(), sent))

			got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(client.Object)
			require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(want), got))
			require.Equal(t, spec.Interface(), part(got, "Spec").Interface())
			require.Equal(t, status.Interface(), part(got, "Status").Interface())
		})
	}
}

func TestEverySchedulerComesBackAsItWasWritten(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for field := range reflect.TypeFor[v1beta1.SchedulePolicy]().Fields() {
		if field.Type.Elem().Kind() != reflect.Struct {
			continue
		}
		var policy v1beta1.SchedulePolicy
		one := reflect.New(field.Type.Elem())
		fill(one.Elem())
		reflect.ValueOf(&policy).Elem().FieldByIndex(field.Index).Set(one)
		j := job(spec(func(s *v1beta1.GenericJobSpec) { s.Scheduler = policy.DeepCopy() }))
		j.Namespace, j.Name = ns, strings.ToLower(field.Name)
		require.NoError(t, c.Create(t.Context(), j), field.Name)
		require.Equal(t, &policy, j.Spec.Scheduler)
	}
}

// part is the spec or the status of a job.
func part(j client.Object, name string) reflect.Value {
	return reflect.ValueOf(j).Elem().FieldByName(name)
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
	ns := newNamespace(t, c)
	for kind := range kinds(t) {
		j := manifest(t, good[kind]())
		j.SetNamespace(ns)
		j.Object["spec"].(map[string]any)["replicaSpec"] = "typo"
		require.ErrorContains(t, c.Create(t.Context(), j), `unknown field "spec.replicaSpec"`)
	}
}

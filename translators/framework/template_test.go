package framework_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Whoever adds a field says what the GenericJob does with it, or who else does.
func TestEachFieldOfARunPolicyIsHandedOn(t *testing.T) {
	elsewhere := map[string]bool{"TTLSecondsAfterFinished": true} // the training job is deleted, and its GenericJob with it
	for f := range reflect.TypeFor[v1beta1.RunPolicy]().Fields() {
		policy, with, without := &v1beta1.RunPolicy{}, v1beta1.GenericJobSpec{}, v1beta1.GenericJobSpec{}
		fill(t, reflect.ValueOf(policy).Elem().FieldByName(f.Name))
		framework.ApplyRunPolicy(&with, policy)
		framework.ApplyRunPolicy(&without, nil)
		require.Equal(t, elsewhere[f.Name], reflect.DeepEqual(with, without), "ApplyRunPolicy and the field %s", f.Name)
	}
}

// fill sets a field of any type to something other than zero.
func fill(t *testing.T, field reflect.Value) {
	t.Helper()
	switch field.Kind() {
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Bool:
		field.SetBool(true)
	case reflect.String:
		field.SetString("any")
	case reflect.Int, reflect.Int32, reflect.Int64:
		field.SetInt(1)
	case reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		fill(t, field.Index(0))
	case reflect.Map:
		field.Set(reflect.MakeMap(field.Type()))
		key, value := reflect.New(field.Type().Key()).Elem(), reflect.New(field.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		field.SetMapIndex(key, value)
	case reflect.Struct:
		require.Positive(t, field.NumField())
		fill(t, field.Field(0))
	default:
		t.Fatalf("teach this test to set a field of type %s", field.Type())
	}
}

func TestAFieldOfAnyTypeIsFilled(t *testing.T) {
	type inner struct{ Name string }
	var of struct {
		List    []string
		Structs []inner
		Number  int32
		Struct  inner
		Map     map[string]int64
		Pointer *int32
		Flag    bool
	}
	value := reflect.ValueOf(&of).Elem()
	for i := range value.NumField() {
		fill(t, value.Field(i))
		require.False(t, value.Field(i).IsZero(), value.Type().Field(i).Name)
	}
	require.Equal(t, []inner{{"any"}}, of.Structs)
}

func TestApplyRunPolicy(t *testing.T) {
	var spec v1beta1.GenericJobSpec
	framework.ApplyRunPolicy(&spec, nil)
	require.Equal(t, v1beta1.GenericJobSpec{BackoffLimit: ptr.To[int32](3), CleanUpPolicy: v1beta1.CleanUpUnfinished}, spec, "what still runs would hold its GPUs")

	policy := &v1beta1.RunPolicy{ActiveDeadlineSeconds: ptr.To[int64](60), BackoffLimit: ptr.To[int32](0), CleanUpPolicy: "all"}
	framework.ApplyRunPolicy(&spec, policy)
	require.Equal(t, v1beta1.GenericJobSpec{
		ActiveDeadlineSeconds: ptr.To[int64](60), BackoffLimit: ptr.To[int32](0), CleanUpPolicy: "all",
	}, spec)
	*spec.ActiveDeadlineSeconds = 1
	require.EqualValues(t, 60, *policy.ActiveDeadlineSeconds)
}

// A framework whose replicas train in step says so before, and its users may still say otherwise.
func TestTheFrameworksRestartScopeStaysUnlessTheUserSaysAnother(t *testing.T) {
	const none, replica, job = v1beta1.RestartScope(""), v1beta1.RestartScopeReplica, v1beta1.RestartScopeJob
	for _, tc := range []struct{ framework, user, want v1beta1.RestartScope }{
		{none, none, none}, {none, job, job}, {job, none, job}, {job, replica, replica}, {job, job, job},
	} {
		spec := v1beta1.GenericJobSpec{RestartScope: tc.framework}
		framework.ApplyRunPolicy(&spec, &v1beta1.RunPolicy{RestartScope: tc.user})
		require.Equal(t, tc.want, spec.RestartScope, "the framework says %q, the user %q", tc.framework, tc.user)
	}
	spec := v1beta1.GenericJobSpec{RestartScope: job}
	framework.ApplyRunPolicy(&spec, nil)
	require.Equal(t, job, spec.RestartScope, "without a run policy")
}

func TestRestartPolicy(t *testing.T) {
	require.Equal(t, &v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure}, framework.RestartPolicy(""))
	require.Equal(t, &v1beta1.RestartPolicy{Policy: v1beta1.RestartExitCode}, framework.RestartPolicy(v1beta1.RestartExitCode))
}

func TestSetMainContainer(t *testing.T) {
	const key = "kubectl.kubernetes.io/default-container"
	var template corev1.PodTemplateSpec
	framework.SetMainContainer(&template, "main")
	require.Equal(t, map[string]string{key: "main"}, template.Annotations)
	framework.SetMainContainer(&template, "other")
	require.Equal(t, map[string]string{key: "main"}, template.Annotations, "what is said stays")
}

func TestFindContainer(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init"}},
		Containers:     []corev1.Container{{Name: "side"}, {Name: "main"}},
	}}
	require.Same(t, &template.Spec.Containers[1], framework.FindContainer(template, "main"))
	require.Nil(t, framework.FindContainer(template, "init"))
	require.Nil(t, framework.FindContainer(&corev1.PodTemplateSpec{}, "main"))
}

func TestPutEnvFirst(t *testing.T) {
	variables := []corev1.EnvVar{{Name: "A", Value: "ours"}, {Name: "B", Value: "ours"}}
	c := &corev1.Container{Env: []corev1.EnvVar{{Name: "X", Value: "$(B)"}, {Name: "A", Value: "mine"}}}
	require.True(t, framework.SetsEnv(c, "A"))
	require.False(t, framework.SetsEnv(c, "B"))
	framework.PutEnvFirst(c, variables...)
	require.Equal(t, []corev1.EnvVar{{Name: "B", Value: "ours"}, {Name: "X", Value: "$(B)"}, {Name: "A", Value: "mine"}}, c.Env)
	require.Equal(t, []corev1.EnvVar{{Name: "A", Value: "ours"}, {Name: "B", Value: "ours"}}, variables,
		"the next container gets the same variables")

	other := &corev1.Container{}
	framework.PutEnvFirst(other, variables...)
	other.Env[0].Value = "changed"
	require.Equal(t, "ours", variables[0].Value, "containers share no memory")
}

func TestEnsurePort(t *testing.T) {
	port := func(name string, number int32, protocol corev1.Protocol) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: protocol}
	}
	ours := port("train", 2222, "TCP")
	for name, tc := range map[string]struct {
		have, want []corev1.ContainerPort
		number     int32
	}{
		"none is declared":                {nil, []corev1.ContainerPort{ours}, 2222},
		"the name moves the number":       {[]corev1.ContainerPort{port("train", 5000, "TCP")}, []corev1.ContainerPort{port("train", 5000, "TCP")}, 5000},
		"the number has another name":     {[]corev1.ContainerPort{port("grpc", 2222, "TCP")}, []corev1.ContainerPort{port("grpc", 2222, "TCP")}, 2222},
		"the number has no protocol: TCP": {[]corev1.ContainerPort{port("grpc", 2222, "")}, []corev1.ContainerPort{port("grpc", 2222, "")}, 2222},
		"the number serves UDP":           {[]corev1.ContainerPort{port("dns", 2222, "UDP")}, []corev1.ContainerPort{port("dns", 2222, "UDP"), ours}, 2222},
		"the name counts more than the number": {
			[]corev1.ContainerPort{port("grpc", 2222, "TCP"), port("train", 5000, "TCP")},
			[]corev1.ContainerPort{port("grpc", 2222, "TCP"), port("train", 5000, "TCP")}, 5000,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &corev1.Container{Ports: tc.have}
			require.Equal(t, tc.number, framework.EnsurePort(c, "train", 2222))
			require.Equal(t, tc.want, c.Ports)
		})
	}
}

func TestConfigMapNameFollowsTheData(t *testing.T) {
	name := framework.ConfigMapName("job", map[string]string{"a": "1", "b": "2"})
	require.Regexp(t, `^job-[0-9a-f]{10}$`, name)
	require.Equal(t, name, framework.ConfigMapName("job", map[string]string{"b": "2", "a": "1"}))
	require.NotEqual(t, name, framework.ConfigMapName("job", map[string]string{"a": "1", "b": "3"}))
	long := framework.ConfigMapName(strings.Repeat("j", 61), nil)
	require.LessOrEqual(t, len(long), 253)
}

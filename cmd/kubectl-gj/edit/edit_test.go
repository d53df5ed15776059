package edit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/edit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// family returns a job of a kind, by the YAML of its spec.
func family(t *testing.T, kind, spec string) *jobs.Family {
	t.Helper()
	for _, k := range jobs.Kinds() {
		if k.Kind == kind {
			job := k.New()
			require.NoError(t, yaml.UnmarshalStrict([]byte("{metadata: {name: a, namespace: ns}, spec: "+spec+"}"), job))
			gj, _ := job.(*v1beta1.GenericJob)
			return jobs.NewFamily(k, job, gj, nil)
		}
	}
	require.FailNow(t, "no kind "+kind)
	return nil
}

const (
	one  = `{replicaSpecs: [{type: worker, template: {spec: {containers: [{name: main, image: i}]}}}]}`
	two  = `{replicaSpecs: [{type: ps, template: {spec: {containers: [{name: main, image: i}]}}}, {type: worker, template: {spec: {containers: [{name: side, image: i}, {name: main, image: i, args: [x], env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: C, value: "3"}]}], initContainers: [{name: fetch, image: i}]}, metadata: {annotations: {kubectl.kubernetes.io/default-container: main}}}}]}`
	keep = `{tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: proxy, image: i}, {name: tensorflow, image: i}]}}}}}`
)

// written returns the changes of an edit, a line each, and the patch.
func written(t *testing.T, patch client.Patch, changes []edit.Change, err error) string {
	t.Helper()
	require.NoError(t, err)
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	if patch != nil {
		raw, err := patch.Data(nil)
		require.NoError(t, err)
		lines = append(lines, string(raw))
	}
	return strings.Join(lines, "\n")
}

func TestPatchesOfModes(t *testing.T) {
	f := family(t, "GenericJob", one)
	require.JSONEq(t, `{"spec":{"runMode":{"pause":{"enable":null,"enabled":true}}}}`, written(t, edit.Pause(f.Kind, true), nil, nil))
	tf := family(t, "TFJob", keep)
	require.JSONEq(t, `{"spec":{"runPolicy":{"suspend":false}}}`, written(t, edit.Pause(tf.Kind, false), nil, nil))
	debug, err := edit.Debug(f, true, true)
	require.JSONEq(t, `{"spec":{"runMode":{"debug":{"enable":null,"enabled":true,"replicaSpecs":[{"type":"worker","skipInitContainer":true}]}}}}`, written(t, debug, nil, err))
	_, err = edit.Debug(tf, true, false)
	require.ErrorContains(t, err, "a TFJob has no debug mode")
	scaled, err := edit.Scale(family(t, "GenericJob", two).Job, "worker", 3)
	require.JSONEq(t, `[{"op":"test","path":"/spec/replicaSpecs/1/type","value":"worker"},{"op":"add","path":"/spec/replicaSpecs/1/replicas","value":3}]`, written(t, scaled, nil, err))
}

func TestTheImageIsSetWhereTheCodeTrains(t *testing.T) {
	patch, changes, err := edit.Containers{}.Image(family(t, "GenericJob", two), "j")
	require.Equal(t, `ps, container main: image i -> j
worker, container main: image i -> j
[{"op":"test","path":"/spec/replicaSpecs/0/type","value":"ps"},{"op":"test","path":"/spec/replicaSpecs/0/template/spec/containers/0/name","value":"main"},{"op":"add","path":"/spec/replicaSpecs/0/template/spec/containers/0/image","value":"j"},`+
		`{"op":"test","path":"/spec/replicaSpecs/1/type","value":"worker"},{"op":"test","path":"/spec/replicaSpecs/1/template/spec/containers/1/name","value":"main"},{"op":"add","path":"/spec/replicaSpecs/1/template/spec/containers/1/image","value":"j"}]`,
		written(t, patch, changes, err))
	patch, changes, err = edit.Containers{Container: "fetch"}.Image(family(t, "GenericJob", two), "j")
	require.Contains(t, written(t, patch, changes, err), "worker, container fetch: image i -> j\n[")
	require.Len(t, changes, 1)
	patch, changes, err = edit.Containers{Types: []string{"worker"}}.Image(family(t, "TFJob", keep), "j")
	require.Contains(t, written(t, patch, changes, err), `Worker, container tensorflow: image i -> j
[{"op":"test","path":"/spec/tfReplicaSpecs/Worker/template/spec/containers/1/name"`)
	patch, changes, err = edit.Containers{}.Image(family(t, "GenericJob", one), "i")
	require.Empty(t, written(t, patch, changes, err), "nothing changes")
	for wrong, of := range map[string]edit.Containers{`no replica type "chief": want one of ps, worker`: {Types: []string{"chief"}}, `no container "x"`: {Container: "x"}} {
		_, _, err = of.Image(family(t, "GenericJob", two), "j")
		require.ErrorContains(t, err, wrong)
	}
}

// A removal moves what stands behind it, so the last goes first.
func TestVariables(t *testing.T) {
	variables, err := edit.Variables([]string{"A-", "B=x=y", "C-", "D="})
	require.NoError(t, err)
	patch, changes, err := edit.Containers{Types: []string{"worker"}}.Env(family(t, "GenericJob", two), variables)
	at := "/spec/replicaSpecs/1/template/spec/containers/1/env/"
	require.Equal(t, `worker, container main: env C "3" -> none
worker, container main: env B valueFrom -> "x=y"
worker, container main: env A "1" -> none
worker, container main: env D none -> ""
[{"op":"test","path":"/spec/replicaSpecs/1/type","value":"worker"},{"op":"test","path":"/spec/replicaSpecs/1/template/spec/containers/1/name","value":"main"},`+
		`{"op":"test","path":"`+at+`1/name","value":"B"},{"op":"replace","path":"`+at+`1","value":{"name":"B","value":"x=y"}},`+
		`{"op":"test","path":"`+at+`2/name","value":"C"},{"op":"remove","path":"`+at+`2"},{"op":"test","path":"`+at+`0/name","value":"A"},{"op":"remove","path":"`+at+`0"},`+
		`{"op":"add","path":"`+at+`-","value":{"name":"D"}}]`, written(t, patch, changes, err))
	same, err := edit.Variables([]string{"A=1", "Z-"})
	require.NoError(t, err)
	patch, changes, err = edit.Containers{Types: []string{"worker"}}.Env(family(t, "GenericJob", two), same)
	require.Empty(t, written(t, patch, changes, err))
	for _, wrong := range [][]string{{"A"}, {"=1"}, {"-"}, {"A=1", "A-"}} {
		_, err = edit.Variables(wrong)
		require.Error(t, err, wrong)
	}
}

func TestArguments(t *testing.T) {
	f := family(t, "GenericJob", two)
	_, _, err := edit.Containers{}.Args(f, []string{"y"})
	require.ErrorContains(t, err, "has the types ps, worker: say with --type")
	patch, changes, err := edit.Containers{Types: []string{"worker"}}.Args(f, []string{"y", "--z"})
	require.Contains(t, written(t, patch, changes, err), `worker, container main: args ["x"] -> ["y" "--z"]`)
	patch, changes, err = edit.Containers{Types: []string{"worker"}}.Args(f, nil)
	require.Contains(t, written(t, patch, changes, err), `{"op":"remove","path":"/spec/replicaSpecs/1/template/spec/containers/1/args"}]`)
	patch, changes, err = edit.Containers{}.Args(family(t, "GenericJob", one), nil)
	require.Empty(t, written(t, patch, changes, err))
}

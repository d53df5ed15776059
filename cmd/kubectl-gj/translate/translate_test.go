package translate_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/translate"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/translators/framework"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// golden is what a translator's own golden file says of a job.
type golden struct {
	Error   string                  `json:"error"`
	Foreign bool                    `json:"foreign"`
	Spec    *v1beta1.GenericJobSpec `json:"spec"`
}

// TestJobsBecomeWhatTheirTranslatorsMakeOfThem translates every case of every translator.
func TestJobsBecomeWhatTheirTranslatorsMakeOfThem(t *testing.T) {
	cases := 0
	for _, pattern := range []string{"../../../translators/pytorch/testdata/*.golden.yaml",
		"../../../translators/tensorflow/testdata/*.golden.yaml", "../../../translators/kubeflow/testdata/*/*.golden.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			var want golden
			require.NoError(t, yaml.Unmarshal(raw, &want))
			for _, made := range read(t, strings.TrimSuffix(file, ".golden.yaml")+".yaml") {
				cases++
				requireIs(t, want, made, file)
			}
		}
	}
	require.Greater(t, cases, 50)
}

func read(t *testing.T, file string) []translate.Made {
	t.Helper()
	manifest, err := os.Open(file)
	require.NoError(t, err)
	defer manifest.Close()
	made, _, err := translate.Read(manifest, true)
	require.NoError(t, err, file)
	return made
}

func requireIs(t *testing.T, want golden, made translate.Made, file string) {
	t.Helper()
	switch {
	case want.Foreign:
		require.ErrorContains(t, made.Err, "another controller", file)
		return
	case want.Error != "":
		require.EqualError(t, made.Err, want.Error, file)
		return
	}
	require.NoError(t, made.Err, file)
	var frameworks []framework.Registration
	for _, kind := range jobs.Kinds()[:4] {
		frameworks = append(frameworks, *kind.Framework)
	}
	scheme, err := controllers.NewScheme(frameworks...)
	require.NoError(t, err)
	require.NoError(t, made.SetKinds(scheme))
	pods, replicas := 0, 0
	for _, o := range made.Objects {
		require.NotEmpty(t, o.GetObjectKind().GroupVersionKind().Kind, "%T", o)
		switch made := o.(type) {
		case *v1beta1.GenericJob:
			require.Len(t, made.Spec.ReplicaSpecs, len(want.Spec.ReplicaSpecs))
			for i, r := range made.Spec.ReplicaSpecs {
				require.True(t, equality.Semantic.DeepEqual(want.Spec.ReplicaSpecs[i].Template.Spec, r.Template.Spec), file)
				replicas += int(*r.Replicas)
			}
		case *corev1.Pod:
			pods++
		}
	}
	require.Equal(t, replicas, pods, file)
}

func TestWhatIsWrongWithAManifest(t *testing.T) {
	for name, tc := range map[string]struct{ manifest, want string }{
		"a field that the kind lacks": {`{kind: GenericJob, apiVersion: batch.tensorstack.dev/v1beta1, metadata: {name: x}, spec: {replicas: 1, replicaSpec: []}}`,
			`unknown field "spec.replicaSpec"`},
		"a field of another type": {`{kind: GenericJob, apiVersion: batch.tensorstack.dev/v1beta1, metadata: {name: x}, spec: {backoffLimit: many}}`,
			"cannot unmarshal string into Go struct field GenericJobSpec.spec.backoffLimit of type int32"},
		"a word where an object is wanted": {`{kind: GenericJob, apiVersion: batch.tensorstack.dev/v1beta1, metadata: {name: x}, spec: {replicaSpecs: [{type: worker, restartPolicy: OnFailure}]}}`,
			"in a GenericJob it is an object, as in restartPolicy: {policy: OnFailure, limit: 3}"},
		"no name": {`{kind: GenericJob, apiVersion: batch.tensorstack.dev/v1beta1, spec: {replicaSpecs: []}}`, "metadata.name is empty"},
		"no replicas": {`{kind: GenericJob, apiVersion: batch.tensorstack.dev/v1beta1, metadata: {name: x}, spec: {}}`,
			"spec.replicaSpecs is empty"},
		"a variable that names nobody": {`{kind: GenericJob, apiVersion: batch.tensorstack.dev/v1beta1, metadata: {name: x}, spec: {replicaSpecs: [{type: worker,
			template: {spec: {containers: [{name: main, args: ["$(service.master[0].host)"]}]}}}]}}`, "container main: $(service.master[0].host)"},
		"another's": {`{kind: GenericJob, apiVersion: batch.tensorstack.dev/v1beta1, metadata: {name: x}, spec: {managedBy: kueue.x-k8s.io/multikueue}}`,
			`spec.managedBy is "kueue.x-k8s.io/multikueue"`},
	} {
		t.Run(name, func(t *testing.T) {
			made, _, err := translate.Read(strings.NewReader(tc.manifest), false)
			require.NoError(t, err)
			require.Len(t, made, 1)
			require.ErrorContains(t, made[0].Err, tc.want)
			require.Empty(t, made[0].Objects)
		})
	}
	_, skipped, err := translate.Read(strings.NewReader("# nothing\n---\nkind: Secret\napiVersion: v1\n"), false)
	require.NoError(t, err)
	require.Equal(t, []string{"Secret"}, skipped)
	_, _, err = translate.Read(strings.NewReader("a: b: c"), false)
	require.ErrorContains(t, err, "document 1: ")
}

func TestLines(t *testing.T) {
	made := read(t, "testdata/mnist.yaml")
	var got strings.Builder
	for i := range made {
		scheme, err := controllers.NewScheme()
		require.NoError(t, err)
		require.NoError(t, made[i].SetKinds(scheme))
		got.WriteString(strings.Join(made[i].Lines(), "\n") + "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/mnist.golden", []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/mnist.golden")
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

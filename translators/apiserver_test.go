package translators_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/translatortest"
)

// cluster is the apiserver that all tests of this package share.
var cluster *envtest.Environment

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }))
}

// newClient is a client whose requests are tried, not carried out.
func newClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	for _, r := range byKind(t) {
		require.NoError(t, r.AddToScheme(scheme))
	}
	require.NoError(t, v1beta1.AddToScheme(scheme))
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return client.NewDryRunClient(client.WithFieldValidation(c, metav1.FieldValidationIgnore))
}

// TestTheApiserverStoresWhatIsCompiled creates each golden case, compiles what is stored, and creates the GenericJob.
func TestTheApiserverStoresWhatIsCompiled(t *testing.T) {
	c := newClient(t)
	folders, err := filepath.Glob("*/testdata")
	require.NoError(t, err)
	cases := 0
	for _, folder := range folders {
		for _, file := range translatortest.Cases(t, folder) {
			for _, j := range jobsIn(t, file) {
				cases++
				t.Run(file, func(t *testing.T) { storesWhatIsCompiled(t, c, j) })
			}
		}
	}
	require.NotZero(t, cases)
}

// TestManifestsFromTheFieldCompile compiles the jobs of other people: GENERICJOB_CONFORMANCE is a folder that holds them in
// its sub-folder t9k. What their schema drops is tested where the kinds are.
func TestManifestsFromTheFieldCompile(t *testing.T) {
	folder := os.Getenv("GENERICJOB_CONFORMANCE")
	if folder == "" {
		t.Skip("GENERICJOB_CONFORMANCE names no folder with manifests from the field, so none is tried")
	}
	files, err := filepath.Glob(filepath.Join(folder, "t9k", "*.yaml"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("GENERICJOB_CONFORMANCE: there is no manifest in %s/t9k, so none is tried", folder)
	}
	c := newClient(t)
	found := map[schema.GroupVersionKind]int{}
	for _, file := range files {
		for _, j := range jobsIn(t, file) {
			kind := j.GroupVersionKind()
			found[kind]++
			t.Run(kind.Kind+"/"+filepath.Base(file), func(t *testing.T) {
				require.Empty(t, storesWhatIsCompiled(t, c, j), "Compile refuses it")
			})
		}
	}
	for kind := range byKind(t) {
		require.NotZero(t, found[kind], "manifests of %s", kind)
	}
}

// storesWhatIsCompiled checks that the GenericJob of a job is stored as it was compiled. If it were not, the reconciler would write it
// again and again. storesWhatIsCompiled returns why the job does not compile, "" if it does.
func storesWhatIsCompiled(t *testing.T, c client.Client, j *unstructured.Unstructured) string {
	t.Helper()
	j.SetNamespace(metav1.NamespaceDefault)
	refused := c.Create(t.Context(), j)
	require.True(t, refused == nil || apierrors.IsInvalid(refused), "%v", refused)
	r := byKind(t)[j.GroupVersionKind()]
	job := r.New()
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(j.Object, job))
	program, err := r.Compile(job)
	if err != nil {
		return err.Error()
	}
	require.NoError(t, refused, "it compiles, but the apiserver does not take it")

	made := &v1beta1.GenericJob{Spec: *program.Spec.DeepCopy()}
	made.Name, made.Namespace = job.GetName(), job.GetNamespace()
	require.NoError(t, c.Create(t.Context(), made))
	require.True(t, equality.Semantic.DeepEqual(program.Spec, made.Spec), "compiled:\n%s\nstored:\n%s",
		translatortest.Render(t, program, nil), translatortest.Render(t, framework.Program{Spec: made.Spec}, nil))
	return ""
}

// jobsIn are the documents in a file of the kinds that there are translators for.
func jobsIn(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var jobs []*unstructured.Unstructured
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		var u unstructured.Unstructured
		err := documents.Decode(&u)
		if errors.Is(err, io.EOF) {
			return jobs
		}
		require.NoError(t, err, file)
		if _, ok := byKind(t)[u.GroupVersionKind()]; ok {
			jobs = append(jobs, &u)
		}
	}
}

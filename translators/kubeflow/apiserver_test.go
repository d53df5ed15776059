package kubeflow_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
	"github.com/genericjob/genericjob/translators/translatortest"
)

// cluster is the apiserver that all tests of this package share.
var cluster *envtest.Environment

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }, "kubeflow/crd"))
}

// publicManifests is what the names of manifests begin with that people have published. Kubeflow's operators take all of them.
const publicManifests = "public/"

// manifests are the golden cases, and the examples in GENERICJOB_CONFORMANCE if that is set.
func manifests(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, folder := range []string{"tfjob", "pytorchjob", "xgboostjob", "paddlejob", "jaxjob", "mpijob"} {
		for _, file := range translatortest.Cases(t, "testdata/"+folder) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			found[file] = raw
		}
	}
	recorded, err := filepath.Glob(filepath.Join(os.Getenv("GENERICJOB_CONFORMANCE"), "kubeflow", "*.json"))
	require.NoError(t, err)
	for _, file := range recorded {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		recording := struct {
			Manifest json.RawMessage `json:"manifest"`
		}{}
		require.NoError(t, json.Unmarshal(raw, &recording))
		found[filepath.Base(file)] = recording.Manifest
	}
	public, err := filepath.Glob(filepath.Join(os.Getenv("GENERICJOB_CONFORMANCE"), "kubeflow-public", "manifests", "*.json"))
	require.NoError(t, err)
	for _, file := range public {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		found[publicManifests+filepath.Base(file)] = raw
	}
	return found
}

// What a job is compiled to must be stored as it was compiled: the reconciler would write it again and again if it were
// not.
func TestTheApiserverStoresWhatIsCompiled(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	kinds := map[string]framework.Registration{}
	for _, r := range kubeflow.All("", true) {
		require.NoError(t, r.AddToScheme(scheme))
		kind, err := apiutil.GVKForObject(r.New(), scheme)
		require.NoError(t, err)
		kinds[kind.Kind] = r
	}
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	c = client.NewDryRunClient(c)
	for name, raw := range manifests(t) {
		t.Run(name, func(t *testing.T) {
			kind := metav1.TypeMeta{}
			require.NoError(t, yaml.Unmarshal(raw, &kind))
			r := kinds[kind.Kind]
			job := r.New()
			if strings.HasPrefix(name, publicManifests) {
				require.NoError(t, yaml.Unmarshal(raw, job)) // they may have fields that nobody knows
			} else {
				require.NoError(t, yaml.UnmarshalStrict(raw, job))
			}
			job.SetNamespace(metav1.NamespaceDefault)
			refused := c.Create(t.Context(), job)
			program, invalid := r.Compile(job)
			require.False(t, strings.HasPrefix(name, publicManifests) && invalid != nil, "%v", invalid)
			if invalid != nil || program.Foreign {
				require.True(t, refused == nil || apierrors.IsInvalid(refused), "%v", refused)
				return
			}
			require.NoError(t, refused, "it compiles, but the apiserver does not take it")
			made := &v1beta1.GenericJob{Spec: *program.Spec.DeepCopy()}
			made.Name, made.Namespace = job.GetName(), job.GetNamespace()
			require.NoError(t, c.Create(t.Context(), made))
			require.True(t, equality.Semantic.DeepEqual(program.Spec, made.Spec), "compiled:\n%s\nstored:\n%s",
				translatortest.Render(t, program, nil), translatortest.Render(t, framework.Program{Spec: made.Spec}, nil))
		})
	}
}

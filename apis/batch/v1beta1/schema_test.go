package v1beta1_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

const crdName = "genericjobs.batch.tensorstack.dev"

// crdFile is the path of the CRD that the tests' apiserver has installed.
func crdFile(t *testing.T) string {
	t.Helper()
	root, err := testenv.Root()
	require.NoError(t, err)
	return filepath.Join(root, "deploy", "crd", "batch.tensorstack.dev_genericjobs.yaml")
}

// manifest is what a user would write to get j.
func manifest(t *testing.T, j *v1beta1.GenericJob) *unstructured.Unstructured {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(j)
	require.NoError(t, err)
	delete(object, "status")
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))
	return u
}

// kubectl runs kubectl as the apiserver's administrator, with a home of its own.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	program := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	require.FileExists(t, program, "run `make test`")
	home := t.TempDir()
	config := filepath.Join(home, "kubeconfig")
	require.NoError(t, os.WriteFile(config, cluster.KubeConfig, 0o600))
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+config, "HOME="+home)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// kubectl apply keeps the whole file in an annotation, and annotations may have 262,144 bytes.
func TestTheCRDNeedsNoServerSideApply(t *testing.T) {
	raw, err := os.ReadFile(crdFile(t))
	require.NoError(t, err)
	compact, err := yaml.YAMLToJSON(raw)
	require.NoError(t, err)
	require.Less(t, len(compact), 262_144)

	kubectl(t, "apply", "-f", crdFile(t))
	applied := kubectl(t, "get", "crd", crdName, "-o", "json")
	var crd unstructured.Unstructured
	require.NoError(t, json.Unmarshal([]byte(applied), &crd.Object))
	require.JSONEq(t, string(compact), crd.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"])
}

func TestKubectlExplainsAFieldOfOurs(t *testing.T) {
	require.Contains(t, kubectl(t, "explain", "genericjob.spec.backoffLimit"), "restarts that all replicas share")
}

func TestEveryFieldOfOursIsDescribed(t *testing.T) {
	described := map[string]bool{}
	walk("", served(t), func(path string, schema map[string]any) {
		text, _ := schema["description"].(string)
		described[path] = text != ""
	})
	require.Contains(t, described, ".spec.replicaSpecs[].restartPolicy.limit")
	require.Contains(t, described, ".status.ledger[].replicas[].rank")
	for path, ok := range described {
		require.True(t, ok, "%s has no description", path)
	}
}

// served is the schema of GenericJob as the apiserver publishes it.
func served(t *testing.T) map[string]any {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	require.NoError(t, err)
	paths, err := d.OpenAPIV3().Paths()
	require.NoError(t, err)
	path := paths["apis/"+v1beta1.GroupVersion.String()]
	require.NotNil(t, path)
	raw, err := path.Schema(runtime.ContentTypeJSON)
	require.NoError(t, err)
	var doc struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	return doc.Components.Schemas["dev.tensorstack.batch.v1beta1.GenericJob"]
}

// walk visits all properties but those inside of pod templates, which are Kubernetes' own.
func walk(path string, schema map[string]any, visit func(string, map[string]any)) {
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		property := property.(map[string]any)
		visit(path+"."+name, property)
		if name != "template" {
			walk(path+"."+name, property, visit)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		walk(path+"[]", items, visit)
	}
}

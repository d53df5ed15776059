package v1beta1_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// crdFiles are the paths of the CRDs that the tests' apiserver has installed, one for each of our kinds.
func crdFiles(t *testing.T) []string {
	t.Helper()
	root, err := testenv.Root()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(root, "deploy", "crd", "batch.tensorstack.dev_*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, len(kinds(t))+1, "the jobs, and TrainingFramework")
	return files
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
func TestTheCRDsNeedNoServerSideApply(t *testing.T) {
	for _, file := range crdFiles(t) {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		compact, err := yaml.YAMLToJSON(raw)
		require.NoError(t, err)
		require.Less(t, len(compact), 262_144, file)

		kubectl(t, "apply", "-f", file)
		applied := kubectl(t, "get", "-f", file, "-o", "json")
		var crd unstructured.Unstructured
		require.NoError(t, json.Unmarshal([]byte(applied), &crd.Object))
		require.JSONEq(t, string(compact), crd.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"])
	}
}

func TestKubectlExplainsAFieldOfOurs(t *testing.T) {
	require.Contains(t, kubectl(t, "explain", "genericjob.spec.backoffLimit"), "restarts that all replicas share")
	require.Contains(t, kubectl(t, "explain", "tj.spec.runPolicy.backoffLimit"), "Default 3")
	require.Contains(t, kubectl(t, "explain", "tj.spec.tensorboardSpec.logDir.s3.uri"), "s3://<bucket>/<path>")
}

// Shapes of the kinds as kubectl shows them.
func TestShortNamesAndColumns(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	shorts := map[string]string{
		"gj": v1beta1.KindGenericJob, "tj": v1beta1.KindTensorFlowTrainingJob, "pj": v1beta1.KindPyTorchTrainingJob,
	}
	require.Len(t, shorts, len(kinds(t)))
	columns := []string{"NAME", "PHASE", "RUNNING", "RESTARTS", "AGE"}
	for short, kind := range shorts {
		j := inPhase(t, c, ns, good[kind](), v1beta1.JobRunning)
		patch := `{"status":{"running":"2/3","backoffCount":4,"aggregate":{"creating":0,"pending":0,"running":2,"succeeded":6,"failed":0,"unknown":0,"deleted":0},"disruptionCount":5,"conditions":[` +
			`{"type":"Running","status":"False","message":"why"}]}}`
		require.NoError(t, c.Status().Patch(t.Context(), j, client.RawPatch(client.Merge.Type(), []byte(patch))))

		lines := strings.Split(kubectl(t, "get", short, "-n", ns), "\n")
		require.Equal(t, columns, strings.Fields(lines[0]), kind)
		require.Equal(t, []string{j.GetName(), "Running", "2/3", "4"}, strings.Fields(lines[1])[:4], kind)
		lines = strings.Split(kubectl(t, "get", short, "-n", ns, "-o", "wide"), "\n")
		require.Equal(t, append(columns, "SUCCEEDED", "DISRUPTIONS", "MESSAGE"), strings.Fields(lines[0]), kind)
		require.Equal(t, []string{"6", "5", "why"}, strings.Fields(lines[1])[5:], kind)
		require.Contains(t, kubectl(t, "get", "all", "-n", ns), j.GetName(), kind)
	}
}

func TestEveryFieldOfOursIsDescribed(t *testing.T) {
	for kind := range kinds(t) {
		described := map[string]bool{}
		walk("", served(t, kind), func(path string, schema map[string]any) {
			text, _ := schema["description"].(string)
			described[path] = text != ""
		})
		require.Contains(t, described, ".spec.replicaSpecs[].restartPolicy")
		require.Contains(t, described, ".status.tasks[].replicas[].containers[].exitCode")
		for path, ok := range described {
			require.True(t, ok, "%s%s has no description", kind, path)
		}
	}
}

// served is the schema of a kind as the apiserver publishes it.
func served(t *testing.T, kind string) map[string]any {
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
	return doc.Components.Schemas["dev.tensorstack.batch.v1beta1."+kind]
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

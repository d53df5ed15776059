// Package helm holds the chart; its tests keep what the chart promises. Those that render it need the program helm, which
// `make chart` builds.
package helm

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	chart = "genericjob"
	// definitions are what a cluster has that had the chart before: the kind of definitions.
	definitions = "batch.tensorstack.dev/v1beta1/TrainingFramework"

	namespace = "genericjob-system"
)

// helm runs the program that the environment variable HELM names.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("HELM")
	if program == "" {
		t.Skip("HELM names no program, so the chart is not rendered: run make chart, which builds it")
	}
	command := exec.CommandContext(t.Context(), program, args...)
	home := t.TempDir() // nobody's repositories and plugins
	command.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	said := &strings.Builder{}
	command.Stderr = said
	text, err := command.Output()
	return string(text) + ofLinks.ReplaceAllString(said.String(), ""), err
}

// ofLinks are the lines in which Helm names the links of a chart, at every command.
var ofLinks = regexp.MustCompile(`(?m)^.*found symbolic link in path.*\n`)

// rendered are the objects that the chart makes with these arguments, by kind, namespace and name.
func rendered(t *testing.T, args ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	text, err := helm(t, append([]string{"template", "genericjob", chart, "--namespace", namespace, "--kube-version", "1.30"}, args...)...)
	require.NoError(t, err, text)
	return objects(t, text)
}

// kustomized are the objects of a kustomization.
func kustomized(t *testing.T, folder string) map[string]*unstructured.Unstructured {
	t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	text, err := exec.CommandContext(t.Context(), kubectl, "kustomize", folder).CombinedOutput()
	require.NoError(t, err, "%s: make chart sets KUBEBUILDER_ASSETS", text)
	return objects(t, string(text))
}

func objects(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 1<<20)
	for {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(o); err != nil {
			require.ErrorContains(t, err, "EOF")
			return found
		}
		if o.Object == nil {
			continue
		}
		id := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
		require.NotContains(t, found, id)
		found[id] = o
	}
}

// withoutHelms is an object without what is Helm's own.
func withoutHelms(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by"} {
		unstructured.RemoveNestedField(o.Object, "metadata", "labels", label)
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "helm.sh/resource-policy")
	if len(o.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	}
	return o
}

func text(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	raw, err := json.MarshalIndent(o, "", " ")
	require.NoError(t, err)
	return string(raw)
}

func TestTheChartIsWhatKustomizeMakes(t *testing.T) {
	for folder, args := range map[string][]string{
		"../default":          nil,
		"../kubeflow":         {"--set", "kubeflow.enabled=true"},
		"testdata/components": {"--set", "networkPolicy.enabled=true,podDisruptionBudget.enabled=true,serviceMonitor.enabled=true,prometheusRule.enabled=true"},
		"testdata/frameworks": {"--set", "frameworks={mpi,xgboost}", "--api-versions", definitions},
	} {
		t.Run(folder, func(t *testing.T) {
			got, want := rendered(t, args...), kustomized(t, folder)
			delete(want, "Namespace /"+namespace) // Helm's --create-namespace
			for id, o := range got {
				require.Equal(t, "Helm", o.GetLabels()["app.kubernetes.io/managed-by"], id)
				require.Contains(t, want, id, "kustomize does not make it")
				require.Equal(t, text(t, want[id]), text(t, withoutHelms(o)), id)
				delete(want, id)
			}
			require.Empty(t, want, "the chart does not make them")
		})
	}
}

func TestLint(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"--set", "kubeflow.enabled=true,networkPolicy.enabled=true,podDisruptionBudget.enabled=true,serviceMonitor.enabled=true"},
		{"--set", "frameworks={mpi},prometheusRule.enabled=true,dashboard.enabled=true,replicas=2"},
		{"--set", "namespaces={a,b},clusterScoped=false"},
	} {
		text, err := helm(t, append([]string{"lint", "--strict", chart}, args...)...)
		require.NoError(t, err, text)
	}
}

// An uninstall must delete no job: a kind that goes takes its jobs with it.
func TestTheKindsAreKept(t *testing.T) {
	kept := 0
	for id, o := range rendered(t, "--set", "kubeflow.enabled=true") {
		policy, has := o.GetAnnotations()["helm.sh/resource-policy"]
		require.Equal(t, o.GetKind() == "CustomResourceDefinition", has, id)
		if has {
			require.Equal(t, "keep", policy)
			kept++
		}
	}
	require.Equal(t, 10, kept)
}

// What an operator of some namespaces may do, it may do there.
func TestOfSomeNamespacesThereIsNoClusterRoleOnPods(t *testing.T) {
	all := rendered(t, "--set", "kubeflow.enabled=true")
	some := rendered(t, "--set", "kubeflow.enabled=true,namespaces={a,b}")
	for id, o := range some {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, rule := range rules {
			resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
			require.False(t, o.GetKind() == "ClusterRole" && slices.Contains(resources, "pods"), id)
		}
	}
	for _, name := range []string{"genericjob-manager", "genericjob-kubeflow-manager", "genericjob-kubeflow-keys"} {
		require.NotContains(t, some, "ClusterRole /"+name)
		require.NotContains(t, some, "ClusterRoleBinding /"+name)
		for _, namespace := range []string{"a", "b"} {
			require.Equal(t, all["ClusterRole /"+name].Object["rules"], some["Role "+namespace+"/"+name].Object["rules"])
			binding := some["RoleBinding "+namespace+"/"+name].Object
			require.Equal(t, map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}, binding["roleRef"])
			require.Equal(t, all["ClusterRoleBinding /"+name].Object["subjects"], binding["subjects"])
		}
	}
	args, _, _ := unstructured.NestedSlice(container(t, some), "args")
	require.Contains(t, args, "--namespaces=a,b")
}

// Where users make the keys of MPIJobs, the operator has no right on Secrets.
func TestWhoMakesTheKeysOfMPIJobs(t *testing.T) {
	for _, makes := range []bool{true, false} {
		all := rendered(t, "--set", fmt.Sprintf("kubeflow.enabled=true,kubeflow.mpiKeys=%t", makes))
		args, _, _ := unstructured.NestedSlice(container(t, all), "args")
		require.Equal(t, makes, slices.Contains(args, any("--mpi-keys")))
		var verbs []any
		for _, o := range all {
			rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
			for _, rule := range rules {
				if resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources"); slices.Contains(resources, "secrets") {
					verbs = append(verbs, rule.(map[string]any)["verbs"].([]any)...)
				}
			}
		}
		if makes {
			require.Equal(t, []any{"create"}, verbs)
		} else {
			require.Empty(t, verbs)
		}
	}
}

func TestWithoutWhatIsClusterScopedAllIsInNamespaces(t *testing.T) {
	for id, o := range rendered(t, "--set", "clusterScoped=false,kubeflow.enabled=true,namespaces={a}") {
		require.NotEmpty(t, o.GetNamespace(), id)
	}
	text, err := helm(t, "template", chart, "--kube-version", "1.30", "--set", "clusterScoped=false")
	require.Error(t, err)
	require.Contains(t, text, "name in namespaces those whose jobs it serves")
}

// container is the operator's.
func container(t *testing.T, all map[string]*unstructured.Unstructured) map[string]any {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(podOf(t, all), "spec", "containers")
	require.NoError(t, err)
	return containers[0].(map[string]any)
}

// podOf is the template of the operator's pod.
func podOf(t *testing.T, all map[string]*unstructured.Unstructured) map[string]any {
	t.Helper()
	template, _, err := unstructured.NestedMap(all["Deployment "+namespace+"/genericjob-manager"].Object, "spec", "template")
	require.NoError(t, err)
	return template
}

// copied is a copy of the chart, with manifests in place of its links to them: a release packs this.
func copied(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	text, err := exec.CommandContext(t.Context(), "cp", "-RL", chart+"/.", folder).CombinedOutput()
	require.NoError(t, err, string(text))
	return folder
}

// Who clones on a system without symbolic links gets files that hold the links' targets. Without this the chart would install nothing.
func TestAChartWhoseLinksAreLostIsRefused(t *testing.T) {
	folder := copied(t)
	manifests := filepath.Join(folder, "bases", "manager")
	require.NoError(t, os.RemoveAll(manifests))
	require.NoError(t, os.WriteFile(manifests, []byte("../../../manager"), 0o600))
	text, err := helm(t, "template", folder, "--kube-version", "1.30")
	require.Error(t, err)
	require.Contains(t, text, "bases/ holds no manifests")
}

// largeKind is the size, in bytes, of kinds of definitions that the chart leaves out: a release has no room for them. TestAReleaseFitsIntoItsSecret
// knows.
const largeKind = 32 << 10

// The chart points at the manifests and has none of its own, so that there is one text of each.
func TestEachFolderOfTheChartsManifestsIsALink(t *testing.T) {
	folders := []string{
		"crd", "rbac", "manager", "network-policy", "disruption-budget", "service-monitor", "node-conditions", "framework-schemas", "kubeflow/crd", "kubeflow/component",
		"monitoring/component",
	}
	frameworks, err := os.ReadDir("../frameworks")
	require.NoError(t, err)
	for _, f := range frameworks {
		crd, err := os.Stat("../frameworks/" + f.Name() + "/crd.yaml")
		require.NoError(t, err)
		if crd.Size() < largeKind {
			folders = append(folders, "frameworks/"+f.Name())
		} else {
			require.NoFileExists(t, filepath.Join(chart, "bases/frameworks", f.Name()))
		}
	}
	linked, err := filepath.EvalSymlinks(filepath.Join(chart, "bases/monitoring/dashboard.json"))
	require.NoError(t, err)
	require.Equal(t, "../monitoring/dashboard.json", linked)
	for _, folder := range folders {
		link := filepath.Join(chart, "bases", folder)
		info, err := os.Lstat(link)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink, "%s is no link", link)
		linked, err := filepath.EvalSymlinks(link)
		require.NoError(t, err)
		require.Equal(t, filepath.Join("..", folder), linked)
		manifests, err := filepath.Glob(filepath.Join(link, "*.yaml"))
		require.NoError(t, err)
		require.NotEmpty(t, manifests)
	}
}

// written is a file with this text.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

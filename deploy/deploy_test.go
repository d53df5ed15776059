// Package deploy holds the manifests; its tests keep what the manifests promise.
package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// annotationLimit is what the apiserver allows for all annotations of an object. A plain `kubectl apply` keeps the whole
// object in one.
const annotationLimit = 262_144

// documents are the YAML documents of the files that match, by "file#n".
func documents(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	found := map[string][]byte{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, doc := range regexp.MustCompile(`(?m)^---$`).Split(string(raw), -1) {
			if strings.TrimSpace(doc) != "" {
				found[file+"#"+string(rune('0'+i))] = []byte(doc)
			}
		}
	}
	require.NotEmpty(t, found, "no manifest matches %s", pattern)
	return found
}

func TestCRDFitsAPlainApply(t *testing.T) {
	for name, doc := range documents(t, "crd/*_*.yaml") {
		compact, err := yaml.YAMLToJSON(doc)
		require.NoError(t, err, name)
		require.Less(t, len(compact), annotationLimit, "%s: kubectl apply would need --server-side", name)
	}
}

func TestCRDDescribesOurFieldsAndNotThePodTemplate(t *testing.T) {
	for name, doc := range documents(t, "crd/*_*.yaml") {
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema struct {
							Properties map[string]any `json:"properties"`
						} `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		require.NoError(t, yaml.Unmarshal(doc, &crd), name)
		for _, version := range crd.Spec.Versions {
			for _, field := range []string{"spec", "status"} {
				schema, ok := version.Schema.OpenAPIV3Schema.Properties[field].(map[string]any)
				require.True(t, ok, "%s: no %s", name, field)
				requireDescribed(t, name+": "+field, schema)
			}
		}
	}
}

// requireDescribed walks the properties of a schema. Below a template, descriptions are Kubernetes' own: too large to
// ship. Below a Service port they are Kubernetes' too, and small.
func requireDescribed(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	require.NotEmpty(t, schema["description"], "%s: describe it in apis/, for kubectl explain", path)
	if items, ok := schema["items"].(map[string]any); ok {
		schema = items
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, child := range properties {
		property, ok := child.(map[string]any)
		require.True(t, ok, "%s.%s", path, name)
		if name == "template" {
			raw, err := json.Marshal(property["properties"])
			require.NoError(t, err)
			require.NotContains(t, string(raw), `"description":"`, "%s.%s: run deploy/crd/trim", path, name)
			continue
		}
		requireDescribed(t, path+"."+name, property)
	}
}

func TestOperatorMayDoNoMoreThanItUses(t *testing.T) {
	for name, doc := range documents(t, "rbac/*_role*.yaml") {
		var role rbacv1.ClusterRole // a Role has the same rules
		require.NoError(t, yaml.Unmarshal(doc, &role), name)
		for _, rule := range role.Rules {
			require.NotEmpty(t, rule.Verbs, name)
			for _, words := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
				require.NotContains(t, strings.Join(words, " "), "*", name)
			}
			for _, resource := range []string{"secrets", "pods/exec", "serviceaccounts/token"} {
				require.NotContains(t, rule.Resources, resource, name)
			}
			if slices.Contains(rule.Resources, "nodes") {
				require.Equal(t, []string{"get", "list"}, rule.Verbs, "%s: to see whether one answers, and how many there are; it never changes one", name)
			}
			for _, verb := range []string{"escalate", "bind", "impersonate"} {
				require.NotContains(t, rule.Verbs, verb, name)
			}
		}
	}
}

func TestNobodyIsGivenTheLedgerToEdit(t *testing.T) {
	for name, doc := range documents(t, "rbac/user_roles.yaml") {
		var role rbacv1.ClusterRole
		require.NoError(t, yaml.Unmarshal(doc, &role), name)
		for _, rule := range role.Rules {
			require.NotContains(t, rule.Resources, "genericjobs/status", name)
		}
	}
}

// The fields that the Pod Security Standard "restricted" asks for, and the two that are ours: a read-only root and
// bounded memory.
func TestManagerPodIsRestricted(t *testing.T) {
	raw, err := os.ReadFile("manager/manager.yaml")
	require.NoError(t, err)
	var deployment appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict(raw, &deployment))
	pod := deployment.Spec.Template.Spec

	require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
	require.Empty(t, pod.Volumes)
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.Len(t, pod.Containers, 1)

	manager := pod.Containers[0]
	require.False(t, *manager.SecurityContext.AllowPrivilegeEscalation)
	require.True(t, *manager.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, []corev1.Capability{"ALL"}, manager.SecurityContext.Capabilities.Drop)
	require.Empty(t, manager.SecurityContext.Capabilities.Add)
	require.False(t, manager.Resources.Limits.Memory().IsZero())
	require.NotNil(t, manager.LivenessProbe)
	require.NotNil(t, manager.ReadinessProbe)
	for _, port := range manager.Ports {
		require.Zero(t, port.HostPort)
	}
}

// OpenShift's restricted-v2 refuses pods that name a user, a group or a file system's group outside of the namespace's
// range. Without one the kubelet asks the image, whose user must be a number for that.
func TestNoUserIsNamedThatOpenShiftRefuses(t *testing.T) {
	raw, err := os.ReadFile("manager/manager.yaml")
	require.NoError(t, err)
	var deployment appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict(raw, &deployment))
	pod := deployment.Spec.Template.Spec
	require.Equal(t, []any{(*int64)(nil), (*int64)(nil), (*int64)(nil)},
		[]any{pod.SecurityContext.RunAsUser, pod.SecurityContext.RunAsGroup, pod.SecurityContext.FSGroup})
	require.Nil(t, pod.Containers[0].SecurityContext.RunAsUser)
	require.Nil(t, pod.Containers[0].SecurityContext.RunAsGroup)
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	require.Regexp(t, `image -ref \$\(IMG\) .* -user [1-9][0-9]*:[1-9][0-9]* `, string(makefile))
}

// Go knows the limit of its container, or it is killed while most of its memory is garbage.
func TestTheManagerIsToldOfItsMemoryLimit(t *testing.T) {
	raw, err := os.ReadFile("manager/manager.yaml")
	require.NoError(t, err)
	var deployment appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict(raw, &deployment))
	require.Contains(t, deployment.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{
		Name: "MEMORY_LIMIT", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}},
	})
}

// `make deploy` replaces the image in what kustomize renders, by the one line that looks like an image.
func TestInstallationRendersWithOneImage(t *testing.T) {
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		t.Skipf("no kubectl in KUBEBUILDER_ASSETS, so deploy/default is not rendered: run make test")
	}
	rendered, err := exec.CommandContext(t.Context(), kubectl, "kustomize", "default").CombinedOutput()
	require.NoError(t, err, string(rendered))
	images := regexp.MustCompile(`(?m)^ *image: [^ ]+$`).FindAllString(string(rendered), -1)
	require.Len(t, images, 1)
	require.Regexp(t, nobodys, images[0])
	require.NotContains(t, string(rendered), "namespace: system\n", "a reference was not renamed")
}

// nobodys is an image of a registry whose domain nobody can own: RFC 2606 keeps .invalid for that.
var nobodys = regexp.MustCompile(`^ *(- )?(image|name|newName): [a-z-]+\.invalid/[a-z/]+(:dev)?$`)

// An install without editing, or of a part of it, pulled docker.io/genericjob/manager: whoever registers that name would
// have had the operator's rights.
func TestAnInstallationWithoutEditingPullsNobodysImage(t *testing.T) {
	for _, file := range []string{"manager/manager.yaml", "default/kustomization.yaml", "../e2e/extension/deploy/kustomization.yaml"} {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		lines := regexp.MustCompile(`(?m)^ *(image|- name|newName): .*/manager.*$`).FindAllString(string(raw), -1)
		require.NotEmpty(t, lines, file)
		for _, line := range lines {
			require.Regexp(t, nobodys, line, file)
		}
	}
}

package suite_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// kueueNamespace is where Kueue's own manifests put it.
const kueueNamespace = "kueue-system"

const kueueImage = "localhost/kueue:dev"

// startKueue installs Kueue by its own manifests for the rest of the test, and configures it as deploy/kueue says.
func startKueue(served *space) {
	t := served.t
	t.Helper()
	manifests := kueueManifests(t)
	t.Cleanup(func() {
		// Kueue itself must take its finalizers off what the tests have deleted.
		_ = exec.Command(kubectl, "wait", "--for=delete", "--timeout=2m", "--all", "clusterqueues,resourceflavors,topologies.kueue.x-k8s.io").Run()
		text, err := exec.Command(kubectl, "delete", "--ignore-not-found", "--timeout=3m", "--filename", manifests).CombinedOutput()
		require.NoError(t, err, string(text))
	})
	kubectlOf(t, "apply", "--server-side", "--filename", manifests)
	configureKueue(t)
	served.follow(kueueDocument(t), isSetUp)
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := exec.Command(kubectl, "logs", "--namespace", kueueNamespace, "deployment/kueue-controller-manager", "--tail=200").CombinedOutput()
			t.Logf("the end of what Kueue said:\n%s", text)
		}
	})
}

// kueueManifests are those of Kueue's module, in one file, but for the image: that is the program of the module too.
func kueueManifests(t *testing.T) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "kueue.tar")
	goRun(t, "image", "-ref", kueueImage, "-out", archive, "-entrypoint", "/manager", strings.TrimSpace(goRun(t, "path", "kueue")))
	goRun(t, "load", archive)
	text := string(kubectlOf(t, "kustomize", filepath.Join(moduleOf(t, "kueue", "sigs.k8s.io/kueue"), "config", "default")))
	const theirs = "us-central1-docker.pkg.dev/k8s-staging-images/kueue/kueue:main\n        imagePullPolicy: Always"
	require.Contains(t, text, theirs)
	text = strings.Replace(text, theirs, kueueImage+"\n        imagePullPolicy: Never", 1)
	file := filepath.Join(t.TempDir(), "kueue.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// configureKueue appends to the lists of Kueue's configuration what deploy/kueue/README.md says of this version. It has Kueue evict jobs
// whose pods are not ready in time.
func configureKueue(t *testing.T) {
	t.Helper()
	stored := &corev1.ConfigMap{}
	require.NoError(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: kueueNamespace, Name: "kueue-manager-config"}, stored))
	const key = "controller_manager_config.yaml"
	theirs, ours := map[string]any{}, map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(stored.Data[key]), &theirs))
	text, err := os.ReadFile(filepath.Join(root, "deploy", "kueue", "configuration.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &ours))
	require.Equal(t, theirs["apiVersion"], ours["apiVersion"])
	integrations, more := theirs["integrations"].(map[string]any), ours["integrations"].(map[string]any)
	version := regexp.MustCompile(`@v(\d+\.\d+)\.`).FindStringSubmatch(moduleOf(t, "kueue", "sigs.k8s.io/kueue"))
	require.NotNil(t, version)
	wanted := kueueWants(t, version[1])
	for list, entries := range more {
		if !wanted(list) {
			continue
		}
		stands, _ := integrations[list].([]any)
		for _, entry := range entries.([]any) {
			require.NotContains(t, stands, entry, "Kueue lists it itself, and does not start with an entry that stands there twice")
			stands = append(stands, entry)
		}
		integrations[list] = stands
	}
	theirs["waitForPodsReady"] = map[string]any{
		"timeout": "45s", "recoveryTimeout": "3m", "blockAdmission": false, "requeuingStrategy": map[string]any{"backoffBaseSeconds": 1},
	}
	text, err = yaml.Marshal(theirs)
	require.NoError(t, err)
	stored.Data[key] = string(text)
	require.NoError(t, cluster.Update(t.Context(), stored))
}

// killKueue ends Kueue's process at once. Its Deployment starts another.
func killKueue(t *testing.T) {
	t.Helper()
	require.NoError(t, cluster.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(kueueNamespace), client.GracePeriodSeconds(0)))
}

// labelNode gives a node a label for the rest of the test.
func labelNode(t *testing.T, name, key, value string) {
	t.Helper()
	set := func(ctx context.Context, edit func(map[string]string)) error {
		node := &corev1.Node{}
		if err := cluster.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return err
		}
		patch := client.MergeFrom(node.DeepCopy())
		edit(node.Labels)
		return cluster.Patch(ctx, node, patch)
	}
	require.NoError(t, set(t.Context(), func(labels map[string]string) { labels[key] = value }))
	t.Cleanup(func() { _ = set(context.Background(), func(labels map[string]string) { delete(labels, key) }) })
}

// kubectlOf runs kubectl, which must succeed, and returns what it prints.
func kubectlOf(t *testing.T, args ...string) []byte {
	t.Helper()
	var said bytes.Buffer
	run := exec.CommandContext(t.Context(), kubectl, args...)
	run.Stderr = &said
	text, err := run.Output()
	require.NoError(t, err, "kubectl %v:\n%s", args, said.String())
	return text
}

// applied makes cluster-wide objects from YAML for the rest of the test.
func applied(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	until(t, "the objects are taken", func() bool { // Kueue's webhooks may need a moment
		return exec.CommandContext(t.Context(), kubectl, "apply", "--server-side", "--filename", file).Run() == nil
	})
	t.Cleanup(func() {
		_ = exec.Command(kubectl, "delete", "--ignore-not-found", "--wait=false", "--filename", file).Run()
	})
}

package documents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/translate"
)

// TestSamplesRun applies each sample as a user would, and has its pods run, and end.
func TestSamplesRun(t *testing.T) {
	files, err := filepath.Glob(root + "/deploy/samples/*.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 4)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotContains(t, string(raw), "hostPath", "a sample runs anywhere")
			require.NotZero(t, runs(t, string(raw)))
		})
	}
}

// TestManifestsOfDocumentsRun does the same with the manifests in documents. Of other systems' kinds no more is asked than that an
// apiserver takes them.
func TestManifestsOfDocumentsRun(t *testing.T) {
	for _, d := range read(t) {
		for _, block := range d.yaml {
			t.Run(fmt.Sprint(d.file, ":", block.line), func(t *testing.T) {
				t.Parallel()
				var head metav1.TypeMeta
				for _, part := range strings.Split(block.text, "\n---\n") {
					require.NoError(t, yaml.Unmarshal([]byte(part), &head))
				}
				switch {
				case head.Kind == "": // it is a part of one
				case d.file == kueueDocument:
					applies(t, block.text)
				default:
					runs(t, block.text)
				}
			})
		}
	}
}

// kueueDocument has manifests of jobs that wait for Kueue: TestKueue of e2e/suite runs them.
const kueueDocument = "deploy/kueue/README.md"

// applies has an apiserver take a manifest that is not run here.
func applies(t *testing.T, manifest string) {
	t.Helper()
	s := newSpace(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "manifest.yaml"), []byte(manifest), 0o600))
	s.run("kubectl apply -f manifest.yaml")
}

// runs applies a manifest, has its jobs run and end, and returns how many there are. The operator must have nothing to complain of.
func runs(t *testing.T, manifest string) int {
	t.Helper()
	made, _, err := translate.Read(strings.NewReader(manifest), true)
	require.NoError(t, err)
	s := newSpace(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "manifest.yaml"), []byte(manifest), 0o600))
	s.run("kubectl apply -f manifest.yaml")
	debugs := false
	for _, m := range made {
		require.NoError(t, m.Err)
		require.Empty(t, m.Warnings)
		s.awaitPhase(m.Kind.GroupVersionKind, m.Job.GetName(), "Running")
		raw, err := yaml.Marshal(m.Job)
		require.NoError(t, err)
		debugs = debugs || bytes.Contains(raw, []byte("debug:"))
	}
	nodes.end(s.name)
	for _, m := range made {
		if !debugs { // a pod in debug mode is no success
			s.awaitPhase(m.Kind.GroupVersionKind, m.Job.GetName(), "Succeeded")
		}
	}
	var events corev1.EventList
	require.NoError(t, api.List(t.Context(), &events, client.InNamespace(s.name)))
	for _, e := range events.Items {
		require.Equal(t, corev1.EventTypeNormal, e.Type, "%s: %s", e.Reason, e.Message)
	}
	return len(made)
}

// awaitPhase waits until a job is in one of these phases.
func (s *space) awaitPhase(kind schema.GroupVersionKind, name string, phases ...string) {
	s.t.Helper()
	job := &unstructured.Unstructured{}
	job.SetGroupVersionKind(kind)
	until(s.t, fmt.Sprint(name, " is ", phases), func() bool {
		require.NoError(s.t, api.Get(s.t.Context(), client.ObjectKey{Namespace: s.name, Name: name}, job))
		return slices.Contains(phases, phaseOf(job))
	})
}

// phaseOf is a job's phase, or the condition that holds, of those of Kubeflow's kinds that are named like phases.
func phaseOf(job *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(job.Object, "status", "phase")
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok && job.GroupVersionKind().Group == "kubeflow.org" && c["status"] == "True" {
			phase, _ = c["type"].(string)
		}
	}
	return phase
}

package translators_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/framework"
)

// tools are the folders here that hold no translator of the stock operator.
var tools = []string{"definition", "framework", "kubeflow", "tensorboard", "translatortest", "testdata"}

func TestEveryTranslatorIsServed(t *testing.T) {
	list, err := os.ReadFile("all.go")
	require.NoError(t, err)
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	found := 0
	for _, entry := range entries {
		if name := entry.Name(); entry.IsDir() && has(t, name, "var Translator = framework.Translator[") {
			found++
			require.Contains(t, string(list), "framework.Register("+name+".Translator)", "All misses a folder")
		} else if entry.IsDir() {
			require.Contains(t, tools, name, "a folder without `var Translator = framework.Translator[...]`: is it one more tool?")
		}
	}
	require.Len(t, translators.All(), found)
}

// has reports whether a Go file in a folder contains a text.
func has(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		if bytes.Contains(raw, []byte(text)) {
			return true
		}
	}
	return false
}

// byKind are the translators by the kind that they serve.
func byKind(t testing.TB) map[schema.GroupVersionKind]framework.Registration {
	t.Helper()
	found := map[schema.GroupVersionKind]framework.Registration{}
	for _, r := range translators.All() {
		scheme := runtime.NewScheme()
		require.NoError(t, r.AddToScheme(scheme))
		kind, err := apiutil.GVKForObject(r.New(), scheme)
		require.NoError(t, err)
		require.NotContains(t, found, kind, "two translators for one kind")
		found[kind] = r
	}
	return found
}

func TestEveryTranslatorIsComplete(t *testing.T) {
	for kind, r := range byKind(t) {
		t.Run(kind.Kind, func(t *testing.T) {
			job := r.New()
			require.NotSame(t, job, r.New(), "New must make a new object each time")
			_, err := r.Compile(job)
			require.Error(t, err, "an empty job cannot run")
			require.Empty(t, r.Phase(job))
			require.NoError(t, r.Mirror(job, v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning}))
			require.Equal(t, v1beta1.JobRunning, r.Phase(job), "what Mirror shows, Phase reads")
			if r.MirrorTensorBoard != nil {
				before := job.DeepCopyObject()
				r.MirrorTensorBoard(job, &v1beta1.DependentStatus{Name: "board"})
				require.NotEqual(t, before, job)
				r.MirrorTensorBoard(job, nil)
				require.Equal(t, before, job)
			}
		})
	}
}

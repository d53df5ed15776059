package artifact

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// publish puts a module of these files into a proxy, which is a folder.
func publish(t *testing.T, proxy, module string, files map[string]string) {
	t.Helper()
	folder := filepath.Join(proxy, module, "@v")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	var zipped bytes.Buffer
	archive := zip.NewWriter(&zipped)
	for name, content := range files {
		w, err := archive.Create(module + "@v1.0.0/" + name)
		require.NoError(t, err)
		_, err = w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	for name, content := range map[string]string{"list": "v1.0.0\n", "v1.0.0.info": `{"Version": "v1.0.0"}`, "v1.0.0.mod": files["go.mod"], "v1.0.0.zip": zipped.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
}

func TestAFileThatAModuleLacksIsAdded(t *testing.T) {
	const module = "example.com/lacks"
	proxy, source := t.TempDir(), t.TempDir()
	publish(t, proxy, module, map[string]string{"go.mod": "module " + module + "\n", "lacks.go": "package lacks\n\nfunc Say() { print(word) }\n"})
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	for name, content := range map[string]string{
		"go.mod":      "module some\n\ngo 1.26\n\nrequire " + module + " v1.0.0\n",
		"main.go":     "package main\n\nimport \"" + module + "\"\n\nfunc main() { lacks.Say() }\n",
		"word.go.txt": "package lacks\n\nconst word = \"amended\"\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(source, name), []byte(content), 0o600))
	}
	tidy := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	tidy.Dir = source
	text, err := tidy.CombinedOutput()
	require.NoError(t, err, string(text))
	set := Set{Name: "some", Module: ".", Inputs: pinned, Packages: []string{"."}, Program: []string{"some"}}
	var progress bytes.Buffer
	b := Builder{Source: source, Bin: t.TempDir(), Progress: &progress}
	_, err = b.Build(t.Context(), []Set{set})
	require.Error(t, err, "without the file it cannot be built")
	require.Contains(t, progress.String(), "undefined: word")

	set.Amendment = &amendment{module, "word.go", "word.go.txt"}
	set.Inputs = append([]string{"word.go.txt"}, pinned...)
	programs, err := b.Build(t.Context(), []Set{set})
	require.NoError(t, err, progress.String())
	said, err := exec.CommandContext(t.Context(), programs["some"]).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "amended", string(said))
	left, err := filepath.Glob(filepath.Join(b.Bin, ".amended-*"))
	require.NoError(t, err)
	require.Empty(t, left, "what was built in is gone")
}

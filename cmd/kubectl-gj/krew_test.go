package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const manifest = "../../deploy/krew/gj.yaml"

// plugin is a manifest as krew reads it: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest
type plugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Caveats          string     `json:"caveats"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	Selector *metav1.LabelSelector `json:"selector"`
	URI      string                `json:"uri"`
	Sha256   string                `json:"sha256"`
	Bin      string                `json:"bin"`
}

func TestKrewTakesTheManifest(t *testing.T) {
	raw, err := os.ReadFile(manifest)
	require.NoError(t, err)
	var p plugin
	require.NoError(t, yaml.UnmarshalStrict(raw, &p))
	require.Equal(t, "krew.googlecontainertools.github.com/v1alpha2", p.APIVersion)
	require.Equal(t, "Plugin", p.Kind)
	require.Equal(t, strings.TrimSuffix(filepath.Base(manifest), ".yaml"), p.Name, "the file is called as the plugin is")
	require.Regexp(t, `^v\d+\.\d+\.\d+$`, p.Spec.Version)
	require.NotEmpty(t, p.Spec.ShortDescription)
	require.LessOrEqual(t, len(p.Spec.ShortDescription), 60)
	require.NotEmpty(t, p.Spec.Description)
	seen := map[string]bool{}
	for _, platform := range p.Spec.Platforms {
		labels := platform.Selector.MatchLabels
		name := labels["os"] + "-" + labels["arch"]
		require.False(t, seen[name], "%s is listed twice", name)
		seen[name] = true
		require.Regexp(t, `^https://.+/`+p.Spec.Version+`/`+name+`\.tar\.gz$`, platform.URI)
		require.Regexp(t, `^[0-9a-f]{64}$`, platform.Sha256)
		want := "kubectl-gj"
		if labels["os"] == "windows" {
			want += ".exe"
		}
		require.Equal(t, want, platform.Bin, name)
		requireBuilds(t, labels["os"], labels["arch"])
	}
	for _, name := range []string{"linux-amd64", "linux-arm64", "darwin-arm64"} {
		require.True(t, seen[name], name)
	}
}

// requireBuilds requires that every package of the program has files for a platform. Go says on standard error which modules it
// downloads for that: a new machine has those of its own platform at most.
func requireBuilds(t *testing.T, system, arch string) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-e", "-f", "{{if .Error}}{{.ImportPath}}: {{.Error}}{{end}}", ".")
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	var progress bytes.Buffer
	list.Stderr = &progress
	text, err := list.Output()
	require.NoError(t, err, "%s", &progress)
	require.Empty(t, strings.TrimSpace(string(text)), "%s-%s", system, arch)
}

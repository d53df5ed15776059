package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

// The program under test is this one: it has modules of the proxy's in it.
func TestEveryModuleOfTheProgramIsListedOnce(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	info, err := buildinfo.ReadFile(self)
	require.NoError(t, err)
	var first, second bytes.Buffer
	require.NoError(t, run(&first, "v1.2.3", []string{self}))
	require.NoError(t, run(&second, "v1.2.3", []string{self}))
	require.Equal(t, first.String(), second.String())

	var document cyclonedx.BOM
	require.NoError(t, cyclonedx.NewBOMDecoder(&first, cyclonedx.BOMFileFormatJSON).Decode(&document))
	require.Equal(t, "v1.2.3", document.Metadata.Component.Version)
	listed := map[string]string{}
	for _, c := range *document.Components {
		require.NotContains(t, listed, c.Name)
		listed[c.Name] = c.Version
	}
	require.Equal(t, info.GoVersion, "go"+listed["std"])
	require.Contains(t, listed, "github.com/CycloneDX/cyclonedx-go")
	for _, module := range info.Deps {
		require.Equal(t, module.Version, listed[module.Path])
	}
	require.Len(t, listed, len(info.Deps)+1)
	require.Len(t, *(*document.Dependencies)[0].Dependencies, len(listed))
}

func TestWhatIsRejected(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o600))
	require.ErrorContains(t, run(&bytes.Buffer{}, "v1.2.3", []string{text}), "is it a Go program?")
	require.ErrorContains(t, run(&bytes.Buffer{}, "", []string{text}), "-version")
}

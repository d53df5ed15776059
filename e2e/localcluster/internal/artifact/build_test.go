package artifact

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// someModule is a module with one program each in the folders, which prints the program's name.
func someModule(t *testing.T, programs ...string) string {
	t.Helper()
	folder := t.TempDir()
	write := func(file, content string) {
		path := filepath.Join(folder, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("go.mod", "module some\n\ngo 1.26\n")
	for _, program := range programs {
		write(program+"/main.go", "package main\n\nfunc main() { print(\""+program+"\") }\n")
	}
	return folder
}

func someSet(name string, programs ...string) Set {
	set := Set{Name: name, Module: ".", Inputs: []string{"go.mod"}, Program: programs}
	for _, program := range programs {
		set.Packages = append(set.Packages, "./"+program)
	}
	return set
}

func TestSetsOfOneModuleAreBuiltByOneCommandAndKeptApart(t *testing.T) {
	var progress bytes.Buffer
	b := Builder{Source: someModule(t, "a", "b", "c"), Bin: t.TempDir(), Progress: &progress}
	sets := []Set{someSet("one", "a"), someSet("two", "b", "c")}

	programs, err := b.Build(t.Context(), sets)

	require.NoError(t, err, progress.String())
	require.Equal(t, 1, strings.Count(progress.String(), "took"), progress.String())
	for _, program := range []string{"a", "b", "c"} {
		said, err := exec.CommandContext(t.Context(), programs[program]).CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, program, string(said))
	}
	require.NotEqual(t, filepath.Dir(programs["a"]), filepath.Dir(programs["b"]))

	// What is there is not built again, also where another set of its module is missing.
	before, err := os.Stat(programs["a"])
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Dir(programs["b"])))
	programs, err = b.Build(t.Context(), sets)
	require.NoError(t, err)
	require.FileExists(t, programs["c"])
	after, err := os.Stat(programs["a"])
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime())
}

func TestABuildThatFailsNamesItsProgramsAndLeavesNothing(t *testing.T) {
	b := Builder{Source: someModule(t, "a"), Bin: t.TempDir(), Progress: &bytes.Buffer{}}
	_, err := b.Build(t.Context(), []Set{someSet("one", "a"), someSet("two", "absent")})
	require.ErrorContains(t, err, "build a, absent in "+b.Source)
	folders, err := filepath.Glob(filepath.Join(b.Bin, "*", "a"))
	require.NoError(t, err)
	for _, program := range folders {
		require.Contains(t, program, ".making", "half a set is in place")
	}
}

func TestSetsWithOtherFlagsAreBuiltApart(t *testing.T) {
	stripped := someSet("stripped", "a")
	stripped.Linker = "-s"
	all := compilations([]Set{someSet("one", "a"), stripped, someSet("two", "b")})
	require.Len(t, all, 2)
	require.Equal(t, []string{"one", "two"}, []string{all[0][0].Name, all[0][1].Name})
}

// What a user has set by `go env -w` for all modules is not meant for ours.
func TestABuildDoesNotTakeTheUsersFlagsOrWorkspace(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(settings, []byte("GOFLAGS=-mod=vendor -race\nGOWORK=/absent/go.work\n"), 0o600))
	for name, flags := range map[string]string{"by go env -w": "", "by the environment": "-mod=vendor -race"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOENV", settings)
			t.Setenv("GOFLAGS", flags)
			b := Builder{Source: someModule(t, "a"), Bin: t.TempDir(), Progress: &bytes.Buffer{}}
			_, err := b.Build(t.Context(), []Set{someSet("one", "a")})
			require.NoError(t, err, b.Progress)
		})
	}
}

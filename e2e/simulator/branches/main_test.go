package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReasonsNameFunctionsThatThereAre(t *testing.T) {
	t.Chdir("../../..")
	for p := range reasons {
		text, err := os.ReadFile(p.file)
		require.NoError(t, err)
		require.Contains(t, string(text), " "+p.function+"(", p.file)
	}
}

func TestEachFolderOfControllersSaysWhatTestsIt(t *testing.T) {
	t.Chdir("../../..")
	files, err := filepath.Glob("controllers/*/*.go")
	require.NoError(t, err)
	var folders []string
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			folders = append(folders, filepath.Dir(file))
		}
	}
	require.NotEmpty(t, folders)
	for _, folder := range slices.Compact(folders) {
		require.Contains(t, testedBy, folder)
	}
}

func TestABranchCountsWhereItIsFirstRun(t *testing.T) {
	t.Chdir("../../..")
	file := "kernel/finish.go"
	at := func(line string) block { return block{file, line + ".1,9.9"} }
	lives := profile{at("1"): true, at("2"): false, at("3"): false, at("4"): false}
	files := count(lives, profile{at("1"): true, at("2"): true}, profile{at("2"): true, at("3"): true, at("5"): false})
	require.Equal(t, counts{all: 5, unlived: 4, kernel: 1, controllers: 1, nothing: map[string]int{"": 2}}, *files[file])

	text, err := documentOf(9, false, files)
	require.Contains(t, text, "| kernel/finish.go | 5 | 4 | 1 | 1 | 2 |\n")
	require.ErrorContains(t, err, "kernel/finish.go, : nothing runs 2 branches, and reasons.go explains 0")
	require.ErrorContains(t, err, "kernel/finish.go, printRule: reasons.go explains what is run, or is gone")
}

package operator

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOf(t *testing.T) {
	ours := debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.2.0"}}
	extended := debug.BuildInfo{
		Main: debug.Module{Path: "example.com/jax-operator", Version: "v9.0.0"},
		Deps: []*debug.Module{{Path: "a"}, {Path: module, Version: "v0.3.0"}},
	}
	for name, tc := range map[string]struct {
		linked string
		info   debug.BuildInfo
		want   string
	}{
		"what the linker was told":          {"v0.1.0", ours, "v0.1.0"},
		"go install of a version":           {"", ours, "v0.2.0"},
		"an operator with a framework more": {"", extended, "v0.3.0"},
		"no build information":              {"", debug.BuildInfo{}, "(devel)"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, versionOf(tc.linked, &tc.info)) })
	}
}

func TestCommitOf(t *testing.T) {
	stamped := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}}}
	require.Equal(t, "def", commitOf("def", stamped), "what the linker was told")
	require.Equal(t, "abc", commitOf("", stamped))
	require.Empty(t, commitOf("", &debug.BuildInfo{}))
}

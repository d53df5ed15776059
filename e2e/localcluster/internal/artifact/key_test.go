package artifact

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const source = "../.."

func TestKeyChangesWithEverythingThatDecidesTheContent(t *testing.T) {
	folder := t.TempDir()
	write := func(content string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(content), 0o644))
	}
	set := Set{Name: "x", Module: ".", Inputs: []string{"go.mod"}, Packages: []string{"./x"}}
	keyOf := func(set Set, toolchain string) string {
		key, err := set.key(folder, toolchain)
		require.NoError(t, err)
		return key
	}
	write("module a")
	original := keyOf(set, "go1 linux amd64")
	require.Equal(t, original, keyOf(set, "go1 linux amd64"), "the same input is the same folder")
	require.NotEqual(t, original, keyOf(set, "go2 linux amd64"), "another Go")

	tagged, linked := set, set
	tagged.Tags, linked.Linker = "no_x", "-s"
	require.NotEqual(t, original, keyOf(tagged, "go1 linux amd64"), "another tag")
	require.NotEqual(t, original, keyOf(linked, "go1 linux amd64"), "another linker flag")

	write("module b")
	require.NotEqual(t, original, keyOf(set, "go1 linux amd64"), "another requirement")
}

func TestKeyOutsideTheCheckoutSaysHowToRun(t *testing.T) {
	_, err := etcd().key(t.TempDir(), "go1")
	require.ErrorContains(t, err, "go -C e2e/localcluster run .")
}

func TestEverySetIsPinnedByItsModule(t *testing.T) {
	pins := regexp.MustCompile(`(?m)^\t?(?:tool )?([a-z0-9./-]+)$`)
	oldest, err := Oldest.Cluster()
	require.NoError(t, err)
	earlier, err := Version("1.36").Cluster()
	require.NoError(t, err)
	sets := slices.Concat(All(), Extras(), oldest, earlier, Version("1.32").Assets(), Version("1.34").Assets())
	for _, module := range []string{"kubernetes", "kubernetes-1.30", "kubernetes-1.32", "kubernetes-1.34", "kubernetes-1.36", "etcd", "containerd", "volcano", "jobset", "argo", "helm", "prometheus", "kubestatemetrics"} {
		t.Run(module, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(source, "binaries", module, "go.mod"))
			require.NoError(t, err)
			var pinned, built []string
			for _, match := range pins.FindAllStringSubmatch(string(content), -1) {
				pinned = append(pinned, match[1])
			}
			for _, set := range sets {
				if set.Module == "binaries/"+module {
					built = append(built, set.Packages...)
				}
			}
			slices.Sort(built)
			slices.Sort(pinned)
			require.Equal(t, slices.Compact(built), pinned)
		})
	}
}

func TestKubernetesSaysTheVersionOfItsModule(t *testing.T) {
	for _, version := range Versions() {
		content, err := os.ReadFile(filepath.Join(source, version.module(), "go.mod"))
		require.NoError(t, err)
		require.Contains(t, string(content), "k8s.io/kubernetes "+patches[version]+" ")
		require.Contains(t, version.linker(), "gitMinor="+strings.Split(patches[version], ".")[1])
		require.True(t, strings.HasPrefix(patches[version], "v"+string(version)+"."), "%s is no %s", patches[version], version)
	}
}

// What is not of the version that was asked for would be tested in its name.
func TestAnOlderVersionReplacesWhatItHas(t *testing.T) {
	for _, version := range Versions() {
		module := map[string]string{}
		for _, set := range version.Assets() {
			for _, program := range set.Program {
				module[program] = set.Module
			}
		}
		require.Equal(t, version.module(), module["kube-apiserver"])
		require.Equal(t, Newest.module(), module["kubectl"])
	}
	sets, err := Oldest.Cluster()
	require.NoError(t, err)
	own := map[string]string{}
	for _, set := range sets {
		for _, program := range set.Program {
			own[program] = set.Module // the last one's counts
		}
	}
	for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet"} {
		require.Equal(t, Oldest.module(), own[program], program)
	}
	_, err = Version("1.32").Cluster()
	require.ErrorContains(t, err, "one of [1.30 1.36 1.37]")
	_, err = ParseVersion("1.31")
	require.ErrorContains(t, err, "[1.30 1.32 1.34 1.36 1.37]")
}

func TestEveryProgramIsInOneSet(t *testing.T) {
	seen := map[string]string{}
	for _, set := range append(All(), Extras()...) {
		require.Len(t, set.Program, len(set.Packages), set.Name)
		for _, program := range set.Program {
			require.Empty(t, seen[program], "%s is in %s too", program, set.Name)
			seen[program] = set.Name
		}
	}
}

package tools_test

import (
	"bytes"
	"flag"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"
)

const (
	root    = "../.."
	version = "v0.99.0-test"
)

// run runs a command in a folder; what it writes to standard error is told if it fails.
func run(t *testing.T, folder, program string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	var problems bytes.Buffer
	command.Dir, command.Stderr = folder, &problems
	text, err := command.Output()
	if err != nil {
		t.Logf("%s %v: %v\n%s", program, arguments, err, problems.String())
	}
	return string(text), err
}

// checkout is a copy of this checkout, made into a version that is ready to be released.
func checkout(t *testing.T) string {
	t.Helper()
	files, err := run(t, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), "a checkout") // some paths have a space
	for _, file := range strings.Split(strings.TrimSuffix(files, "\x00"), "\x00") {
		copyFile(t, filepath.Join(root, file), filepath.Join(folder, file))
	}
	changes, err := os.ReadFile(filepath.Join(folder, "CHANGELOG.md"))
	require.NoError(t, err)
	heading := regexp.MustCompile(`(?m)^## .*$`).FindString(string(changes))
	dated := strings.Replace(string(changes), heading, "## "+version+", 2026-01-02", 1)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "CHANGELOG.md"), []byte(dated), 0o600))
	kept := filepath.Join("controllers/testdata", version)
	_, err = run(t, folder, "bash", "-c", "mkdir -p "+kept+" && sha256sum deploy/{,kubeflow/}crd/*_*.yaml > "+kept+"/crd.sha256")
	require.NoError(t, err)
	return folder
}

// copyFile keeps the executable bit and links, but not the time, which is no part of a checkout.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	info, err := os.Lstat(from)
	if os.IsNotExist(err) {
		return // deleted, and not yet committed
	}
	require.NoError(t, err, from)
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(target, to))
		return
	}
	content, err := os.ReadFile(from)
	if os.IsNotExist(err) {
		return // somebody works here, and has just deleted it
	}
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, info.Mode().Perm()))
	require.NoError(t, os.Chtimes(to, time.Time{}, time.Now()))
}

var releases = flag.Bool("release", false, "make a release twice, each for two architectures: minutes with a warm cache, a quarter of an hour without")

// A release that cannot be made again by others has to be believed.
func TestAReleaseIsTheSameTwiceAndIsPublishedAsItWasMade(t *testing.T) {
	if !*releases {
		t.Skip("`make test-release` runs this")
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	folder := strings.TrimPrefix(server.URL, "http://") + "/Acme/genericjob" // an owner with a capital

	var checkouts, sums, images [2]string
	for i := range checkouts {
		checkouts[i] = checkout(t)
		image, err := run(t, checkouts[i], ".ci/release", version, folder)
		require.NoError(t, err)
		images[i] = strings.TrimSpace(image)
		text, err := os.ReadFile(filepath.Join(checkouts[i], "dist/release/SHA256SUMS"))
		require.NoError(t, err)
		sums[i] = string(text)
	}
	require.Equal(t, sums[0], sums[1], "the same checkout elsewhere")
	for _, part := range []string{"-image.tar", "-install.yaml", "-amd64.cdx.json", "-arm64.cdx.json"} {
		require.Regexp(t, `(?m)^[0-9a-f]{64}  genericjob-`+version+part+"$", sums[0])
	}
	require.Contains(t, sums[0], "  genericjob-"+strings.TrimPrefix(version, "v")+".tgz\n")
	requireNoOtherImage(t, checkouts[0], images[0])
	chart, err := run(t, checkouts[0], "tar", "-xOzf", "dist/release/genericjob-"+strings.TrimPrefix(version, "v")+".tgz")
	require.NoError(t, err)
	require.NotRegexp(t, `repository.*set-the-image|OWNER/REPOSITORY|pulled by nobody|chart's appVersion`, chart)
	tag := strings.TrimPrefix(images[0], strings.ToLower(folder)+"/manager:")
	require.Contains(t, chart, "  tag: \""+tag+"\"")
	require.Contains(t, chart, "| `image.tag` | `\""+tag+"\"` |")
	require.Contains(t, chart, "helm install genericjob oci://"+strings.ToLower(folder)+"/charts/genericjob --version ")

	pushed, err := run(t, checkouts[0], ".ci/publish", version, folder)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSuffix(images[0], "\n"), strings.Replace(strings.TrimSpace(pushed), "@", ":"+version+"@", 1))
	requirePlatforms(t, strings.Split(images[0], "@")[0])

	installed := filepath.Join(checkouts[0], "dist/release/genericjob-"+version+"-install.yaml")
	require.NoError(t, os.WriteFile(installed, []byte("changed"), 0o600))
	_, err = run(t, checkouts[0], ".ci/publish", version, folder)
	require.Error(t, err, "what was changed since is not published")
}

// requireNoOtherImage says that who installs the release runs its image, and no tag that may be moved.
func requireNoOtherImage(t *testing.T, checkout, image string) {
	t.Helper()
	require.Regexp(t, `^[^/]+/acme/genericjob/manager:`+version+`@sha256:[0-9a-f]{64}$`, image)
	manifests, err := os.ReadFile(filepath.Join(checkout, "dist/release/genericjob-"+version+"-install.yaml"))
	require.NoError(t, err)
	require.Equal(t, []string{"image: " + image}, regexp.MustCompile(`image: .*`).FindAllString(string(manifests), -1))
	notes, err := os.ReadFile(filepath.Join(checkout, "dist/release/NOTES.md"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^[A-Z][a-z ]+:$`, string(notes), "parts of a section")
}

func requirePlatforms(t *testing.T, image string) {
	t.Helper()
	ref, err := name.ParseReference(image)
	require.NoError(t, err)
	index, err := remote.Index(ref)
	require.NoError(t, err)
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
	}
	require.Equal(t, []string{"linux/amd64", "linux/arm64"}, platforms)
}

func TestWhatIsNotPreparedIsNotReleased(t *testing.T) {
	copied := checkout(t)
	for name, tc := range map[string]struct {
		version, registry, want string
		change                  func()
	}{
		"no version":  {"1.0", "registry.example/x", "usage", func() {}},
		"no registry": {version, "", "usage", func() {}},
		"no section":  {"v0.98.0", "registry.example/x", "make prepare-release VERSION=v0.98.0", func() {}},
		"other CRDs": {version, "registry.example/x", "the CRDs are not those of", func() {
			crd := filepath.Join(copied, "deploy/crd/batch.tensorstack.dev_genericjobs.yaml")
			require.NoError(t, os.WriteFile(crd, []byte("another"), 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.change()
			command := exec.CommandContext(t.Context(), filepath.Join(copied, ".ci/release"), tc.version, tc.registry)
			text, err := command.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(text), tc.want)
		})
	}
}

// The binary names the commit, so it is made of what the commit holds.
func TestWhatIsNotCommittedIsNotReleased(t *testing.T) {
	copied := checkout(t)
	for _, arguments := range [][]string{{"init", "--quiet"}, {"add", "go.mod"}, {"-c", "user.name=somebody", "-c", "user.email=somebody@example.com", "commit", "--quiet", "-m", "one file"}} {
		_, err := run(t, copied, "git", arguments...)
		require.NoError(t, err)
	}
	text, err := exec.CommandContext(t.Context(), filepath.Join(copied, ".ci/release"), version, "registry.example/x").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "the checkout is not what commit")
}

// Who corrects something after a release was prepared prepares it again.
func TestPreparingAReleaseMayBeRepeated(t *testing.T) {
	copied := checkout(t) // its section has a date already
	require.NoError(t, os.MkdirAll(filepath.Join(copied, "programs"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(copied, "programs/go"), []byte("#!/bin/sh\n"), 0o755)) // what it runs needs an apiserver
	command := exec.CommandContext(t.Context(), filepath.Join(copied, ".ci/prepare-release"), version)
	command.Env = append(os.Environ(), "PATH="+filepath.Join(copied, "programs")+":"+os.Getenv("PATH"))
	text, err := command.CombinedOutput()
	require.NoError(t, err, string(text))
	changes, err := os.ReadFile(filepath.Join(copied, "CHANGELOG.md"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)\A(.*\n)*?## `+version+`, 20[0-9-]{8}\n`, string(changes))
	require.NotContains(t, string(changes), "## "+version+", 2026-01-02\n")
	module, err := os.ReadFile(filepath.Join(copied, "cmd/python/src/genericjob/__init__.py"))
	require.NoError(t, err)
	require.Contains(t, string(module), `__version__ = "`+strings.TrimPrefix(version, "v")+`"`)
}

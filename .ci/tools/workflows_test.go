package tools_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	return string(text)
}

// A fork that changes REGISTRY must not go on publishing, or installing, somewhere else.
func TestOnePlaceSaysWhereReleasesGo(t *testing.T) {
	files, err := run(t, root, "git", "grep", "--no-color", "-lE", `ghcr\.io|quay\.io|docker\.io/[a-z]|gcr\.io/`, "--", ".github", ".ci", "Makefile", "Dockerfile", "deploy/*.yaml", ":!.ci/tools/*_test.go", ":!*.sum")
	require.NoError(t, err)
	require.Equal(t, []string{".github/workflows/release.yaml"}, strings.Fields(files))
	named := regexp.MustCompile(`(?m)^.*ghcr\.io.*$`).FindAllString(read(t, ".github/workflows/release.yaml"), -1)
	require.Equal(t, []string{"  REGISTRY: ghcr.io/${{ github.repository }}"}, named)
}

// workflow is what these tests look at.
type workflow struct {
	Permissions map[string]string `yaml:"permissions"`
	Jobs        map[string]struct {
		Minutes     int               `yaml:"timeout-minutes"`
		Uses        string            `yaml:"uses"`
		Needs       []string          `yaml:"needs"`
		Permissions map[string]string `yaml:"permissions"`
		Steps       []struct {
			ID   string            `yaml:"id"`
			Uses string            `yaml:"uses"`
			If   string            `yaml:"if"`
			With map[string]string `yaml:"with"`
			Run  string            `yaml:"run"`
		} `yaml:"steps"`
		Strategy struct {
			Matrix map[string][]string `yaml:"matrix"`
		} `yaml:"strategy"`
	} `yaml:"jobs"`
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yaml"))
	require.NoError(t, err)
	found := map[string]workflow{}
	for _, file := range files {
		var w workflow
		require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(".github/workflows", filepath.Base(file)))), &w))
		found[strings.TrimSuffix(filepath.Base(file), ".yaml")] = w
	}
	return found
}

// Who moves a tag of an action would run code in a job that may push.
func TestActionsOfOthersAreNamedByTheirCommit(t *testing.T) {
	for name := range workflows(t) {
		for _, line := range regexp.MustCompile(`(?m)^ *(?:- )?uses: .*$`).FindAllString(read(t, ".github/workflows/"+name+".yaml"), -1) {
			require.Regexp(t, `uses: (\./.*|[a-z-]+/[a-z-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+)$`, line, name)
		}
	}
}

func TestNothingIsPublishedThatWasNotTested(t *testing.T) {
	all := workflows(t)
	release := all["release"]
	require.Equal(t, "./.github/workflows/ci.yaml", release.Jobs["ci"].Uses)
	require.ElementsMatch(t, []string{"ci", "build"}, release.Jobs["publish"].Needs)
	for name, w := range all {
		require.Equal(t, map[string]string{"contents": "read"}, w.Permissions, name)
		for job, j := range w.Jobs {
			if job != "publish" {
				require.Empty(t, j.Permissions, "%s: %s writes nothing", name, job)
			}
		}
	}
	versions := regexp.MustCompile(`(?m)^VERSIONS \?= (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	require.NotNil(t, versions)
	require.Equal(t, strings.Fields(versions[1]), all["ci"].Jobs["versions"].Strategy.Matrix["version"], "make test-versions tests others")
}

// What is signed is what was pushed, and all files: a statement about something else would be believed.
func TestAReleaseIsSigned(t *testing.T) {
	publish := workflows(t)["release"].Jobs["publish"]
	require.Equal(t, map[string]string{"contents": "write", "packages": "write", "id-token": "write", "attestations": "write"}, publish.Permissions)
	pushed, page, signed := -1, -1, map[int]map[string]string{}
	for i, step := range publish.Steps {
		switch {
		case strings.HasPrefix(step.Uses, "actions/attest-build-provenance@"):
			signed[i] = step.With
		case step.ID == "published":
			pushed = i
		case strings.Contains(step.Run, "gh release create"):
			page = i
		}
	}
	require.NotEqual(t, -1, pushed)
	require.Equal(t, map[int]map[string]string{
		pushed + 1: {"subject-name": "${{ steps.published.outputs.name }}", "subject-digest": "${{ steps.published.outputs.digest }}", "push-to-registry": "true"},
		pushed + 2: {"subject-checksums": "dist/release/SHA256SUMS"},
	}, signed)
	require.Equal(t, pushed+3, page, "who downloads finds the signature")

	// The script of the workflow, with a make that says what .ci/publish says.
	folder := t.TempDir()
	digest := "sha256:" + strings.Repeat("0", 64)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "make"), []byte("#!/bin/sh\necho registry.example:5000/genericjob/manager@"+digest+"\n"), 0o755))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("GITHUB_OUTPUT", filepath.Join(folder, "output"))
	_, err := run(t, folder, "bash", "-e", "-c", publish.Steps[pushed].Run)
	require.NoError(t, err)
	said, err := os.ReadFile(filepath.Join(folder, "output"))
	require.NoError(t, err)
	require.Equal(t, "name=registry.example:5000/genericjob/manager\ndigest="+digest+"\n", string(said))
}

// GitHub ends a job after six hours, and its log then tells nothing.
func TestEveryJobEndsBeforeGitHubEndsIt(t *testing.T) {
	for name, w := range workflows(t) {
		for job, j := range w.Jobs {
			if j.Uses == "" {
				require.Positive(t, j.Minutes, "%s: %s has no limit of its own", name, job)
				require.Less(t, j.Minutes, 360, "%s: %s", name, job)
			}
		}
	}
}

// The parts together are a run of `make flakes`, and no two have the same order.
func TestTheWeekRunsAllFlakes(t *testing.T) {
	flakes := workflows(t)["weekly"].Jobs["flakes"]
	parts := flakes.Strategy.Matrix["part"]
	runs := regexp.MustCompile(`make flakes RUNS=(\d+) SEED=\S* \S+ \}\}\$\{\{ matrix\.part \}\}$`).FindStringSubmatch(flakes.Steps[2].Run)
	require.NotNil(t, runs, flakes.Steps[2].Run)
	each, err := strconv.Atoi(runs[1])
	require.NoError(t, err)
	all := regexp.MustCompile(`(?m)^RUNS \?= (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	require.NotNil(t, all)
	require.Equal(t, all[1], strconv.Itoa(each*len(parts)))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(parts))), len(parts))
	last := flakes.Steps[len(flakes.Steps)-1]
	require.Equal(t, "dist/flakes", last.With["path"])
	require.Equal(t, "failure() || cancelled()", last.If, "the logs of what hangs are lost")
}

// Another Go makes another binary.
func TestEverybodyBuildsWithTheSameGo(t *testing.T) {
	version := strings.TrimSpace(read(t, ".go-version"))
	require.Regexp(t, " golang:"+regexp.QuoteMeta(version)+"(@sha256:[0-9a-f]{64})? AS build\n", read(t, "Dockerfile"))
	require.Contains(t, read(t, "Dockerfile"), " inspect golang:"+version+"\n", "how to find its digest")
	for name, w := range workflows(t) {
		for job, j := range w.Jobs {
			for _, step := range j.Steps {
				if strings.HasPrefix(step.Uses, "actions/setup-go@") {
					require.Equal(t, ".go-version", step.With["go-version-file"], "%s: %s", name, job)
				}
			}
		}
	}
}

// There is no Docker here to try it. What it does is make's, but for the last stage, which says what `make image` says.
func TestTheDockerfileMakesWhatMakeMakes(t *testing.T) {
	dockerfile, makefile := read(t, "Dockerfile"), read(t, "Makefile")
	image := regexp.MustCompile(`-entrypoint (\S+) -user (\S+) `).FindStringSubmatch(makefile)
	require.NotNil(t, image)
	require.Contains(t, dockerfile, "\nENTRYPOINT [\""+image[1]+"\"]\n")
	require.Contains(t, dockerfile, "\nUSER "+image[2]+"\n")
	require.Contains(t, dockerfile, "\nFROM scratch\nCOPY --from=build "+image[1]+" "+image[1]+"\n")
	built := regexp.MustCompile(`(?m)^RUN make --silent (\S+) VERSION=\$VERSION COMMIT=\$COMMIT ARCH=\$TARGETARCH MANAGER=(\S+)$`).FindStringSubmatch(dockerfile)
	require.NotNil(t, built)
	require.Equal(t, image[1], built[2])
	require.Contains(t, makefile, "\n"+built[1]+": ##")
	require.NotRegexp(t, `go build`, dockerfile)
}

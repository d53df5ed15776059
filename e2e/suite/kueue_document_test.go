package suite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// guide is a document that tells how to do something: files to save, and commands.
type guide struct {
	files    map[string]string
	commands []string
}

var fileName = regexp.MustCompile("`([a-z]+\\.yaml)`")

// kueueDocument reads deploy/kueue/README.md. A manifest is saved under the last name that was told before it.
func kueueDocument(t *testing.T) guide {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "kueue", "README.md"))
	require.NoError(t, err)
	g, name, inside := guide{files: map[string]string{}}, "", false
	prompts := false
	for line := range strings.Lines(string(raw)) {
		switch told := fileName.FindAllStringSubmatch(line, -1); {
		case strings.HasPrefix(line, "```"):
			require.True(t, inside || g.files[name] == "", "what is saved under %s, and what under another name?", name)
			inside = !inside
		case inside:
			g.files[name] += line
		case strings.HasPrefix(line, "    "):
			command, prompt := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if strings.HasPrefix(command, "kubectl") && (prompt || !prompts) {
				g.commands = append(g.commands, command)
			}
			prompts = prompt || prompts
		case strings.TrimSpace(line) == "":
		default:
			if prompts = false; len(told) > 0 {
				name = told[len(told)-1][1]
			}
		}
	}
	require.Len(t, g.files, 6)
	return g
}

// kueueWants says which lists of configuration.yaml are to be appended to those of a version of Kueue's. It is the last cell of the
// version's line in the document's table: all of them, or some by name.
func kueueWants(t *testing.T, version string) func(list string) bool {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "kueue", "README.md"))
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.Contains(cells[1], version) {
			return func(list string) bool {
				return strings.Contains(cells[3], "all of `configuration.yaml`") || strings.Contains(cells[3], "`"+list+"`")
			}
		}
	}
	require.Fail(t, "the document says nothing of Kueue "+version)
	return nil
}

// isSetUp reports whether a command sets Kueue up.
func isSetUp(command string) bool {
	return strings.Contains(command, "deploy/kueue/") || strings.Contains(command, "rollout")
}

// follow runs those commands of a document that are asked for, in the namespace of a test, and returns the last one's output.
func (s *space) follow(g guide, asked func(string) bool) (said string) {
	s.t.Helper()
	folder := s.t.TempDir()
	require.NoError(s.t, os.Symlink(filepath.Join(root, "deploy"), filepath.Join(folder, "deploy")))
	program, err := exec.LookPath(kubectl)
	require.NoError(s.t, err)
	require.NoError(s.t, os.Symlink(program, filepath.Join(folder, "kubectl")))
	config := filepath.Join(folder, "kubeconfig")
	require.NoError(s.t, os.WriteFile(config, kubectlOf(s.t, "config", "view", "--raw", "--flatten"), 0o600))
	kubectlOf(s.t, "config", "set-context", "--current", "--namespace", s.ns, "--kubeconfig", config)
	for name, text := range g.files {
		ours := fmt.Sprintf("image: %s, imagePullPolicy: Never, args: [obey]", image)
		text = strings.ReplaceAll(text, `image: busybox:1.37, command: [sleep, "60"]`, ours)
		require.NoError(s.t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	ran := 0
	for _, command := range g.commands {
		if !asked(command) {
			continue
		}
		ran++
		s.until(command, func() bool {
			run := exec.CommandContext(s.ctx, "bash", "-euc", command) // #nosec G204 -- what the document says
			run.Dir, run.Env = folder, append(os.Environ(), "KUBECONFIG="+config, "PATH="+folder+":"+os.Getenv("PATH"))
			text, err := run.CombinedOutput()
			said = string(text)
			if strings.Contains(said, "failed calling webhook") { // Kueue has just been started
				return false
			}
			require.NoError(s.t, err, "%s\n%s", command, said)
			return true
		})
	}
	require.NotZero(s.t, ran)
	return said
}

// documentIsFollowed does what deploy/kueue/README.md says, command by command. Where that waits until pods are done, they are told to be.
func documentIsFollowed(s *space) {
	g := kueueDocument(s.t)
	s.t.Cleanup(func() {
		for _, name := range []string{"queue.yaml", "near.yaml"} { // what no namespace takes along
			remove := exec.Command(kubectl, "delete", "--namespace", s.ns, "--ignore-not-found", "--wait=false", "--filename", "-")
			remove.Stdin = strings.NewReader(g.files[name])
			_ = remove.Run()
		}
		_ = exec.Command(kubectl, "label", "nodes", "--all", "example.com/rack-").Run()
	})
	before := map[string]func(){
		"gj/urgent gj/night --for=condition=Completed": func() {
			s.finishes("urgent", 3)
			s.finishes("night", 2)
		},
		"gj/near --for=condition=Succeeded": func() {
			for _, pod := range s.finishes("near", 3) {
				require.Equal(s.t, "local", pod.Spec.NodeSelector[corev1.LabelHostname], "Kueue has chosen the host")
			}
		},
		"tfjob/queued --for": func() {
			s.until("the TFJob has its GenericJob", func() bool {
				return s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: "queued"}, &v1beta1.GenericJob{}) == nil
			})
			s.finishes("queued", 2)
		},
	}
	for _, command := range g.commands {
		if isSetUp(command) {
			continue
		}
		for words, do := range before {
			if strings.Contains(command, words) {
				do()
				delete(before, words)
			}
		}
		said := s.follow(g, func(c string) bool { return c == command })
		if strings.Contains(command, "-o wide") {
			require.Regexp(s.t, `night +Pending +0/2.*queue team`, said)
		}
	}
	require.Empty(s.t, before)
	for _, name := range []string{"night", "urgent", "near", "queued"} {
		s.succeedsUncounted(name)
	}
}

// finishes waits until so many workers of a job run, ends them well, and returns their pods.
func (s *space) finishes(name string, n int) map[string]corev1.Pod {
	s.t.Helper()
	job := s.awaitRunning(name, fmt.Sprintf("%[1]d/%[1]d", n))
	pods := s.pods(job)
	for rank := range n {
		s.end(job, "worker", rank, 0)
	}
	s.awaitPhase(name, v1beta1.JobSucceeded)
	return pods
}

package documents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frameworkDocument tells how to add a framework, in commands that follow on one another. Each way is one script.
const frameworkDocument = "translators/add-a-framework.md"

// frameworkWays are the first commands of each way.
var frameworkWays = []string{
	"cp -r genericjob/deploy/frameworks/jax my-framework && cd my-framework",
	"mkdir jax-operator && cd jax-operator",
}

// TestAFrameworkIsAddedAsTheDocumentSays begins each way beside the checkout, which is called genericjob, as the document wants it. The
// stock operator goes on meanwhile: what the way in Go installs is manifests. The ways follow on one another, for both bring the same kind.
func TestAFrameworkIsAddedAsTheDocumentSays(t *testing.T) {
	withoutKubeflow(t)
	ways := map[string][]string{}
	for _, d := range read(t) {
		way := ""
		for _, commands := range d.follow() {
			if slices.Contains(frameworkWays, commands.lines[0]) {
				way = commands.lines[0]
			}
			ways[way] = append(ways[way], commands.lines...)
		}
	}
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	for _, way := range frameworkWays {
		script := slices.DeleteFunc(ways[way], func(command string) bool {
			return elsewhereOf(command) != nil && !strings.HasPrefix(command, "kubectl delete")
		})
		require.Greater(t, len(script), 8, way)
		s := newSpace(t)
		s.folder = t.TempDir()
		require.NoError(t, os.Symlink(checkout, filepath.Join(s.folder, "genericjob")))
		s.run(strings.Join(script, "\n"))
	}
}

// follow are the scripts of a document that follow on one another.
func (d document) follow() []script {
	begins := slices.IndexFunc(d.scripts, func(s script) bool { return d.file == frameworkDocument && s.lines[0] == frameworkWays[0] })
	if begins < 0 {
		return nil
	}
	var blocks []script
	for _, s := range d.scripts[begins:] {
		if s.block {
			blocks = append(blocks, s)
		}
	}
	return blocks
}

func (s script) is(other script) bool { return s.line == other.line }

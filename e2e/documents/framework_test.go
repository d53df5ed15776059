package documents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frameworkDocument tells how to add a framework, in commands that follow on one another: they are run as one script.
const (
	frameworkDocument = "translators/README.md"
	frameworkBegins   = "mkdir jax-operator && cd jax-operator"
)

// TestAFrameworkIsAddedAsTheDocumentSays begins beside the checkout, which is called genericjob, as the document wants it. The
// stock operator goes on meanwhile: what is installed is manifests.
func TestAFrameworkIsAddedAsTheDocumentSays(t *testing.T) {
	withoutKubeflow(t)
	var script []string
	for _, d := range read(t) {
		for _, commands := range d.follow() {
			script = append(script, commands.lines...)
		}
	}
	script = slices.DeleteFunc(script, func(command string) bool {
		return elsewhereOf(command) != nil && !strings.HasPrefix(command, "kubectl delete")
	})
	require.Greater(t, len(script), 15)
	s := newSpace(t)
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	s.folder = t.TempDir()
	require.NoError(t, os.Symlink(checkout, filepath.Join(s.folder, "genericjob")))
	s.run(strings.Join(script, "\n"))
}

// follow are the scripts of a document that follow on one another.
func (d document) follow() []script {
	begins := slices.IndexFunc(d.scripts, func(s script) bool { return d.file == frameworkDocument && s.lines[0] == frameworkBegins })
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

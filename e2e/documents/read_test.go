package documents

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// document is a Markdown file of this checkout.
type document struct {
	file    string
	scripts []script
	yaml    []text
}

// text is a part of a document.
type text struct {
	line int
	text string
}

// script are commands that stand together: an indented block, or the commands between two backticks.
type script struct {
	line  int
	lines []string
	block bool
}

// programsOf are the first words of what is a command between backticks.
var programsOf = regexp.MustCompile("^(kubectl|make|go|helm|crane|git|promtool|pip|docker|skopeo) ")

var spans = regexp.MustCompile("`([^`]+)`")

// read reads all documents. What is not a command, or a manifest, stands in a block of another language: ```text.
func read(t *testing.T) []document {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	require.NoError(t, err)
	var documents []document
	for _, file := range strings.Fields(string(list)) {
		raw, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		d := document{file: file}
		d.read(strings.Split(string(raw), "\n"))
		documents = append(documents, d)
	}
	require.Greater(t, len(documents), 15)
	return documents
}

func (d *document) read(lines []string) {
	for i := 0; i < len(lines); i++ {
		switch {
		case lines[i] == "":
		case strings.HasPrefix(lines[i], "```"):
			begin := i + 1
			for i++; !strings.HasPrefix(lines[i], "```"); i++ {
			}
			if lines[begin-1] == "```yaml" {
				d.yaml = append(d.yaml, text{begin, strings.Join(lines[begin:i], "\n") + "\n"})
			}
		case strings.HasPrefix(lines[i], "    "):
			begin := i
			for ; i < len(lines) && (strings.HasPrefix(lines[i], "    ") || lines[i] == "" && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    ")); i++ {
			}
			d.scripts = append(d.scripts, script{begin + 1, commands(lines[begin:i]), true})
			i--
		default:
			begin := i // a span may go on in the next line
			for ; i+1 < len(lines) && lines[i+1] != "" && !strings.HasPrefix(lines[i+1], "```"); i++ {
			}
			for _, span := range spans.FindAllStringSubmatch(strings.Join(lines[begin:i+1], " "), -1) {
				if programsOf.MatchString(span[1]) {
					d.scripts = append(d.scripts, script{begin + 1, []string{span[1]}, false})
				}
			}
		}
	}
}

// commands are the commands of an indented block. If any stand behind a $, they are these alone, for the rest is what they print. Else
// they are all lines. One that ends in a backslash goes on in the next.
func commands(block []string) (found []string) {
	prompts := strings.Contains(strings.Join(block, "\n"), "    $ ")
	for i := 0; i < len(block); i++ {
		line, isPrompt := strings.CutPrefix(strings.TrimPrefix(block[i], "    "), "$ ")
		for strings.HasSuffix(line, `\`) && i+1 < len(block) {
			i++
			line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(block[i])
		}
		if (!prompts || isPrompt) && !strings.HasPrefix(line, "#") && line != "" {
			found = append(found, line)
		}
	}
	return found
}

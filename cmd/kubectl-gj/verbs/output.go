package verbs

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
)

// output is the flag -o.
type output string

func (o *output) add(c *cobra.Command, more ...string) {
	all := append([]string{"json", "yaml"}, more...)
	c.Flags().StringVarP((*string)(o), "output", "o", "", enumerate(all)+". Default: text")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// enumerate returns words as in: a, b or c.
func enumerate(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// check refuses another output than text, JSON, YAML and those of a verb.
func (o output) check(more ...string) error {
	all := append([]string{"json", "yaml"}, more...)
	if o != "" && !slices.Contains(all, string(o)) {
		return exit.Usagef("--output is %q: want %s", string(o), enumerate(all))
	}
	return nil
}

// write writes a value as JSON or YAML.
func (p *program) write(o output, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err == nil && o == "yaml" {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return fmt.Errorf("write %T: %w", value, err)
	}
	_, err = fmt.Fprintln(p.Out, strings.TrimRight(string(raw), "\n"))
	return err
}

// terminal returns the width of the terminal that is written to; false if it is none.
func (p *program) terminal() (width int, ok bool) {
	file, ok := p.raw.Out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 1 {
		width = 120
	}
	return width, true
}

// colours reports whether to write in colours.
func (p *program) colours() bool {
	_, ok := p.terminal()
	return ok && os.Getenv("NO_COLOR") == ""
}

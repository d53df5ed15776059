package verbs

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/why"
	"github.com/genericjob/genericjob/kernel"
)

func (p *program) why() *cobra.Command {
	var o output
	var rules string
	c := &cobra.Command{
		Use:   "why NAME",
		Short: "Say what a job waits for or died of, and what to do",
		Long: "Says in one paragraph what a job waits for or died of, and what to do about it.\n" +
			"With --rules it says what the rules of a failurePolicy would do about the job's last failures. Nothing is changed.\n" +
			"`why --rules defaults` lists by what rules it is decided where a job has none.",
		Example:           examples("why mnist", "why tfjob/mnist", "why mnist -o json | jq -r .reason", "why mnist --rules policy.yaml", "why --rules defaults"),
		ValidArgsFunction: p.names,
		Args: func(c *cobra.Command, names []string) error {
			if rules == defaults {
				return args(0, 0, "no NAME beside --rules defaults")(c, names)
			}
			return args(1, 1, "the NAME of a job")(c, names)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if rules == defaults {
				return p.listDefaults(o)
			}
			s, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			if rules != "" {
				return p.judge(f, rules, o)
			}
			if err := readWarnings(c.Context(), s, f); err != nil {
				return err
			}
			if err := f.ReadDefinition(c.Context(), s); err != nil {
				return err
			}
			answer := why.Of(f, time.Now())
			if o != "" {
				return p.write(o, answer)
			}
			fmt.Fprintln(p.Out, answer.Text())
			return nil
		},
	}
	c.Flags().StringVar(&rules, "rules", "", "a file with what stands below failurePolicy in a manifest, or a whole manifest; - is standard input; or defaults")
	o.add(c)
	return c
}

// defaults is the name that stands for the rules of a job that has none. A file of that name is ./defaults.
const defaults = "defaults"

// listDefaults prints them.
func (p *program) listDefaults(o output) error {
	if o != "" {
		return p.write(o, kernel.Defaults())
	}
	fmt.Fprint(p.Out, kernel.DefaultsText())
	return nil
}

// judge prints what the rules of a file would do about the failures of a job.
func (p *program) judge(f *jobs.Family, file string, o output) error {
	in, err := p.open(file)
	if err != nil {
		return exit.Usagef("--rules: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	policy, err := why.ReadRules(text)
	if err != nil {
		return exit.Usagef("--rules %s: %w", file, err)
	}
	remarks, err := why.Remarks(f, policy)
	if err != nil {
		return exit.Usagef("--rules %s: %w", file, err)
	}
	list, to := why.Judge(f, policy), p.Out
	if o != "" {
		to = p.ErrOut
		if err := p.write(o, list); err != nil {
			return err
		}
	} else {
		p.judged(f, list)
	}
	for _, text := range remarks {
		fmt.Fprintln(to, text)
	}
	return nil
}

// judged prints what rules would do about each failure.
func (p *program) judged(f *jobs.Family, list []why.Judgement) {
	if len(list) == 0 {
		fmt.Fprintf(p.Out, "The status of %s knows no failure.\n", f.Title())
	}
	for _, j := range list {
		fmt.Fprintln(p.Out, j.Text())
	}
}

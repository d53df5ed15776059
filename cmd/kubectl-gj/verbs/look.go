package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/top"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/kernel/ledger"
)

// The verbs that look at jobs: tree and top; why is in its own file.

func (p *program) tree() *cobra.Command {
	var watch, all bool
	var o output
	c := &cobra.Command{
		Use:               "tree NAME",
		Short:             "Show a job, its GenericJob and its pods: phase, node, restarts, why",
		Long:              treeHelp,
		Example:           examples("tree mnist", "tree pj/mnist -w", "tree mnist -o json"),
		Args:              args(1, 1, "the NAME of a job"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if watch && o != "" {
				return exit.Usagef("--watch shows text alone: leave --output out")
			}
			s, f, err := p.find(c.Context(), args[0])
			switch {
			case err != nil:
				return err
			case watch:
				return p.watchTree(c.Context(), s, f, all)
			}
			if err := readWarnings(c.Context(), s, f); err != nil {
				return err
			}
			if o != "" {
				return p.write(o, tree.Of(f, time.Now()))
			}
			for _, line := range p.drawn(f, all, 0) {
				fmt.Fprintln(p.raw.Out, line)
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "go on showing it until the job is over")
	c.Flags().BoolVar(&all, "all", false, "a line for each pod, however many there are")
	o.add(c)
	return c
}

// drawn returns the tree of a job in lines.
func (p *program) drawn(f *jobs.Family, all bool, width int) []string {
	root := tree.Of(f, time.Now())
	if !all {
		root = tree.Fold(root)
	}
	return tree.Style{Colours: p.colours(), Width: width}.Lines(root)
}

// watchTree shows a tree until the job is over: in place on a terminal, else anew after each change.
func (p *program) watchTree(ctx context.Context, s *session, f *jobs.Family, all bool) error {
	_, terminal := p.terminal()
	var last []string
	return jobs.Follow(ctx, s, f, func(now *jobs.Family) (bool, error) {
		_ = now.ReadWarnings(ctx, s) // the next look may have them
		width, _ := p.terminal()
		lines := p.drawn(now, all, width)
		if !slices.Equal(lines, last) {
			text := strings.Join(lines, "\n") + "\n"
			if terminal {
				text = redrawn(lines, len(last))
			} else if last != nil {
				text = "\n" + text
			}
			if _, err := io.WriteString(p.raw.Out, text); err != nil {
				return false, err
			}
			last = lines
		}
		return now.IsOver(), nil
	})
}

// redrawn writes lines over those that were drawn before.
func redrawn(lines []string, drawn int) string {
	var text strings.Builder
	if drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", drawn)
	}
	for _, line := range lines {
		text.WriteString("\x1b[2K" + line + "\n")
	}
	text.WriteString("\x1b[J") // what is left of a longer tree
	return text.String()
}

func readWarnings(ctx context.Context, s *session, f *jobs.Family) error {
	if err := f.ReadWarnings(ctx, s); err != nil {
		return fmt.Errorf("read the events of %s: %w", f.Title(), err)
	}
	return nil
}

func (p *program) top() *cobra.Command {
	var all bool
	var o output
	c := &cobra.Command{
		Use:               "top [NAME]",
		Short:             "Sort jobs, or the replicas of one, by their restarts, not by CPU",
		Long:              topHelp,
		Example:           examples("top", "top -A", "top mnist"),
		Args:              args(0, 1, "the NAME of a job, or none for all"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if all && len(args) > 0 {
				return exit.Usagef("--all-namespaces is for all jobs: leave the name %q out", args[0])
			}
			if len(args) == 1 {
				rows, err := p.topReplicas(c.Context(), args[0])
				return p.writeRows(o, err, rows, len(rows), func() [][]string { return top.TableOfReplicas(rows, time.Now()) })
			}
			rows, err := p.topJobs(c.Context(), all)
			return p.writeRows(o, err, rows, len(rows), func() [][]string { return top.TableOfJobs(rows, all, time.Now()) })
		},
	}
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "the jobs of all namespaces")
	o.add(c)
	return c
}

// writeRows writes n rows, in the form asked for, or as a table.
func (p *program) writeRows(o output, err error, rows any, n int, table func() [][]string) error {
	switch {
	case err != nil:
		return err
	case o != "":
		return p.write(o, rows)
	case n == 0:
		fmt.Fprintln(p.ErrOut, "No replica has been started again.")
		return nil
	default:
		return p.table(table())
	}
}

func (p *program) topReplicas(ctx context.Context, name string) ([]top.Replica, error) {
	_, f, err := p.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if f.GenericJob == nil {
		return nil, errors.New("the job has no GenericJob yet: nothing of it was started")
	}
	if _, err := ledger.Load(f.GenericJob); err != nil {
		return nil, fmt.Errorf("read the status of GenericJob %s: %w", f.GenericJob.Name, err)
	}
	return top.Replicas(f.GenericJob), nil
}

func (p *program) topJobs(ctx context.Context, all bool) ([]top.Job, error) {
	s, err := p.connect()
	if err != nil {
		return nil, err
	}
	where := client.InNamespace(s.namespace)
	if all {
		where = client.InNamespace("")
	}
	list := &v1beta1.GenericJobList{}
	if err := s.List(ctx, list, where); err != nil {
		return nil, fmt.Errorf("list GenericJobs: %w", err)
	}
	return top.Jobs(list.Items), nil
}

// table writes rows in columns.
func (p *program) table(rows [][]string) error {
	w := printers.GetNewTabWriter(p.Out)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

package verbs

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/list"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/page"
)

func (p *program) list() *cobra.Command {
	var all bool
	var selector string
	var phases []string
	var o output
	c := &cobra.Command{
		Use:   "list",
		Short: "List jobs of all kinds: phase, step and loss, age, duration, last failure",
		Long: "Lists the jobs of a namespace, of all kinds. A GenericJob that belongs to another job is not listed beside it.\n" +
			"RUNNING is how many replicas run, of those that have not finished; of a job that is over, how many were left running.\n" +
			"STEP and LOSS are the last that the code reported to the operator, which asks once a minute: see spec.heartbeat.\n" +
			"DURATION is from the job's start to its end, or until now if it goes on; pauses are part of it.\n" +
			"LAST FAILURE is what keeps a pod from starting on its node, or how the last replica failed. A replica that waits for a node has not failed: see `why`.\n" +
			"With -o html it is a page with the labels by which the jobs differ, as those of a sweep do.",
		Example: examples("list", "list -A --phase=running,pending", "list -l team=vision -o json", "list -l sweep=rates -o html > sweep.html"),
		Args:    args(0, 0, "no argument; a selector is for -l"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(html); err != nil {
				return err
			}
			matching, err := labels.Parse(selector)
			if err != nil {
				return exit.Usagef("--selector is %q: %w", selector, err)
			}
			wanted, unknown := list.Phases(phases)
			if unknown != "" {
				return exit.Usagef("--phase is %q: want some of %v", unknown, v1beta1.JobPhases())
			}
			s, err := p.connect()
			if err != nil {
				return err
			}
			namespace := s.namespace
			if all {
				namespace = ""
			}
			families, err := jobs.List(c.Context(), s, namespace, matching)
			if err != nil {
				return err
			}
			if err := jobs.ReadWarnings(c.Context(), s, namespace, families); err != nil {
				return err
			}
			return p.listed(o, list.Of(families, wanted), all)
		},
	}
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "the jobs of all namespaces")
	c.Flags().StringVarP(&selector, "selector", "l", "", "the jobs with such labels, as in team=vision")
	c.Flags().StringSliceVar(&phases, "phase", nil, "the jobs of some phases, as in running,pending")
	o.add(c, html)
	return c
}

func (p *program) listed(o output, rows []list.Row, all bool) error {
	switch {
	case o == html:
		_, err := io.WriteString(p.Out, page.ListOf(rows, all, time.Now()).HTML())
		return err
	case o != "":
		return p.write(o, rows)
	case len(rows) == 0:
		fmt.Fprintln(p.ErrOut, "There is no such job.")
		return nil
	default:
		return p.table(list.Table(rows, all, time.Now()))
	}
}

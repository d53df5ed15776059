package verbs

import (
	"io"
	"time"

	"github.com/spf13/cobra"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/page"
)

// html is the output of pages.
const html = "html"

func (p *program) report() *cobra.Command {
	var o string
	var readLogs bool
	c := &cobra.Command{
		Use:   "report NAME",
		Short: "Write a page with a job's life: replicas over time, what time was spent on, failures, curves",
		Long: "Writes one HTML file that needs no network: what the job and its replicas did over time, what the time was spent on, what came between,\n" +
			"its failures in their own words, its last events, and curves of loss and steps.\n" +
			"The curves come from the log of the replica that tells its progress: see spec.progress. Without that log there are none.\n" +
			"What a pod did that is gone is shown as far as the job's status tells it.",
		Example:           examples("report mnist > mnist.html", "report pj/mnist -o html --logs=false"),
		Args:              args(1, 1, "the NAME of a job"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			if o != html {
				return exit.Usagef("--output is %q: want html", o)
			}
			s, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := readWarnings(c.Context(), s, f); err != nil {
				return err
			}
			var pods typedcorev1.PodInterface
			if readLogs {
				set, err := s.clientset()
				if err != nil {
					return err
				}
				pods = set.CoreV1().Pods(f.Job.GetNamespace())
			}
			in, err := page.Read(c.Context(), s, pods, f, time.Now())
			if err != nil {
				return err
			}
			_, err = io.WriteString(p.Out, page.Of(in).HTML())
			return err
		},
	}
	c.Flags().StringVarP(&o, "output", "o", html, "html")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{html}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	c.Flags().BoolVar(&readLogs, "logs", true, "read the log of a replica for the curves")
	return c
}

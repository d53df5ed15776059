package verbs

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plain"
)

const codes = `
Exit codes of all verbs:
  0    done; wait: the job has succeeded, or is as --for asks
  1    the job has failed, or would fail (wait, translate)
  2    the command line is wrong
  3    --timeout has passed
  4    there is no such job, the cluster refuses something, or it cannot be reached
  130  Ctrl-C
With debug --shell the command's own code is passed on.`

const rootHelp = `Looks into training jobs, and steers them: GenericJob, PyTorchTrainingJob, TensorFlowTrainingJob, and Kubeflow's TFJob, PyTorchJob,
XGBoostJob, PaddleJob, JAXJob and MPIJob.
A job is called by its NAME, or by KIND/NAME where several kinds have that name: gj, pj, tj, tfjob, pytorchjob, ..., or a kind of a TrainingFramework.
` + codes

// program is what all verbs share.
type program struct {
	// IOStreams show control characters instead of having a terminal obey them.
	genericiooptions.IOStreams
	// raw are for the colours of a tree, for logs, and for a shell.
	raw   genericiooptions.IOStreams
	flags *genericclioptions.ConfigFlags
}

// New returns the program with all its verbs.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	p := &program{streams, streams, genericclioptions.NewConfigFlags(true)}
	p.Out, p.ErrOut = plain.Writer(streams.Out), plain.Writer(streams.ErrOut)
	root := &cobra.Command{
		Use:           "kubectl-gj",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl gj"},
		Short:         "Looks into training jobs, and steers them",
		Long:          rootHelp,
		Example:       examples("list", "tree mnist -w", "why mnist", "logs mnist -f", "wait mnist --timeout=1h && echo trained"),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return exit.Usagef("there is no verb %q: see `kubectl gj --help`%s", args[0], suggestion(c.SuggestionsFor(args[0])))
		},
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return checkTimes(c.Flags()) },
	}
	p.flags.AddFlags(root.PersistentFlags())
	root.SetIn(streams.In)
	root.SetOut(p.Out)
	root.SetErr(p.ErrOut)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return exit.Usagef("%w: see `%s --help`", err, c.CommandPath())
	})
	root.AddCommand(p.list(), p.tree(), p.why(), p.logs(), p.pause(), p.resume(), p.debug(), p.sync(), p.restart(), p.scale(), p.set(), p.wait(), p.translate(), p.top(), p.tensorboard(), p.report())
	return root
}

// Complain writes what is wrong, if there is anything to say.
func Complain(to io.Writer, err error) {
	if err != nil && err.Error() != "" {
		fmt.Fprintln(plain.Writer(to), "error:", err)
	}
}

func suggestion(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; do you mean " + strings.Join(names, " or ") + "?"
}

// examples returns command lines, as --help shows them.
func examples(lines ...string) string {
	return "  kubectl gj " + strings.Join(lines, "\n  kubectl gj ")
}

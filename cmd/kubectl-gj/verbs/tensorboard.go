package verbs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

func (p *program) tensorboard() *cobra.Command {
	var port uint16
	c := &cobra.Command{
		Use:   "tensorboard NAME",
		Short: "Say how to open a job's TensorBoard",
		Long: "Prints the command that makes a job's TensorBoard reachable from this machine, as long as the command runs.\n" +
			"On standard error it says where to look then, and what the TensorBoard lacks.",
		Example:           examples("tensorboard mnist", "tensorboard mnist --port=8080"),
		Args:              args(1, 1, "the NAME of a job"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			_, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			board := f.TensorBoard()
			if board == nil {
				return exit.Failedf("%s has no TensorBoard: spec.tensorboardSpec of a PyTorchTrainingJob or a TensorFlowTrainingJob asks for one", f.Title())
			}
			if board.Reason == tensorboard.ReasonMissing {
				return exit.Failedf("the TensorBoard of %s is not all there: %s", f.Title(), board.Note)
			}
			if !board.Ready {
				fmt.Fprintf(p.ErrOut, "It is not ready: %s: %s\n", board.Reason, board.Note)
			}
			fmt.Fprintf(p.ErrOut, "Run this, and open http://localhost:%d\n", port)
			fmt.Fprintf(p.Out, "kubectl port-forward -n %s service/%s %d:http\n", f.Job.GetNamespace(), tensorboard.Name(f.Job), port)
			return nil
		},
	}
	c.Flags().Uint16Var(&port, "port", 6006, "the port on this machine")
	return c
}

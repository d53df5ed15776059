package verbs

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/code"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// The verbs of a developer: sync and restart.

// needs is what both of them need.
const needs = "The pods need the operator's wrapper: restartStrategy InPlace, heartbeat or progress. You need the right to exec in pods.\n" +
	"The processes get SIGTERM and have the grace period of their pod, or --grace. All have ended before the first begins again.\n" +
	"Containers and attempts stay, so it counts as no restart. Auxiliary replicas, finished ones and other containers are left alone."

func (p *program) sync() *cobra.Command {
	var w code.Work
	var watch bool
	var exclude []string
	c := &cobra.Command{
		Use:   "sync NAME LOCAL:DIR",
		Short: "Bring code of this machine into the pods of a running job, and begin it again there",
		Long: "Copies the files of a folder, or one file, into a folder of the container that trains, in all pods of a job. It needs no tar or shell there.\n" +
			"--restart has the code begin again then. --watch does both at each save, until Ctrl-C.\n" +
			"If one pod cannot take the files, none does, and nothing is begun again.\n\n" +
			"What is synced lives as long as its pod, also if the container fails and starts again.\n" +
			"A new pod has the code of its image again: after a drain, a lost node, a pause, or a restart that replaces pods.\n\n" + needs + "\n\n" +
			"Left out: " + strings.Join(code.Excluded, " ") + ", what --exclude names, and links out of the folder.\n" +
			"Files that are only in the pods stay. --watch deletes a file that is deleted here, in the pods into which it has brought it.",
		Example:           examples("sync mnist ./src:/app", "sync mnist ./src:/app --restart", "sync mnist ./src:/app --watch --grace=2s", "sync mnist train.py:/app/ --restart"),
		Args:              args(2, 2, "the NAME of a job and LOCAL:DIR"),
		ValidArgsFunction: p.namesThenFiles,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if w.Folder, err = code.NewFolder(args[1], exclude); err != nil {
				return err
			}
			s, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			w.Restarts = w.Restarts || watch
			w.Connect, w.Out, w.Err = code.Exec(s.config), p.Out, p.ErrOut
			w.RestartCommand = f.Command("restart", "")
			if watch {
				return w.Watch(c.Context(), f, func(ctx context.Context) (*jobs.Family, error) { return f.Reread(ctx, s) })
			}
			return w.Once(c.Context(), f)
		},
	}
	c.Flags().BoolVar(&w.Restarts, "restart", false, "have the code begin again")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "sync and restart now and at each save, until Ctrl-C")
	c.Flags().StringArrayVar(&exclude, "exclude", nil, "leave out files and folders of this name or path, as in data or '*.pt'; may be repeated")
	c.Flags().DurationVar(&w.Grace, "grace", 0, "how long code may take to end, as in 2s. Default, and most: terminationGracePeriodSeconds of the pod")
	return c
}

func (p *program) restart() *cobra.Command {
	var w code.Work
	c := &cobra.Command{
		Use:               "restart NAME",
		Short:             "Begin the code of a running job again, in its pods; no limit counts that",
		Long:              restartHelp,
		Example:           examples("restart mnist", "restart mnist --grace=2s"),
		Args:              args(1, 1, "the NAME of a job"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			s, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			w.Restarts, w.Connect, w.Out, w.Err = true, code.Exec(s.config), p.Out, p.ErrOut
			return w.Once(c.Context(), f)
		},
	}
	c.Flags().DurationVar(&w.Grace, "grace", 0, "how long code may take to end, as in 2s. Default, and most: terminationGracePeriodSeconds of the pod")
	return c
}

// namesThenFiles completes the name of a job, and then files of this machine.
func (p *program) namesThenFiles(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return nil, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveDefault
	}
	return p.names(c, args, begun)
}

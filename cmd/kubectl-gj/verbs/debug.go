package verbs

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/edit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/shell"
)

// debugging is what the verb debug is asked for.
type debugging struct {
	off, skipInit      bool
	replica, container string
	command            []string
	timeout            time.Duration
}

func (p *program) debug() *cobra.Command {
	var d debugging
	c := &cobra.Command{
		Use:   "debug NAME [--shell TYPE-RANK [-- COMMAND...]]",
		Short: "Have a job's pods sleep instead of train, and open a shell in one",
		Long: "Switches debug mode on: pods that sleep take the place of those that train, for all replicas that have not finished. --off ends it.\n" +
			"It prints the command that they would run, as a line for a shell in them.\n" +
			"--shell opens a shell in a replica of the job, or runs a command there, once its pod runs in debug mode. Then the exit code is that of the shell or command.",
		Example:           examples("debug mnist", "debug mnist --shell worker-0", "debug mnist --shell worker-0 -- nvidia-smi", "debug mnist --off"),
		Args:              args(1, 1000, "the NAME of a job, and a command after -- with --shell"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); len(args) > 1 && (dash != 1 || d.replica == "") {
				return exit.Usagef("%q: want one NAME; a command goes after --, and needs --shell", args[1:])
			}
			if d.off && (d.replica != "" || d.skipInit) {
				return exit.Usagef("--off ends debug mode: leave --shell and --skip-init out")
			}
			d.command = args[1:]
			s, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := d.refused(f); err != nil {
				return err
			}
			if err := p.switchDebug(c, s, f, d); err != nil || d.replica == "" {
				return err
			}
			return p.openShell(c, s, f, d)
		},
	}
	c.Flags().BoolVar(&d.off, "off", false, "end debug mode: train")
	c.Flags().BoolVar(&d.skipInit, "skip-init", false, "leave out init containers")
	c.Flags().StringVar(&d.replica, "shell", "", "the replica to open a shell in, as in worker-0")
	c.Flags().StringVarP(&d.container, "container", "c", "", "the container for --shell. Default: the one that trains")
	c.Flags().DurationVar(&d.timeout, "timeout", 5*time.Minute, "how long --shell waits for the pod; 0: without end")
	return c
}

// refused says why no shell can be opened, however long one waits for it.
func (d debugging) refused(f *jobs.Family) error {
	if d.replica != "" && edit.RunMode(f.Job).Pauses() {
		return exit.Usagef("%s is paused, so %s has no pod: end the pause first, with `%s`", f.Title(), d.replica, f.Command("resume", ""))
	}
	return logs.HasReplica(f, d.replica)
}

// switchDebug switches debug mode, unless it is as asked for, and says what the pods would run without it.
func (p *program) switchDebug(c *cobra.Command, s *session, f *jobs.Family, d debugging) error {
	debugs, does := edit.RunMode(f.Job).Debugs(), "going to debug mode"
	if d.off {
		does = "going back to training"
	}
	if !debugs || d.off || d.skipInit {
		err := p.patch(c.Context(), s, f, does, func(f *jobs.Family) (client.Patch, error) { return edit.Debug(f, !d.off, d.skipInit) })
		if err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.ErrOut, "%s is in debug mode already. To end it: %s\n", f.Title(), f.Command("debug", "--off"))
	}
	if d.off || len(d.command) > 0 {
		return nil
	}
	for _, line := range shell.TrainingCommands(f.GenericJob, d.replica, d.container) {
		fmt.Fprintln(p.ErrOut, line)
	}
	return nil
}

// openShell opens a shell once there is a pod for it. If that does not come, debug mode stays on: the next call has less to wait for.
func (p *program) openShell(c *cobra.Command, s *session, f *jobs.Family, d debugging) error {
	ctx, cancel := within(c.Context(), d.timeout)
	defer cancel()
	pod, err := shell.Await(ctx, s, &f, d.replica)
	if err == nil {
		return shell.Run(c.Context(), s.config, pod, d.container, d.command, p.raw)
	}
	if !f.IsOver() {
		fmt.Fprintf(p.ErrOut, "%s stays in debug mode. To end it: %s\n", f.Title(), f.Command("debug", "--off"))
	}
	return timedOut(c.Context(), ctx, err, d.timeout, s, f)
}

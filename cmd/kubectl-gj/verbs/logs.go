package verbs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
)

func (p *program) logs() *cobra.Command {
	printer := &logs.Printer{Out: p.raw.Out, Err: p.raw.ErrOut}
	var follow, first bool
	c := &cobra.Command{
		Use:   "logs NAME [REPLICA...]",
		Short: "Print the logs of all replicas, or of the one that failed first",
		Long: "Prints the logs of all replicas of a job, each line behind the name of its replica, or of some: worker, worker-3.\n" +
			"With -f it goes on until the job is over, also with replicas that are replaced or restarted in place, and after a connection that broke.\n" +
			"--first-failure prints that of the replica that failed first, up to its end, also where its code was run again in the pod.\n" +
			"The log of a pod goes with the pod: what is left then are its last words, which the operator keeps of the last five failures.",
		Example:           examples("logs mnist", "logs mnist -f --tail=10", "logs mnist worker-0 master", "logs mnist --first-failure"),
		Args:              args(1, 1000, "the NAME of a job, and replicas of it if not all are meant"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			printer.Replicas, printer.Colours = args[1:], p.colours()
			if err := contradiction(printer, follow, first); err != nil {
				return err
			}
			s, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			set, err := s.clientset()
			if err != nil {
				return err
			}
			printer.Pods = set.CoreV1().Pods(f.Job.GetNamespace())
			switch {
			case first:
				return p.firstFailure(c.Context(), printer, f)
			case follow:
				return printer.Follow(c.Context(), s, f)
			default:
				return printer.Print(c.Context(), f)
			}
		},
	}
	flags := c.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "go on until the job is over")
	flags.BoolVar(&first, "first-failure", false, "the log of the replica that failed first")
	flags.StringVarP(&printer.Container, "container", "c", "", "the container. Default: the one that trains")
	flags.BoolVar(&printer.All, "all-containers", false, "all containers, init containers too")
	flags.Int64Var(&printer.Tail, "tail", -1, "how many of the last lines of each log. Default: all")
	flags.DurationVar(&printer.Since, "since", 0, "lines that are not older than this, as in 5m. Default: all")
	flags.BoolVar(&printer.Timestamps, "timestamps", false, "each line with its time")
	return c
}

func contradiction(printer *logs.Printer, follow, first bool) error {
	switch {
	case first && (follow || len(printer.Replicas) > 0):
		return exit.Usagef("--first-failure chooses the replica, which has ended: leave --follow and replicas out")
	case printer.All && printer.Container != "":
		return exit.Usagef("--container and --all-containers contradict each other: give one of them")
	default:
		return nil
	}
}

// firstFailure prints what there is of the first failure.
func (p *program) firstFailure(ctx context.Context, printer *logs.Printer, f *jobs.Family) error {
	failure := logs.First(f)
	if failure == nil {
		fmt.Fprintln(p.ErrOut, "No replica has failed.")
		return nil
	}
	fmt.Fprintln(p.ErrOut, failure.Head(f, tree.Describe(failure.ReplicaFailure)))
	if failure.Kept != nil {
		if printer.Container == "" && !printer.All {
			printer.Container = failure.Container // the one that failed
		}
		only := *f
		only.Pods = only.Pods[:0:0]
		only.Pods = append(only.Pods, failure.Kept)
		if err := printer.Print(ctx, &only); !errors.Is(err, logs.ErrGone) {
			return err
		}
		p.lastWords(f, failure, "Its pod is there, but the node no longer has its log")
		return nil
	}
	return p.failureInPlace(ctx, printer, f, failure)
}

// failureInPlace prints what there is of a failure whose pod runs on, or is gone.
func (p *program) failureInPlace(ctx context.Context, printer *logs.Printer, f *jobs.Family, failure *logs.Failure) error {
	if !failure.IsThere(f) {
		p.lastWords(f, failure, "Its pod is gone, and its log with it")
		return nil
	}
	at := failure.InPlace(f)
	found, more := false, false
	if at != nil {
		var err error
		if found, more, err = printer.PrintFailure(ctx, *failure, at); err != nil && !errors.Is(err, logs.ErrGone) {
			return err
		}
	}
	switch {
	case !found:
		p.lastWords(f, failure, "It was restarted in its pod, and the node no longer has the log of that run")
	case more:
		fmt.Fprintf(p.ErrOut, "It was restarted in its pod: what it said since is in `%s`.\n", f.Command("logs", failure.Replica(f)))
	}
	return nil
}

// lastWords prints those of a failure that the operator has kept, and says why there is no more.
func (p *program) lastWords(f *jobs.Family, failure *logs.Failure, why string) {
	fmt.Fprintln(p.ErrOut, why+". These are its last words, which the operator has kept:")
	for line := range strings.Lines(failure.Message) {
		fmt.Fprintf(p.Out, "[%s] %s\n", failure.Replica(f), strings.TrimRight(line, "\n"))
	}
}

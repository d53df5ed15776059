package verbs

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
)

// checkTimes refuses times below zero: nobody means them, and they would stand for no bound.
func checkTimes(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if d, wrong := flags.GetDuration(f.Name); wrong == nil && d < 0 {
			err = exit.Usagef("--%s=%s: want 0 or more", f.Name, d)
		}
	})
	return err
}

// within bounds a context by --timeout; 0 is no bound.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}

// args wants so many arguments.
func args(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return exit.Usagef("%s: want %s; see `%s --help`", plural.Count(n, "argument"), what, c.CommandPath())
		}
		return nil
	}
}

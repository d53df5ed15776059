package verbs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/why"
)

// goals are what --for may ask for. A status of before the last edit is no answer to it, nor is one that refuses it.
var goals = map[string]func(*jobs.Family) bool{
	"succeeded": func(f *jobs.Family) bool { return f.Phase() == v1beta1.JobSucceeded },
	"running":   func(f *jobs.Family) bool { return f.IsCurrent() && f.Is(v1beta1.ConditionRunning) && !f.Refuses() },
	"paused":    func(f *jobs.Family) bool { return f.IsCurrent() && f.Phase() == v1beta1.JobPaused },
}

func (p *program) wait() *cobra.Command {
	var goal string
	var timeout time.Duration
	var o output
	known := slices.Sorted(maps.Keys(goals))
	c := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a job has succeeded or failed, and say which by the exit code",
		Long: "Waits until a job has succeeded, or is as --for asks.\nIt ends at once, with exit code 1, when the job is over otherwise, and then says why on standard error.\n" +
			codes,
		Example:           examples("wait mnist --timeout=2h && ./publish", "wait mnist --for=running --timeout=10m", "wait mnist -o json | jq .reason"),
		Args:              args(1, 1, "the NAME of a job"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			reached := goals[goal]
			if reached == nil {
				return exit.Usagef("--for is %q: want one of %s", goal, strings.Join(known, ", "))
			}
			ctx, cancel := within(c.Context(), timeout)
			defer cancel()
			s, f, err := p.find(ctx, args[0])
			if err == nil {
				err = await(ctx, s, &f, reached)
			}
			if f != nil && o != "" {
				err = errors.Join(p.write(o, why.Of(f, time.Now())), err)
			}
			return timedOut(c.Context(), ctx, err, timeout, s, f)
		},
	}
	c.Flags().StringVar(&goal, "for", "succeeded", strings.Join(known, ", "))
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait, as in 2h. Default: without end")
	_ = c.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	o.add(c)
	return c
}

// await waits for a goal. The family is the last that was seen.
func await(ctx context.Context, s *session, f **jobs.Family, reached func(*jobs.Family) bool) error {
	return jobs.Follow(ctx, s, *f, func(now *jobs.Family) (bool, error) {
		*f = now
		switch {
		case reached(now):
			return true, nil
		case now.IsOver():
			return false, exit.Failedf("%s", why.Of(now, time.Now()).Text())
		default:
			return false, nil
		}
	})
}

// timedOut says that the time of --timeout is over, if that is the error, and what the job waits for. f is nil if the cluster has not even told that.
// Bounded is the context that --timeout bounds: without its end the error is that of one call, as by --request-timeout.
func timedOut(ctx, bounded context.Context, err error, timeout time.Duration, s *session, f *jobs.Family) error {
	isOver := timeout > 0 && errors.Is(bounded.Err(), context.DeadlineExceeded)
	if !isOver || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if f == nil {
		return exit.Timeoutf("timed out after %s: %w", short(timeout), err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = f.ReadWarnings(ctx, s) // they only add to what is told
	return exit.Timeoutf("timed out after %s. %s", short(timeout), why.Of(f, time.Now()).Text())
}

// short returns a duration without units of which there is none: 5m, not 5m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = strings.TrimSuffix(text, none[1:])
		}
	}
	return text
}

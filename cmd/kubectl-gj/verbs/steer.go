package verbs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/edit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// The verbs that steer jobs: pause, resume and scale.

func (p *program) pause() *cobra.Command {
	var waits bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "pause NAME",
		Short: "Pause a job: its pods are deleted, and its spec may be edited",
		Long: "Pauses a job: its pods are deleted gracefully, which spends no restart, and what has finished stays so.\n" +
			"Once it is paused its spec may be edited; --wait waits for that.",
		Example:           examples("pause mnist --wait --timeout=5m", "pause tfjob/mnist"),
		Args:              args(1, 1, "the NAME of a job"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := within(c.Context(), timeout)
			defer cancel()
			s, f, err := p.find(ctx, args[0])
			if err != nil {
				return timedOut(c.Context(), ctx, err, timeout, s, f)
			}
			err = p.patch(ctx, s, f, "pausing", func(f *jobs.Family) (client.Patch, error) { return edit.Pause(f.Kind, true), nil })
			if err != nil || !waits {
				return timedOut(c.Context(), ctx, err, timeout, s, f)
			}
			if err := await(ctx, s, &f, goals["paused"]); err != nil {
				return timedOut(c.Context(), ctx, err, timeout, s, f)
			}
			fmt.Fprintf(p.ErrOut, "%s paused\n", f.Title())
			return nil
		},
	}
	c.Flags().BoolVar(&waits, "wait", false, "wait until no pod is left")
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long it may take, with what --wait waits for, as in 5m. Default: without end")
	return c
}

func (p *program) resume() *cobra.Command {
	return p.patching("resume NAME", "End a job's pause", "Ends a job's pause: what had not finished is started again.",
		examples("resume mnist && kubectl gj wait mnist --for=running"), "resuming",
		func(f *jobs.Family) (client.Patch, error) { return edit.Pause(f.Kind, false), nil })
}

// patching returns a verb that patches a job and says what it then does.
func (p *program) patching(use, short, long, example, does string, edit func(*jobs.Family) (client.Patch, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args:              args(1, 1, "the NAME of a job"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			s, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			return p.patch(c.Context(), s, f, does, edit)
		},
	}
}

func (p *program) patch(ctx context.Context, s *session, f *jobs.Family, does string, edit func(*jobs.Family) (client.Patch, error), more ...client.PatchOption) error {
	if f.IsOver() {
		return exit.Failedf("%s is over: its phase is %s", f.Title(), f.Phase())
	}
	patch, err := edit(f)
	if err != nil {
		return err
	}
	// Strict: a kind that the cluster defines may not have the field.
	options := append([]client.PatchOption{client.FieldOwner("kubectl-gj"), client.FieldValidation(metav1.FieldValidationStrict)}, more...)
	if err := s.Patch(ctx, f.Job, patch, options...); err != nil {
		return err // the apiserver says which field, and why
	}
	fmt.Fprintf(p.ErrOut, "%s %s\n", f.Title(), does)
	return nil
}

func (p *program) scale() *cobra.Command {
	return &cobra.Command{
		Use:   "scale NAME [TYPE=]N",
		Short: "Set the number of replicas of a job, or of one of its types",
		Long: "Sets the number of replicas of a job of one type, of an elastic job as a whole, or of one type of another job.\n" +
			"A GenericJob may be scaled while it runs; jobs of other kinds only if they are elastic, or in a pause.",
		Example:           examples("scale hello 5", "scale hello worker=5", "scale pytorchjob/mnist worker=4"),
		Args:              args(2, 2, "the NAME of a job and a number of replicas"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			replicaType, text, ok := strings.Cut(args[1], "=")
			if !ok {
				replicaType, text = "", args[1]
			}
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 1 || ok && replicaType == "" {
				return exit.Usagef("%q is no number of replicas: want N or TYPE=N, N being 1 or more", args[1])
			}
			s, f, err := p.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			return p.patch(c.Context(), s, f, "scaling to "+args[1], func(f *jobs.Family) (client.Patch, error) {
				if f.IsDefined() {
					return nil, exit.Usagef("which field of a %s says how many replicas it has is known to its TrainingFramework alone: edit the job, in a pause", f.Kind.Kind)
				}
				return edit.Scale(f.Job, replicaType, int32(n))
			})
		},
	}
}

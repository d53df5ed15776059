package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/edit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// setting is what the three of set share.
type setting struct {
	edit.Containers
	dryRun string
}

func (p *program) set() *cobra.Command {
	s := &setting{}
	c := &cobra.Command{
		Use:   "set image|env|args NAME ...",
		Short: "Set the image, variables or arguments of a job that is paused, or has not started",
		Long: "Sets the image, variables or arguments of the containers that train, in the templates of all replica types, and prints what changes.\n" +
			"Once code has started a job is edited in a pause alone. Before, it may be edited at once: its pods are made again, and nothing is counted.",
		Example: examples("set image mnist registry.example/train:v2", "set env mnist LR=0.1 DEBUG-", "set args mnist --type=worker -- train.py --lr=0.1"),
		RunE: func(c *cobra.Command, args []string) error {
			return exit.Usagef("%s: want image, env or args; see `%s --help`", strings.Join(append([]string{"set"}, args...), " "), c.CommandPath())
		},
	}
	c.PersistentFlags().StringSliceVar(&s.Types, "type", nil, "replica types, as in worker. Default: all")
	c.PersistentFlags().StringVarP(&s.Container, "container", "c", "", "the container. Default: the one that trains")
	c.PersistentFlags().StringVar(&s.dryRun, "dry-run", "none", "server: the apiserver checks the edit; client: nobody does. Neither makes it")
	c.PersistentFlags().Lookup("dry-run").NoOptDefVal = "server"
	c.AddCommand(p.setImage(s), p.setEnv(s), p.setArgs(s))
	return c
}

func (p *program) setImage(s *setting) *cobra.Command {
	return &cobra.Command{
		Use:               "image NAME [CONTAINER=]IMAGE",
		Short:             "Set the image of a job's containers",
		Long:              "Sets the image of the containers that train, or of those of a name, in the templates of all replica types or of some.",
		Example:           examples("set image mnist registry.example/train:v2", "set image tfjob/mnist tensorflow=registry.example/train:v2 --type=worker,chief"),
		Args:              args(2, 2, "the NAME of a job and an image"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			image := args[1]
			if container, of, ok := strings.Cut(image, "="); ok { // as `kubectl set image` has it
				if s.Container != "" && s.Container != container {
					return exit.Usagef("%q names another container than --container, which is %q", image, s.Container)
				}
				s.Container, image = container, of
			}
			if image == "" {
				return exit.Usagef("%q names no image: want IMAGE or CONTAINER=IMAGE", args[1])
			}
			return p.change(c, s, args[0], func(f *jobs.Family) (client.Patch, []edit.Change, error) { return s.Image(f, image) })
		},
	}
}

func (p *program) setEnv(s *setting) *cobra.Command {
	return &cobra.Command{
		Use:               "env NAME KEY=VALUE... KEY-...",
		Short:             "Set variables of a job's containers, or remove some",
		Long:              setEnvHelp,
		Example:           examples("set env mnist LR=0.1 NCCL_DEBUG=INFO", "set env mnist NCCL_DEBUG- --dry-run"),
		Args:              args(2, 1000, "the NAME of a job and variables"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			variables, err := edit.Variables(args[1:])
			if err != nil {
				return err
			}
			return p.change(c, s, args[0], func(f *jobs.Family) (client.Patch, []edit.Change, error) { return s.Env(f, variables) })
		},
	}
}

func (p *program) setArgs(s *setting) *cobra.Command {
	return &cobra.Command{
		Use:               "args NAME -- ARG...",
		Short:             "Set the arguments of a job's containers",
		Long:              "Sets the arguments of the containers that train; none after -- removes them. A job of several types needs --type, for theirs may differ.",
		Example:           examples("set args mnist -- train.py --lr=0.1", "set args mnist --type=master,worker -- train.py"),
		Args:              args(1, 1000, "the NAME of a job, and arguments after --"),
		ValidArgsFunction: p.names,
		RunE: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() != 1 {
				return exit.Usagef("%q: want one NAME, and arguments after --", args)
			}
			return p.change(c, s, args[0], func(f *jobs.Family) (client.Patch, []edit.Change, error) { return s.Args(f, args[1:]) })
		},
	}
}

// change edits the containers of a job and prints what changes.
func (p *program) change(c *cobra.Command, s *setting, name string, edits func(*jobs.Family) (client.Patch, []edit.Change, error)) error {
	if known := []string{"none", "server", "client"}; !slices.Contains(known, s.dryRun) {
		return exit.Usagef("--dry-run is %q: want one of %s", s.dryRun, strings.Join(known, ", "))
	}
	connection, f, err := p.find(c.Context(), name)
	if err != nil {
		return err
	}
	if err := edit.MayChange(f); err != nil {
		return err
	}
	patch, changes, err := edits(f)
	if err != nil {
		return err
	}
	if patch == nil {
		fmt.Fprintf(p.ErrOut, "%s has that already: nothing is changed\n", f.Title())
		return nil
	}
	if err := p.apply(c, connection, f, patch, s.dryRun); err != nil {
		return err
	}
	for _, change := range changes {
		fmt.Fprintln(p.Out, change)
	}
	return nil
}

// apply makes an edit, unless it is a dry run.
func (p *program) apply(c *cobra.Command, s *session, f *jobs.Family, patch client.Patch, dryRun string) error {
	does, options := "edited", []client.PatchOption(nil)
	switch dryRun {
	case "client":
		fmt.Fprintf(p.ErrOut, "%s edited (client dry run)\n", f.Title())
		return nil
	case "server":
		does, options = "edited (server dry run)", []client.PatchOption{client.DryRunAll}
	}
	return p.patch(c.Context(), s, f, does, func(*jobs.Family) (client.Patch, error) { return patch, nil }, options...)
}

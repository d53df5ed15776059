// Package verbs has the verbs of `kubectl gj`. They are thin: what is shown, patched or read is decided in packages of its own.
package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plain"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/translators/framework"
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

// session is a connection to the cluster.
type session struct {
	client.WithWatch
	config    *rest.Config
	namespace string
}

func (p *program) connect() (*session, error) {
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if !p.namesCluster(config.Host) {
		return nil, errors.New("there is no kubeconfig, or it names no cluster: set KUBECONFIG, or give --kubeconfig")
	}
	config.QPS = -1 // the apiserver has its own limits
	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &session{c, config, namespace}, nil
}

// namesCluster reports whether somebody says which cluster this is. Else it is that of client-go, which a kubeconfig may name, too.
func (p *program) namesCluster(host string) bool {
	if host != clientcmd.ClusterDefaults.Server || *p.flags.APIServer != "" || os.Getenv("KUBERNETES_MASTER") != "" {
		return true
	}
	raw, err := p.flags.ToRawKubeConfigLoader().RawConfig()
	name := *p.flags.ClusterName
	if at := raw.Contexts[cmp.Or(*p.flags.Context, raw.CurrentContext)]; name == "" && at != nil {
		name = at.Cluster
	}
	return err == nil && raw.Clusters[name] != nil
}

// newScheme knows all kinds.
func newScheme() (*runtime.Scheme, error) {
	var all []framework.Registration
	for _, kind := range jobs.Kinds() {
		if kind.Framework != nil {
			all = append(all, *kind.Framework)
		}
	}
	return controllers.NewScheme(all...)
}

// find connects, and finds a job. Discovery of the cluster's kinds heeds no context, so it is left behind when ctx ends.
func (p *program) find(ctx context.Context, name string) (*session, *jobs.Family, error) {
	type answer struct {
		session *session
		family  *jobs.Family
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		s, f, err := p.findWithoutEnd(ctx, name)
		answers <- answer{s, f, err}
	}()
	select {
	case a := <-answers:
		return a.session, a.family, a.err
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("find %s: the cluster does not answer: %w", name, ctx.Err())
	}
}

// findWithoutEnd does what find does, but for the context.
func (p *program) findWithoutEnd(ctx context.Context, name string) (*session, *jobs.Family, error) {
	parsed, err := jobs.ParseName(name)
	if err != nil {
		return nil, nil, err
	}
	s, err := p.connect()
	if err != nil {
		return nil, nil, err
	}
	if parsed.Other != "" {
		mapper, err := p.flags.ToRESTMapper()
		if err != nil {
			return nil, nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
		}
		if parsed, err = parsed.In(mapper); err != nil {
			return nil, nil, err
		}
	}
	f, err := jobs.Find(ctx, s, s.namespace, parsed)
	return s, f, err
}

// clientset returns a client for what only Kubernetes' own can: logs.
func (s *session) clientset() (*kubernetes.Clientset, error) {
	c, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return c, nil
}

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

// output is the flag -o.
type output string

func (o *output) add(c *cobra.Command, more ...string) {
	all := append([]string{"json", "yaml"}, more...)
	c.Flags().StringVarP((*string)(o), "output", "o", "", enumerate(all)+". Default: text")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// enumerate returns words as in: a, b or c.
func enumerate(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// check refuses another output than text, JSON, YAML and those of a verb.
func (o output) check(more ...string) error {
	all := append([]string{"json", "yaml"}, more...)
	if o != "" && !slices.Contains(all, string(o)) {
		return exit.Usagef("--output is %q: want %s", string(o), enumerate(all))
	}
	return nil
}

// write writes a value as JSON or YAML.
func (p *program) write(o output, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	if err == nil && o == "yaml" {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		return fmt.Errorf("write %T: %w", value, err)
	}
	_, err = fmt.Fprintln(p.Out, strings.TrimRight(string(raw), "\n"))
	return err
}

// terminal returns the width of the terminal that is written to; false if it is none.
func (p *program) terminal() (width int, ok bool) {
	file, ok := p.raw.Out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width < 1 {
		width = 120
	}
	return width, true
}

// colours reports whether to write in colours.
func (p *program) colours() bool {
	_, ok := p.terminal()
	return ok && os.Getenv("NO_COLOR") == ""
}

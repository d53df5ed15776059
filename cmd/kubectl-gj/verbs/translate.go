package verbs

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/translate"
)

func (p *program) translate() *cobra.Command {
	var files []string
	var all bool
	var o output
	c := &cobra.Command{
		Use:   "translate -f FILE",
		Short: "Show what would be made of a manifest, or what is wrong with it, without a cluster",
		Long: "Shows what the operator would make of the jobs of a manifest, what it would warn of, or what is wrong with them. It asks no cluster:\n" +
			"what the CRDs check beyond types of fields, and what policies say, only `kubectl apply --dry-run=server` can tell.\n" +
			"TrainingFrameworks among the files compile the jobs of their kinds; with the CRD of such a kind they are checked against it.\n" +
			"Part of a pod's name is made of the job's UID, which is not known yet: it shows as xxxxx.",
		Example: examples("translate -f mnist.yaml", "translate -f mnist.yaml -o yaml --all", "translate -f - < mnist.yaml",
			"translate -f framework.yaml -f crd.yaml -f job.yaml"),
		Args: args(0, 0, "no argument but -f FILE"),
		RunE: func(_ *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if len(files) == 0 {
				return exit.Usagef("--filename is empty: want a file, or - for standard input")
			}
			made, skipped, err := p.read(files, all)
			if err != nil {
				return exit.Usagef("read %s: %w", strings.Join(files, ", "), err)
			}
			for _, kind := range skipped {
				fmt.Fprintf(p.ErrOut, "A %s is left out: it is no job that the operator serves.\n", kind)
			}
			return p.show(made, o)
		},
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "the manifest; - is standard input. It may be given again")
	c.Flags().BoolVar(&all, "all", false, "the pods of all replicas. Default: of rank 0 of each type")
	o.add(c)
	return c
}

// read reads files as one manifest.
func (p *program) read(files []string, all bool) ([]translate.Made, []string, error) {
	var in []io.Reader
	for _, file := range files {
		opened, err := p.open(file)
		if err != nil {
			return nil, nil, err
		}
		defer opened.Close()
		in = append(in, opened, strings.NewReader("\n---\n"))
	}
	return translate.Read(io.MultiReader(in...), all)
}

// open opens a file; - is standard input.
func (p *program) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(p.In), nil
	}
	return os.Open(file)
}

// show writes what would be made. It is an error if nothing would be made of some job.
func (p *program) show(made []translate.Made, o output) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	bad := 0
	for i := range made {
		if err := made[i].SetKinds(scheme); err != nil {
			return err
		}
		if made[i].Err != nil {
			bad++
		}
		if o == "" {
			for _, line := range made[i].Lines() {
				fmt.Fprintln(p.Out, line)
			}
			continue
		}
		if err := p.objects(&made[i], o); err != nil {
			return err
		}
	}
	switch {
	case len(made) == 0:
		return exit.Usagef("the manifest has no job that the operator serves: want a GenericJob, a PyTorchTrainingJob, a TensorFlowTrainingJob, one of Kubeflow's kinds, or one of a TrainingFramework that is given, too")
	case bad == 1 && len(made) == 1:
		return exit.Failedf("the job cannot run: correct what is named above")
	case bad > 0:
		return exit.Failedf("%d of %d jobs cannot run: correct what is named above", bad, len(made))
	default:
		return nil
	}
}

// objects writes all objects of a job; its mistakes and warnings go to standard error.
func (p *program) objects(m *translate.Made, o output) error {
	for _, w := range m.Warnings {
		fmt.Fprintln(p.ErrOut, "WARNING:", w)
	}
	if m.Err != nil {
		fmt.Fprintf(p.ErrOut, "%s/%s: %v\n", m.Kind.Kind, m.Job.GetName(), m.Err)
		return nil
	}
	for _, object := range m.Objects {
		if o == "yaml" {
			fmt.Fprintln(p.Out, "---")
		}
		if err := p.write(o, object); err != nil {
			return err
		}
	}
	return nil
}

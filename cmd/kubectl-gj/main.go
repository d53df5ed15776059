// Command kubectl-gj is the kubectl plugin for GenericJobs and all kinds that run as one: `kubectl gj`.
//
// A verb reads the cluster by package jobs, and hands what it has read to a package that shows or patches it:
//
//	verbs       the verbs, their flags, and what they ask the apiserver
//	  jobs      kinds of jobs; Family: a job with its GenericJob and pods
//	    why     why a job is as it is, in a paragraph
//	    tree    a job and its pods, as a tree
//	    list    jobs, as a table
//	    top     which jobs, or replicas, start again most often
//	    page    the life of a job, as an HTML file
//	    logs    logs of replicas, side by side, or of the first that failed
//	    edit    patches: pause, resume, debug, scale, set
//	    code    other code in the pods of a running job
//	    shell   a shell in a replica
//	  translate what the operator would make of a manifest, without a cluster
//	exit        exit codes, and errors that have one
//	plain       texts of tenants, harmless to a terminal
//	plural      numbers of things
//	picture     a program of its own: it draws the README's moving picture
//
// Begin with verbs/program.go, then jobs/family.go, then why/why.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/verbs"
)

// interrupted is the exit code of a shell's command that Ctrl-C ends.
const interrupted = 130

func main() {
	log.SetLogger(logr.Discard())   // else controller-runtime complains of its absence
	utilruntime.ErrorHandlers = nil // they would print what client-go also returns, as a stream to a pod that was closed
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := verbs.New(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}).ExecuteContext(ctx)
	code, signalled := exit.Code(err), ctx.Err() != nil
	stop()
	if signalled {
		os.Exit(interrupted)
	}
	verbs.Complain(os.Stderr, err)
	os.Exit(code)
}

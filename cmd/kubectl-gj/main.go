// Command kubectl-gj is the kubectl plugin for GenericJobs and all kinds that run as one: `kubectl gj`.
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

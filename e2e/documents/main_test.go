package documents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/verbs"
	"github.com/genericjob/genericjob/cmd/manager/operator"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// root is the checkout's folder.
const root = "../.."

// patience ends what hangs, and nothing that is only slow. A document's commands may compile a module beside other work, on a machine
// that has never done so.
const patience = 30 * time.Minute

var (
	// cluster is the apiserver that all tests share.
	cluster *envtest.Environment
	// api talks to it.
	api client.Client
	// nodes play the kubelets.
	nodes *player
	// programs is a folder with kubectl, kubectl-gj and manager.
	programs string
)

func TestMain(m *testing.M) {
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	switch filepath.Base(os.Args[0]) {
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	case "kubectl-gj":
		if err := verbs.New(streams).Execute(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(exit.Code(err))
		}
	case "manager":
		operator.Main(translators.All()...)
	default:
		os.Exit(inCluster(m.Run))
	}
}

// inCluster runs the tests beside an apiserver with an operator and played kubelets.
func inCluster(tests func() int) int {
	stop, err := start()
	code := 1
	if err == nil {
		code = tests()
	}
	if err := errors.Join(err, stop()); err != nil {
		fmt.Fprintln(os.Stderr, "documents:", err)
		return 1
	}
	return code
}

// start starts all that the tests share; stop ends what was started, also after an error.
func start() (stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var endings []func() error
	stop = func() error {
		cancel()
		var errs []error
		for i := len(endings) - 1; i >= 0; i-- {
			errs = append(errs, endings[i]())
		}
		return errors.Join(errs...)
	}
	folders, err := crdFolders()
	if err != nil {
		return stop, err
	}
	if cluster, err = testenv.Serve(folders...); err != nil {
		return stop, err
	}
	endings = append(endings, cluster.Stop)
	if programs, err = os.MkdirTemp("", "documents-"); err != nil {
		return stop, err
	}
	endings = append(endings, func() error { return os.RemoveAll(programs) })
	if err := linkPrograms(); err != nil {
		return stop, err
	}
	scheme, err := controllers.NewScheme(append(translators.All(), kubeflow.All("", false)...)...)
	if err = errors.Join(err, appsv1.AddToScheme(scheme)); err != nil {
		return stop, err
	}
	if api, err = client.New(cluster.Config, client.Options{Scheme: scheme}); err != nil {
		return stop, err
	}
	if nodes, err = startPlayer(ctx); err != nil {
		return stop, err
	}
	endings = append(endings, nodes.stop)
	if err := startOperator("--kubeflow"); err != nil {
		return stop, err
	}
	endings = append(endings, func() error { return stopOperator() })
	return stop, install(ctx)
}

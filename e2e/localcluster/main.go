// Command localcluster runs a real Kubernetes, of one node unless more are added, on a bare Linux
// machine. It needs no Docker and no registry, and downloads only Go modules and a few Debian
// packages. Run it without arguments for its verbs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/artifact"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/cluster"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/rootfs"
)

const usage = `A real Kubernetes on a bare Linux machine, of one node unless more are added.

usage: go -C e2e/localcluster run . <verb>

  assets [-version V]
                     build etcd, kube-apiserver and kubectl; print the folder for KUBEBUILDER_ASSETS. The apiserver is
                     of this minor version of Kubernetes, e.g. 1.30
  check              tell why a cluster could not start here, before anything is compiled; install the missing Debian packages
  build [-version V] build everything and install the missing Debian packages
  up [-gang] [-version V]
                     build, start, and wait until pods can run; may be repeated. What runs with other arguments is
                     started over. With -gang the gates of Kubernetes' own gang scheduling are on
  status             one line per component, and where to look further
  load TAR...        import image archives (docker-archive or OCI)
  image FLAGS BINARY...
                     make an image archive of a static binary; "image -h" lists the flags. Of several, one for each
                     architecture, it is an OCI archive, and the image's digest is printed
  rootfs FOLDER...   make image archives of Debian systems, by the image.yaml in each folder; print their paths
  kubectl ARGS...    run the kubectl that was built, on this cluster
  path PROGRAM       print the path of a program, e.g. kubectl, and build it first if need be. Some are for tests alone:
                     volcano-scheduler, coscheduling-scheduler, kueue, jobset, in-place-restart-agent, workflow-controller,
                     argoexec, helm
  kubeconfig         print the path of the kubeconfig
  node add NAME      start another node: a kubelet, with a containerd and a small disk of its own; prints the folder
                     of that disk. Only pods that tolerate the taint genericjob.test/added-node come there
  node kill NAME X   kill the node's kubelet, or its containerd, and let its pods run on; or everything. The first node
                     is called local
  node start NAME    start what does not run of a node, and wait until it is ready
  node remove NAME   end an added node and all pods on it
  down               stop the cluster and remove all that it left, but its logs. A cluster that was made from another
                     GENERICJOB_CACHE is left alone

Paths are relative to e2e/localcluster: prefer absolute ones.
GENERICJOB_CACHE is where programs and the cluster live (default $HOME/.cache/genericjob).
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := dispatch(ctx, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, verb string, arguments []string) error {
	if verb == "help" || verb == "-h" || verb == "--help" {
		fmt.Print(usage)
		return nil
	}
	run, known := verbs[verb]
	if !known {
		return fmt.Errorf("there is no verb %q\n\n%s", verb, usage)
	}
	if !takesArguments[verb] && len(arguments) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q", verb, arguments)
	}
	t, err := newTool()
	if err != nil {
		return err
	}
	return run(ctx, t, arguments)
}

// tool is what the verbs share.
type tool struct {
	builder artifact.Builder
	images  rootfs.Builder
	layout  cluster.Layout
}

func newTool() (tool, error) {
	cache, err := cacheFolder(os.Getenv("GENERICJOB_CACHE"), os.Getenv("HOME"))
	if err != nil {
		return tool{}, err
	}
	source, err := os.Getwd()
	if err != nil {
		return tool{}, fmt.Errorf("find the working folder: %w", err)
	}
	return tool{
		builder: artifact.Builder{Source: source, Bin: filepath.Join(cache, "bin"), Progress: os.Stderr},
		images:  rootfs.Builder{Cache: filepath.Join(cache, "images"), Progress: os.Stderr},
		layout:  cluster.Layout{State: filepath.Join(cache, "cluster"), Run: cluster.MachineRun},
	}, nil
}

func cacheFolder(chosen, home string) (string, error) {
	if chosen == "" && home == "" {
		return "", errors.New("neither GENERICJOB_CACHE nor HOME is set: set one to say where to keep the programs")
	}
	if chosen == "" {
		return filepath.Join(home, ".cache", "genericjob"), nil
	}
	if !filepath.IsAbs(chosen) {
		return "", fmt.Errorf("GENERICJOB_CACHE is %q: it must be an absolute path", chosen)
	}
	return filepath.Clean(chosen), nil
}

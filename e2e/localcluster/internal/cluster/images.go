package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/image"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
)

// Load imports image archives on every node whose containerd runs, so that pods find them without a registry.
func Load(ctx context.Context, l Layout, archives []string, progress, out io.Writer) error {
	if process.Running(l.folders(), l.tag(), "containerd") == 0 {
		return fmt.Errorf("the cluster does not run: run `up` first")
	}
	var nodes []node
	for _, n := range l.nodes() {
		if process.Running(l.folders(), l.tag(), n.program("containerd")) != 0 {
			nodes = append(nodes, n)
		}
	}
	for _, archive := range archives {
		if _, err := os.Stat(archive); err != nil {
			return fmt.Errorf("load an image archive (paths are relative to e2e/localcluster, so give absolute ones): %w", err)
		}
		fmt.Fprintln(progress, "loading", archive)
		for _, n := range nodes {
			if err := n.ctr(ctx, out, "images", "import", archive); err != nil {
				return err
			}
		}
	}
	return nil
}

// ctr runs containerd's client in the namespace that the kubelet sees.
func (n node) ctr(ctx context.Context, out io.Writer, arguments ...string) error {
	var problems strings.Builder
	all := append([]string{"--address", n.containerdSocket(), "--namespace", "k8s.io"}, arguments...)
	command := exec.CommandContext(ctx, n.layout.Programs["ctr"], all...)
	command.Stdout, command.Stderr = out, &problems
	if err := command.Run(); err != nil {
		return fmt.Errorf("ctr %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(problems.String()))
	}
	return nil
}

func (n node) containerdReady(ctx context.Context) error { return n.ctr(ctx, io.Discard, "version") }

func (n node) loadPause(ctx context.Context) error {
	archive := n.data("pause.tar")
	if _, err := os.Stat(archive); err == nil {
		return nil
	}
	spec := image.Spec{Ref: pauseImage, Binary: n.layout.Programs["pause"], Entrypoint: "/pause", User: "65532:65532"}
	if err := image.WriteArchive(spec, archive+".new"); err != nil {
		return err
	}
	if err := n.ctr(ctx, io.Discard, "images", "import", archive+".new"); err != nil {
		return err
	}
	// The name says that it is loaded, so it comes last.
	if err := os.Rename(archive+".new", archive); err != nil {
		return fmt.Errorf("keep the pause image: %w", err)
	}
	return nil
}

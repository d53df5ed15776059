package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
)

// Load imports image archives, so that pods find them without a registry.
func Load(ctx context.Context, l Layout, archives []string, progress, out io.Writer) error {
	if process.Running(l.folders(), l.mark(), "containerd") == 0 {
		return fmt.Errorf("the cluster does not run: run `up` first")
	}
	for _, archive := range archives {
		if _, err := os.Stat(archive); err != nil {
			return fmt.Errorf("load an image archive (paths are relative to e2e/localcluster, so give absolute ones): %w", err)
		}
		fmt.Fprintln(progress, "loading", archive)
		if err := l.ctr(ctx, out, "images", "import", archive); err != nil {
			return err
		}
	}
	return nil
}

// ctr runs containerd's client in the namespace that the kubelet sees.
func (l Layout) ctr(ctx context.Context, out io.Writer, arguments ...string) error {
	var problems strings.Builder
	all := append([]string{"--address", l.containerdSocket(), "--namespace", "k8s.io"}, arguments...)
	command := exec.CommandContext(ctx, l.Programs["ctr"], all...)
	command.Stdout, command.Stderr = out, &problems
	if err := command.Run(); err != nil {
		return fmt.Errorf("ctr %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(problems.String()))
	}
	return nil
}

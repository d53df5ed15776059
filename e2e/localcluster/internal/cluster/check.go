package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
)

// Check tells why the cluster could not start, so that nobody waits for compilers first. It installs the Debian packages
// that are missing, and loads kernel modules.
func Check(ctx context.Context, l Layout, progress io.Writer) error {
	if err := CheckMachine(); err != nil {
		return err
	}
	if err := l.checkOwner(); err != nil {
		return err
	}
	if err := EnsurePackages(ctx, progress); err != nil {
		return err
	}
	// Who starts a component meanwhile has its port before its pid is known.
	unlock, err := process.Lock(ctx, l.LockFile(), progress, "another up or down")
	if err != nil {
		return err
	}
	defer unlock()
	return l.check(ctx)
}

// check is what Up asks once more, with the lock: compilers may have run for minutes since Check.
func (l Layout) check(ctx context.Context) error {
	if err := l.checkOwner(); err != nil {
		return err
	}
	if err := l.checkVersion(); err != nil {
		return err
	}
	loadModules(ctx)
	if err := checkKernel("/"); err != nil {
		return err
	}
	if err := command(ctx, "nft", "list", "tables"); err != nil {
		return fmt.Errorf("kube-proxy needs nftables (does this kernel have nf_tables?): %w", err)
	}
	return l.portsFree(ctx, l.components())
}

// CheckMachine tells why this machine cannot run the cluster, and what else to do.
func CheckMachine() error { return checkMachine(runtime.GOOS, os.Geteuid()) }

func checkMachine(system string, user int) error {
	const otherwise = "to use a cluster that you have instead, set KUBECONFIG to it and run `kubectl apply -k deploy/default`"
	if system != "linux" {
		return fmt.Errorf("the local cluster runs on Linux alone, and this is %s: %s", system, otherwise)
	}
	if user != 0 {
		// sudo has a PATH of its own, without /usr/local/go/bin.
		return fmt.Errorf("the local cluster needs root, for network namespaces and cgroups: run it as `sudo env \"PATH=$PATH\" make demo`, and other targets alike; %s", otherwise)
	}
	return nil
}

// loadModules has no error: what is built into the kernel is no module, and checkKernel says what is missing.
func loadModules(ctx context.Context) {
	for _, module := range []string{"br_netfilter", "overlay", "nf_tables"} {
		_ = exec.CommandContext(ctx, "modprobe", module).Run()
	}
}

// checkKernel names all that the cluster needs of the kernel and that is not below root, the file system's.
func checkKernel(root string) error {
	var missing []error
	for _, setting := range kernelSettings {
		if _, err := os.Stat(filepath.Join(root, "proc/sys", setting.name)); err != nil && setting.value != "" {
			missing = append(missing, fmt.Errorf("this kernel has no setting %s: it needs br_netfilter, whose module `modprobe br_netfilter` loads", setting.name))
		}
	}
	systems, err := os.ReadFile(filepath.Join(root, "proc/filesystems"))
	if err != nil || !slices.Contains(strings.Fields(string(systems)), "overlay") {
		missing = append(missing, errors.New("this kernel has no file system overlay, on which containerd keeps containers: `modprobe overlay` loads its module"))
	}
	for _, controller := range []string{"cpu", "memory"} {
		if !hasController(filepath.Join(root, "sys/fs/cgroup"), controller) {
			missing = append(missing, fmt.Errorf("there is no cgroup controller %s in /sys/fs/cgroup, of version 1 or 2: mount it, or switch it on by the kernel's command line", controller))
		}
	}
	return errors.Join(missing...)
}

func hasController(root, controller string) bool {
	if content, err := os.ReadFile(filepath.Join(root, "cgroup.controllers")); err == nil {
		return slices.Contains(strings.Fields(string(content)), controller)
	}
	_, err := os.Stat(filepath.Join(root, controller, "cgroup.procs"))
	return err == nil
}

package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// packages maps a program that the machine must have to its Debian package.
var packages = []struct{ program, name string }{
	{"runc", "runc"},
	{"ip", "iproute2"},
	{"ss", "iproute2"},
	{"nft", "nftables"},
	{"mount", "mount"},
}

// systemFolders are missing from the PATH of some shells.
const systemFolders = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func searchPath(first string) string { return "PATH=" + first + ":" + systemFolders }

// find looks in the system's folders and not in PATH, as the components will.
func find(program string) string {
	for _, folder := range filepath.SplitList(systemFolders) {
		path := filepath.Join(folder, program)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// CheckMachine tells why this machine cannot run the cluster, and what else to do.
func CheckMachine() error {
	const otherwise = "to use a cluster that you have instead, set KUBECONFIG to it and run `kubectl apply -k deploy/default`"
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the local cluster runs on Linux alone, and this is %s: %s", runtime.GOOS, otherwise)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("the local cluster needs root, for network namespaces and cgroups: run it with sudo -E; %s", otherwise)
	}
	return nil
}

// EnsurePackages installs the Debian packages that are missing.
func EnsurePackages(ctx context.Context, progress io.Writer) error {
	var missing []string
	for _, wanted := range packages {
		if find(wanted.program) == "" {
			missing = append(missing, wanted.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := strings.Join(missing, " ")
	if find("apt-get") == "" {
		return fmt.Errorf("these programs are missing and there is no apt-get to install them: install %s with this system's packages", names)
	}
	fmt.Fprintf(progress, "installing the Debian packages %s (about 10s)\n", names)
	install := append([]string{"install", "-y", "--no-install-recommends"}, missing...)
	if apt(ctx, install...) == nil {
		return nil
	}
	// The usual reason is that a fresh machine has no package lists, or old ones.
	if err := apt(ctx, "update"); err != nil {
		return err
	}
	return apt(ctx, install...)
}

func apt(ctx context.Context, arguments ...string) error {
	command := exec.CommandContext(ctx, find("apt-get"), arguments...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

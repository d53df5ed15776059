package system

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
)

// Folders are missing from the PATH of some shells.
const Folders = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Need is a program that the machine must have, and its Debian package.
type Need struct{ Program, Package string }

// Find looks in the system's folders and not in PATH, as daemons will.
func Find(program string) string {
	for _, folder := range filepath.SplitList(Folders) {
		path := filepath.Join(folder, program)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// aptLock serialises our own calls of apt-get: it waits for another's package database, but not for its package lists.
func aptLock() string { return filepath.Join(os.TempDir(), "genericjob-apt.lock") }

// Ensure installs the Debian packages of the programs that are missing.
func Ensure(ctx context.Context, needs []Need, progress io.Writer) error {
	if len(missing(needs)) == 0 {
		return nil
	}
	unlock, err := process.Lock(ctx, aptLock(), progress, "another installation of Debian packages")
	if err != nil {
		return err
	}
	defer unlock()
	packages := missing(needs) // without what the other installed
	if len(packages) == 0 {
		return nil
	}
	names := strings.Join(packages, " ")
	if Find("apt-get") == "" {
		return fmt.Errorf("these programs are missing and there is no apt-get to install them: install %s with this system's packages", names)
	}
	fmt.Fprintf(progress, "installing the Debian packages %s (about 10s)\n", names)
	install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
	if apt(ctx, install...) == nil {
		return nil
	}
	// The usual reason is that a fresh machine has no package lists, or old ones.
	if err := apt(ctx, "update"); err != nil {
		return err
	}
	return apt(ctx, install...)
}

// missing are the packages of those programs that the machine does not have.
func missing(needs []Need) []string {
	var packages []string
	for _, need := range needs {
		if Find(need.Program) == "" {
			packages = append(packages, need.Package)
		}
	}
	return packages
}

func apt(ctx context.Context, arguments ...string) error {
	command := exec.CommandContext(ctx, Find("apt-get"), append([]string{"-o", "DPkg::Lock::Timeout=600"}, arguments...)...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

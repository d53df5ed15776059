package system

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

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

// lockTimeout has apt-get wait 20 minutes for another's dpkg, such as the upgrades of a machine that has just been started.
const lockTimeout = "DPkg::Lock::Timeout=1200"

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
	if apt(ctx, Find("apt-get"), install...) == nil {
		return nil
	}
	// The usual reason is that a fresh machine has no package lists, or old ones.
	if err := apt(ctx, Find("apt-get"), "update"); err != nil {
		return err
	}
	return apt(ctx, Find("apt-get"), install...)
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

// apt runs apt-get to its end, whatever happens meanwhile: one that is killed leaves dpkg in a state that a person has to
// mend. So it has a process group of its own, which no terminal interrupts, and writes to a file, which outlives this process.
func apt(ctx context.Context, program string, arguments ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	output, err := os.CreateTemp("", "genericjob-apt-")
	if err != nil {
		return fmt.Errorf("make a file for what apt-get says: %w", err)
	}
	defer os.Remove(output.Name()) //nolint:errcheck // it is of no use any more
	defer output.Close()
	command := exec.CommandContext(context.WithoutCancel(ctx), program, append([]string{"-o", lockTimeout}, arguments...)...)
	command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Run(); err != nil {
		said, _ := os.ReadFile(output.Name())
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(arguments, " "), err, said)
	}
	return nil
}

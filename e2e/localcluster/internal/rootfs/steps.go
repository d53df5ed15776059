package rootfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

// certificates is where Debian keeps the authorities that a program shall trust.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// superfluous is what no job needs at run time. Debian's terms for passing on
// copies need the licences in doc: these images stay on this machine.
var superfluous = []string{
	"usr/share/doc/*", "usr/share/man/*", "usr/share/info/*", "usr/share/locale/*", "usr/share/lintian/*",
	"usr/share/bug/*", "var/lib/apt/lists/*", "var/cache/apt/*", "var/cache/debconf/*-old", "var/log/*",
	"etc/resolv.conf", "etc/hostname",
}

// building is a system that is being made.
type building struct {
	root   string
	recipe Recipe
}

func (s building) debootstrap(ctx context.Context) error {
	arguments := []string{"--variant=minbase"}
	if len(s.recipe.Packages) > 0 {
		arguments = append(arguments, "--include="+strings.Join(s.recipe.Packages, ","))
	}
	return run(ctx, "", inherited(os.Environ()), "debootstrap", append(arguments, s.recipe.Suite, s.root, machineMirror("/etc/apt"))...)
}

// pip installs exactly what is pinned, nothing that it depends on. It is the
// system's own, as this machine may have none.
func (s building) pip(ctx context.Context) error {
	wheels, err := filepath.Glob(filepath.Join(s.root, "usr/share/python-wheels/pip-*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("want one wheel of pip in the system, but got %q", wheels)
	}
	if err := s.copyIn(filepath.Join(s.recipe.folder, s.recipe.Requirements), "tmp/requirements.txt"); err != nil {
		return err
	}
	environment := append(inherited(os.Environ()), "PYTHONPATH=/usr/share/python-wheels/"+filepath.Base(wheels[0]))
	// A machine in a closed network may trust an authority, or use an index, that no other knows.
	for source, variable := range map[string]string{certificates: "PIP_CERT", "/etc/pip.conf": "PIP_CONFIG_FILE"} {
		target := "tmp/" + filepath.Base(source)
		if err := s.copyIn(source, target); err == nil {
			environment = append(environment, variable+"=/"+target)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return run(ctx, s.root, environment, "python3", "-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--no-compile",
		"--no-cache-dir", "--break-system-packages", "--root-user-action=ignore", "-r", "/tmp/requirements.txt")
}

// inherited are the settings for the network, without this machine's other ones.
func inherited(environment []string) []string {
	kept := []string{"PATH=" + system.Folders, "HOME=/root", "LC_ALL=C.UTF-8"}
	for _, variable := range environment {
		name, _, _ := strings.Cut(strings.ToLower(variable), "=")
		if strings.HasPrefix(name, "pip_") || strings.HasSuffix(name, "_proxy") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// finish removes what is superfluous, and all compiled Python: what packages
// bring compiled is more than a job imports. The fix-up may compile what matters,
// so it comes after.
func (s building) finish(ctx context.Context) error {
	if err := removeCompiled(s.root); err != nil {
		return err
	}
	if err := s.removeAll(superfluous...); err != nil {
		return err
	}
	if s.recipe.Fixup != "" {
		if err := s.copyIn(filepath.Join(s.recipe.folder, s.recipe.Fixup), "tmp/fixup"); err != nil {
			return err
		}
		if err := run(ctx, s.root, inherited(os.Environ()), "sh", "-eu", "/tmp/fixup"); err != nil {
			return err
		}
	}
	return s.removeAll("tmp/*", "root/*")
}

// run runs a program in namespaces of its own. So its mounts and all that it
// started end with it. It ends with us, even when we are killed. Without a root
// it sees this machine's file system.
func run(ctx context.Context, root string, environment []string, program string, arguments ...string) error {
	isolation := []string{"--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if root != "" {
		isolation = append(isolation, "--root="+root)
	}
	command := exec.CommandContext(ctx, system.Find("setpriv"), append(append(isolation, "--", program), arguments...)...)
	command.Env = environment
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w; its last lines:\n%s", program, err, lastLines(output))
	}
	return nil
}

func (s building) copyIn(source, target string) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.root, target), content, 0o644)
}

func (s building) removeAll(patterns ...string) error {
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(s.root, pattern))
		if err != nil {
			return fmt.Errorf("pattern %s: %w", pattern, err)
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func removeCompiled(root string) error {
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || entry.Name() != "__pycache__" {
			return err
		}
		folders = append(folders, path)
		return filepath.SkipDir
	})
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	return nil
}

func lastLines(output []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-20):], []byte("\n"))
}

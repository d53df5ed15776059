package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

// gatewayMAC is pinned, because a bridge otherwise takes the lowest address of
// its ports and pods lose their gateway's when a pod comes or goes.
const gatewayMAC = "0a:58:0a:58:00:01"

// kernelSettings are those that the cluster changes; an empty value is left to the components.
var kernelSettings = []struct{ name, value string }{
	{"net/ipv4/ip_forward", "1"},
	// Without these, a Service's answer from a pod on the same bridge would skip address translation.
	{"net/bridge/bridge-nf-call-iptables", "1"},
	{"net/bridge/bridge-nf-call-ip6tables", "1"},
	{"vm/overcommit_memory", ""},
	{"vm/panic_on_oom", ""},
	{"kernel/panic", ""},
	{"kernel/panic_on_oops", ""},
	{"kernel/keys/root_maxkeys", ""},
	{"kernel/keys/root_maxbytes", ""},
}

func (l Layout) prepareMachine(ctx context.Context) error {
	if err := l.saveKernelSettings(); err != nil {
		return err
	}
	for _, setting := range kernelSettings {
		path := filepath.Join("/proc/sys", setting.name)
		if setting.value == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(setting.value), 0o644); err != nil {
			return fmt.Errorf("set %s (does this kernel have br_netfilter?): %w", setting.name, err)
		}
	}
	if err := ensureBridge(ctx); err != nil {
		return err
	}
	return ensureCgroup(cgroup)
}

func ensureBridge(ctx context.Context) error {
	if _, err := os.Stat("/sys/class/net/" + bridge); err != nil {
		if err := command(ctx, "ip", "link", "add", bridge, "address", gatewayMAC, "type", "bridge"); err != nil {
			return err
		}
	}
	if err := command(ctx, "ip", "address", "replace", nodeIP+"/16", "dev", bridge); err != nil {
		return err
	}
	return command(ctx, "ip", "link", "set", bridge, "up")
}

// ensureCgroup makes the cgroup of a node's pods in every hierarchy, as the kubelet wants it to exist. Its parent must be
// there already.
func ensureCgroup(group string) error {
	for _, root := range cgroupRoots() {
		path := filepath.Join(root, group)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("make the cgroup %s: %w", path, err)
		}
		// In cgroup v1 a new cpuset is empty and takes no process.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			inherited, err := os.ReadFile(filepath.Join(filepath.Dir(path), file))
			if err != nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(path, file), inherited, 0o644); err != nil {
				return fmt.Errorf("fill %s of the cgroup %s: %w", file, path, err)
			}
		}
	}
	return nil
}

// cgroupRoots is one folder for cgroup v2 and one per controller for v1.
func cgroupRoots() []string {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(root + "/cgroup.controllers"); err == nil {
		return []string{root}
	}
	files, err := filepath.Glob(root + "/*/cgroup.procs")
	if err != nil {
		return nil
	}
	var roots []string
	for _, file := range files {
		roots = append(roots, filepath.Dir(file))
	}
	return roots
}

func addressesOf(ctx context.Context, link string) (string, error) {
	output, err := exec.CommandContext(ctx, system.Find("ip"), "-o", "address", "show", "dev", link).Output()
	if err != nil {
		return "", fmt.Errorf("list the addresses of %s: %w", link, err)
	}
	return string(output), nil
}

func (l Layout) savedSettings() string { return filepath.Join(l.Run, "kernel-settings") }

// saveKernelSettings keeps what was there before the first start.
func (l Layout) saveKernelSettings() error {
	if _, err := os.Stat(l.savedSettings()); err == nil {
		return nil
	}
	var saved strings.Builder
	for _, setting := range kernelSettings {
		value, err := os.ReadFile(filepath.Join("/proc/sys", setting.name))
		if err == nil {
			fmt.Fprintf(&saved, "%s=%s\n", setting.name, strings.TrimSpace(string(value)))
		}
	}
	return writeFile(l.savedSettings(), []byte(saved.String()))
}

// restoreKernelSettings goes on after a failure: a value that the kernel refuses is no reason to leave the rest.
func (l Layout) restoreKernelSettings() error {
	content, err := os.ReadFile(l.savedSettings())
	if err != nil {
		return nil
	}
	var failed error
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644); err != nil && failed == nil {
			failed = fmt.Errorf("restore %s to %s: %w", name, value, err)
		}
	}
	return failed
}

func command(ctx context.Context, program string, arguments ...string) error {
	path := system.Find(program)
	if path == "" {
		return fmt.Errorf("%s is not installed: run `build` first", program)
	}
	output, err := exec.CommandContext(ctx, path, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

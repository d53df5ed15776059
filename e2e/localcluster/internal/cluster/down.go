package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
)

// Down removes the cluster, however much of it there is. It goes on after a
// failure, so that one stuck mount does not keep all the rest, and reports all.
func Down(ctx context.Context, l Layout, progress io.Writer) error {
	unlock, err := process.Lock(ctx, l.LockFile(), progress, "another up or down")
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.checkOwner(); err != nil {
		return err
	}
	if l.absent() {
		fmt.Fprintln(progress, "there is no cluster to remove")
		return nil
	}
	var failures []error
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"stopping the components", l.stopComponents},
		{"ending the pods' processes", func(ctx context.Context) error { return killPods(ctx, cgroup) }},
		{"ending containerd and its shims", func(ctx context.Context) error { return killRest(ctx, l.tag()) }},
		{"removing mounts", func(ctx context.Context) error { return removeMounts(ctx, l.Run, l.State) }},
		{"removing the network", removeNetwork},
		{"removing cgroups", func(ctx context.Context) error { return removeCgroups(ctx, cgroup) }},
		{"restoring kernel settings", func(context.Context) error { return l.restoreKernelSettings() }},
		{"removing files", l.removeFiles},
	} {
		fmt.Fprintln(progress, step.what)
		if err := step.do(ctx); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", step.what, err))
		}
	}
	return errors.Join(failures...)
}

// absent keeps Down's hands off a machine whose network, tables or mounts are somebody else's.
func (l Layout) absent() bool {
	if len(process.Find(l.tag())) > 0 {
		return false
	}
	for _, path := range []string{l.Run, l.pki(), "/sys/class/net/" + bridge} {
		if _, err := os.Stat(path); err == nil {
			return false
		}
	}
	return true
}

// stopComponents leaves containerd for later: its shims notice the ends of the pods.
func (l Layout) stopComponents(ctx context.Context) error {
	var pids []int
	for _, c := range l.components() {
		containerd := c.node != nil && c.Name == c.node.program("containerd")
		if pid := process.Running(l.folders(), l.tag(), c.Name); pid != 0 && !containerd {
			pids = append(pids, pid)
		}
	}
	// The apiserver would wait a minute for its watchers; nothing of it is kept anyway.
	return process.Stop(ctx, pids, 2*time.Second)
}

func killPods(ctx context.Context, group string) error {
	return process.Kill(ctx, podProcesses(group))
}

// podProcesses are all processes of a cgroup and of those below it.
func podProcesses(group string) []int {
	var pids []int
	for _, folder := range cgroupFolders(group) {
		content, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(content)) {
			// Zero is a process of another pid namespace, which we could not signal.
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// killRest looks again until nothing is left, as what it stops may just have
// started a child to clean up after a pod.
func killRest(ctx context.Context, tag process.Tag) error {
	const rounds = 5
	for range rounds {
		pids := process.Find(tag)
		if len(pids) == 0 {
			return nil
		}
		if err := process.Stop(ctx, pids, 2*time.Second); err != nil {
			return err
		}
	}
	if pids := process.Find(tag); len(pids) > 0 {
		return fmt.Errorf("processes %v keep coming back: see who starts them with ps, then try again", pids)
	}
	return nil
}

// removeMounts unmounts lazily and from the last to the first, as mounts may lie
// on each other. What counts is what is left: the kernel may have been faster,
// while it took down the mount namespace of a pod.
func removeMounts(ctx context.Context, folders ...string) error {
	var failures []error
	for range 3 {
		points, err := mountsOf(folders...)
		if err != nil || len(points) == 0 {
			return err
		}
		failures = nil
		for _, point := range slices.Backward(points) {
			failures = append(failures, command(ctx, "umount", "--lazy", point))
		}
	}
	return errors.Join(failures...)
}

// mountsOf are the mount points of this machine below the folders, parents first.
func mountsOf(folders ...string) ([]string, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list the mounts: %w", err)
	}
	return mountsBelow(string(content), folders...), nil
}

func mountsBelow(mountinfo string, folders ...string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		// The kernel writes spaces of paths in octal.
		point := strings.ReplaceAll(fields[4], `\040`, " ")
		for _, folder := range folders {
			if strings.HasPrefix(point, folder+"/") {
				points = append(points, point)
			}
		}
	}
	return points
}

func removeNetwork(ctx context.Context) error {
	var failures []error
	ports, err := filepath.Glob("/sys/class/net/" + bridge + "/brif/*")
	if err != nil {
		return fmt.Errorf("list the ports of %s: %w", bridge, err)
	}
	for _, port := range append(ports, "/sys/class/net/"+bridge) {
		link := filepath.Base(port)
		err := command(ctx, "ip", "link", "delete", link)
		// A pod's interface may go by itself, with its network namespace.
		if _, gone := os.Stat("/sys/class/net/" + link); gone == nil {
			failures = append(failures, err)
		}
	}
	for _, family := range []string{"ip", "ip6"} {
		if command(ctx, "nft", "list", "table", family, "kube-proxy") == nil {
			failures = append(failures, command(ctx, "nft", "delete", "table", family, "kube-proxy"))
		}
	}
	return errors.Join(failures...)
}

// cgroupFolders are a cgroup and those below it, in all hierarchies, parents first.
func cgroupFolders(group string) []string {
	var folders []string
	for _, root := range cgroupRoots() {
		_ = filepath.WalkDir(filepath.Join(root, group), func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			// A cgroup that vanishes during the walk is what we want.
			return nil
		})
	}
	return folders
}

// removeCgroups tries again for a while: a cgroup is busy until the kernel has freed its last process.
func removeCgroups(ctx context.Context, group string) error {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		var last error
		for _, folder := range slices.Backward(cgroupFolders(group)) {
			if err := os.Remove(folder); err != nil && !os.IsNotExist(err) {
				last = err
			}
		}
		if last == nil {
			return nil
		}
		if time.Now().After(deadline) || process.Sleep(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("a cgroup stays busy: %w", last)
		}
	}
}

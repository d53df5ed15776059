package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

// AddedNodeTaint (effect NoSchedule) is on every added node: only pods that tolerate it come there.
const AddedNodeTaint = "genericjob.test/added-node"

// kubeletDisk is the size of the file system, in memory, that an added node's kubelet has for itself. So filling it puts that node
// alone under disk pressure. What it keeps for a pod is some kilobytes.
const kubeletDisk = "64m"

// AddNode starts another node, if it does not run yet, and waits until pods can run there. It writes the folder of the
// node's kubelet to out.
func AddNode(ctx context.Context, l Layout, name string, progress, out io.Writer) error {
	unlock, err := lockRunning(ctx, l, progress)
	if err != nil {
		return err
	}
	defer unlock()
	n, err := l.newNode(name)
	if err != nil {
		return err
	}
	if err := writeFile(n.data("number"), []byte(strconv.Itoa(n.number)+"\n")); err != nil {
		return err
	}
	if err := n.start(ctx, progress); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, n.data("kubelet"))
	return err
}

// StartNode starts what does not run of a node, and waits until the cluster finds the node ready.
func StartNode(ctx context.Context, l Layout, name string, progress io.Writer) error {
	unlock, err := lockRunning(ctx, l, progress)
	if err != nil {
		return err
	}
	defer unlock()
	n, err := l.findNode(name)
	if err != nil {
		return err
	}
	return n.start(ctx, progress)
}

// KillNode kills one of a node's two programs, kubelet or containerd, without asking; the pods there run on. Everything
// is both, with all pods, and what a machine loses with its power.
func KillNode(ctx context.Context, l Layout, name, what string, progress io.Writer) error {
	unlock, err := lockRunning(ctx, l, progress)
	if err != nil {
		return err
	}
	defer unlock()
	n, err := l.findNode(name)
	if err != nil {
		return err
	}
	switch what {
	case "kubelet", "containerd":
		return n.kill(ctx, what)
	case "everything":
		return n.powerOff(ctx)
	default:
		return fmt.Errorf("a node has no %q: kill its kubelet, its containerd, or everything", what)
	}
}

func (n node) kill(ctx context.Context, program string) error {
	folders, name := n.layout.folders(), n.program(program)
	pid := process.Running(folders, n.layout.tag(), name)
	if pid == 0 {
		return fmt.Errorf("%s of node %s does not run: `node start %s` starts it", program, n.name, n.name)
	}
	if err := process.Kill(ctx, []int{pid}); err != nil {
		return err
	}
	// Whoever waits for something meanwhile must not take it for a crash.
	return process.Forget(folders, name)
}

// powerOff kills the shims before the pods, so that none notes how its pod ends.
func (n node) powerOff(ctx context.Context) error {
	pids := append(process.Find(n.tag()), podProcesses(n.cgroup())...)
	failures := []error{
		process.Kill(ctx, pids),
		process.Forget(n.layout.folders(), n.program("kubelet")), process.Forget(n.layout.folders(), n.program("containerd")),
		removeMounts(ctx, n.data("kubelet"), n.run()), removeShimSockets(n.run()),
	}
	// The first node's folder has the traces of the control plane, too.
	for _, folder := range []string{"containerd", "runc"} {
		failures = append(failures, os.RemoveAll(filepath.Join(n.run(), folder)))
	}
	return errors.Join(failures...)
}

// RemoveNode ends an added node with all pods on it, and removes what it made, but its logs. It may be repeated.
func RemoveNode(ctx context.Context, l Layout, name string, progress io.Writer) error {
	unlock, err := lockRunning(ctx, l, progress)
	if err != nil {
		return err
	}
	defer unlock()
	n, err := l.findNode(name)
	if err != nil {
		fmt.Fprintf(progress, "there is no node %s to remove\n", name)
		return nil
	}
	if n.first() {
		return fmt.Errorf("node %s is the cluster's first: `down` removes the cluster", name)
	}
	fmt.Fprintln(progress, "removing node", name)
	failures := []error{n.leave(ctx)}
	for _, step := range []func(context.Context) error{
		n.stop, n.killPods, n.killRest, n.removeMounts, n.removeAddress, n.removeCgroups, n.removeFiles,
	} {
		failures = append(failures, step(ctx))
	}
	return errors.Join(failures...)
}

func lockRunning(ctx context.Context, l Layout, progress io.Writer) (func(), error) {
	unlock, err := process.Lock(ctx, l.LockFile(), progress, "another up or down")
	if err != nil {
		return nil, err
	}
	if err := l.checkOwner(); err != nil {
		unlock()
		return nil, err
	}
	if process.Running(l.folders(), l.tag(), "kube-apiserver") == 0 {
		unlock()
		return nil, errors.New("the cluster does not run: run `up` first")
	}
	return unlock, nil
}

// prepare makes what the node needs of the machine.
func (n node) prepare(ctx context.Context) error {
	if n.first() {
		return nil // prepareMachine has done it
	}
	if err := command(ctx, "ip", "address", "replace", n.ip()+"/16", "dev", bridge); err != nil {
		return err
	}
	if err := ensureCgroup(n.cgroup()); err != nil {
		return err
	}
	mounts, err := mountsOf(n.folder())
	if err != nil {
		return err
	}
	for _, point := range mounts {
		if point == n.data("kubelet") {
			return nil
		}
	}
	if err := os.MkdirAll(n.data("kubelet"), 0o755); err != nil {
		return fmt.Errorf("make the folder of a kubelet: %w", err)
	}
	return command(ctx, "mount", "-t", "tmpfs", "-o", "size="+kubeletDisk, "genericjob-"+n.name, n.data("kubelet"))
}

func (n node) start(ctx context.Context, progress io.Writer) error {
	client, err := n.layout.newClient()
	if err != nil {
		return err
	}
	components := []component{n.containerd(), n.kubelet()}
	if err := n.layout.portsFree(ctx, components); err != nil {
		return err
	}
	if err := n.prepare(ctx); err != nil {
		return err
	}
	if err := n.writeConfigurations(system.Find("runc")); err != nil {
		return err
	}
	for _, c := range components {
		if err := n.layout.start(ctx, c, client, progress); err != nil {
			return err
		}
	}
	return n.layout.waitFor(ctx, "node "+n.name, 15*time.Minute, func(ctx context.Context) error {
		return client.nodeReady(ctx, n.name)
	})
}

// leave takes the node out of the cluster, which then forgets the pods that were there.
func (n node) leave(ctx context.Context) error {
	client, err := n.layout.newClient()
	if err != nil {
		return err
	}
	return client.deleteNode(ctx, n.name)
}

// stop ends the kubelet, which would start the pods again.
func (n node) stop(ctx context.Context) error {
	name := n.program("kubelet")
	pid := process.Running(n.layout.folders(), n.layout.tag(), name)
	if pid == 0 {
		return nil
	}
	return process.Stop(ctx, []int{pid}, 2*time.Second)
}

func (n node) killPods(ctx context.Context) error { return killPods(ctx, n.cgroup()) }

func (n node) killRest(ctx context.Context) error { return killRest(ctx, n.tag()) }

func (n node) removeMounts(ctx context.Context) error {
	return removeMounts(ctx, n.folder(), n.run())
}

func (n node) removeAddress(ctx context.Context) error {
	addresses, err := addressesOf(ctx, bridge)
	if err != nil || !strings.Contains(addresses, " "+n.ip()+"/") {
		return err
	}
	return command(ctx, "ip", "address", "delete", n.ip()+"/16", "dev", bridge)
}

func (n node) removeCgroups(ctx context.Context) error { return removeCgroups(ctx, n.cgroup()) }

func (n node) removeFiles(context.Context) error {
	failures := []error{
		removeShimSockets(n.run()), removeCNIResults(n.run()), removeLogLinks(n.folder()),
		process.Forget(n.layout.folders(), n.program("kubelet")), process.Forget(n.layout.folders(), n.program("containerd")),
		os.RemoveAll(n.run()), os.RemoveAll(n.folder()),
	}
	_ = os.Remove(filepath.Dir(n.run()))
	_ = os.Remove(n.layout.nodesFolder())
	return errors.Join(failures...)
}

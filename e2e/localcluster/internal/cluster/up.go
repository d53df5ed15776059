package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

// Up starts what does not run, starts over what runs with other arguments, and waits until pods can run.
func Up(ctx context.Context, l Layout, progress io.Writer) error {
	unlock, err := process.Lock(ctx, l.LockFile(), progress, "another up or down")
	if err != nil {
		return err
	}
	defer unlock()
	// All of it before the first change, so that a conflict leaves nothing half started.
	if err := l.check(ctx); err != nil {
		return err
	}
	if err := l.claim(); err != nil {
		return err
	}
	if err := l.keepVersion(); err != nil {
		return err
	}
	for _, folder := range []string{l.folders().Pids, l.Logs()} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make %s: %w", folder, err)
		}
	}
	if err := l.prepare(ctx); err != nil {
		return err
	}
	client, err := l.newClient()
	if err != nil {
		return err
	}
	if err := l.stopOutdated(ctx, progress); err != nil {
		return err
	}
	for _, component := range l.components() {
		if err := l.start(ctx, component, client, progress); err != nil {
			return err
		}
	}
	fmt.Fprintln(progress, "waiting for the node and its DNS")
	return l.waitFor(ctx, "the node and its DNS", 15*time.Minute, func(ctx context.Context) error {
		return client.usable(ctx)
	})
}

// prepare makes all that the components find when they start.
func (l Layout) prepare(ctx context.Context) error {
	if err := l.prepareMachine(ctx); err != nil {
		return err
	}
	for _, n := range l.addedNodes() {
		if err := n.prepare(ctx); err != nil {
			return err
		}
	}
	return l.writeConfigurations(system.Find("runc"))
}

// stopOutdated stops the components that would be started otherwise now: with other arguments, or from a program that was
// built since. Pods and objects outlive it.
func (l Layout) stopOutdated(ctx context.Context, progress io.Writer) error {
	// The components of another cache folder would look as if they had ended.
	if err := l.checkOwner(); err != nil {
		return err
	}
	for _, c := range l.components() {
		pid := process.Running(l.folders(), l.tag(), c.Name)
		if pid != 0 {
			if process.RunsAs(pid, c.Program) {
				continue
			}
			fmt.Fprintln(progress, "stopping", c.Name, "to start it with other arguments")
			if err := process.Stop(ctx, []int{pid}, 2*time.Second); err != nil {
				return err
			}
		}
		// Somebody may wait for something meanwhile. He must not take this end for a crash, nor that of a machine which was switched off
		// while the cluster ran.
		if err := process.Forget(l.folders(), c.Name); err != nil {
			return err
		}
	}
	return nil
}

// start starts one component and waits for those on which the next depend.
func (l Layout) start(ctx context.Context, c component, client *client, progress io.Writer) error {
	if !l.running(c) {
		fmt.Fprintln(progress, "starting", c.Name)
		if err := process.Start(l.folders(), l.tag(), c.Program); err != nil {
			return err
		}
	}
	switch {
	case c.Name == "etcd":
		return l.waitFor(ctx, "etcd", 5*time.Minute, client.etcdHealthy)
	case c.Name == "kube-apiserver":
		return l.waitFor(ctx, "the apiserver", 10*time.Minute, client.apiserverReady)
	case c.node != nil && c.Name == c.node.program("containerd"):
		if err := l.waitFor(ctx, c.Name, 5*time.Minute, c.node.containerdReady); err != nil {
			return err
		}
		return c.node.loadPause(ctx)
	}
	return nil
}

func (l Layout) running(c component) bool {
	return process.Running(l.folders(), l.tag(), c.Name) != 0
}

// waitFor polls until probe is content, and gives up early if a component has died.
func (l Layout) waitFor(ctx context.Context, what string, within time.Duration, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		if dead := l.dead(); dead != "" {
			return fmt.Errorf("%s ended while we waited for %s; the end of %s:\n%s", dead, what, l.folders().Log(dead), tail(l.folders().Log(dead)))
		}
		if process.Sleep(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("%s did not become ready within %v (look into %s, then run `down` and `up` again): %w", what, within, l.Logs(), err)
		}
	}
}

// dead names a component that was started and runs no more.
func (l Layout) dead() string {
	for _, c := range l.components() {
		_, err := os.Stat(filepath.Join(l.folders().Pids, c.Name+".pid"))
		if err == nil && !l.running(c) {
			return c.Name
		}
	}
	return ""
}

func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// portsFree looks at the ports of those components that do not run yet.
func (l Layout) portsFree(ctx context.Context, components []component) error {
	for _, c := range components {
		if l.running(c) {
			continue
		}
		if err := portsFree(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// portsFree asks ss, because it also knows who has the port.
func portsFree(ctx context.Context, c component) error {
	for _, port := range c.ports {
		output, err := exec.CommandContext(ctx, system.Find("ss"), "-Hltnp", "sport = :"+port).Output()
		if err != nil {
			return fmt.Errorf("ask ss who listens on port %s: %w", port, err)
		}
		for line := range strings.Lines(string(output)) {
			if taken := strings.TrimSpace(line); port != "53" || conflictsWithDNS(taken) {
				return fmt.Errorf("port %s, which %s needs, is taken: stop its owner:\n%s", port, c.Name, taken)
			}
		}
	}
	return nil
}

// conflictsWithDNS is false for a resolver on another address, such as systemd's
// on 127.0.0.53: CoreDNS binds to the node's address alone.
func conflictsWithDNS(line string) bool {
	for _, address := range []string{nodeIP + ":53", "0.0.0.0:53", "*:53", "[::]:53"} {
		if strings.Contains(line, " "+address+" ") {
			return true
		}
	}
	return false
}

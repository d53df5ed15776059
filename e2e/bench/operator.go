package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// operator is the manager as a process of its own, at its default flags but for the addresses that it listens on.
type operator struct {
	process *exec.Cmd
	log     string // file
	ended   chan error
}

// buildManager builds the binary that is measured.
func buildManager(ctx context.Context, folder string) (string, error) {
	root, err := testenv.Root()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "manager")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/manager")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the manager: %w\n%s", err, out)
	}
	return binary, nil
}

// memoryOfManager is the limit of its container in deploy/manager, in bytes.
const memoryOfManager = 1 << 30

// startOperator starts the manager, with more flags than usual, and waits until its controllers work, which is after their
// caches have synced.
func (b *bench) startOperator(ctx context.Context, p *plane, more ...string) (*operator, error) {
	b.starts++
	kubeconfig := filepath.Join(b.folder, "kubeconfig")
	if err := os.WriteFile(kubeconfig, p.kubeconfig, 0o600); err != nil {
		return nil, err
	}
	o := &operator{log: filepath.Join(b.folder, fmt.Sprintf("manager-%d.log", b.starts)), ended: make(chan error, 1)}
	out, err := os.Create(o.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	args := append([]string{"-metrics-bind-address=0", "-health-probe-bind-address=0"}, strings.Fields(b.managerArgs)...)
	args = append(args, more...)
	if b.profiled {
		args = append(args, "-pprof-bind-address="+profileAddress)
	}
	o.process = exec.CommandContext(ctx, b.manager, args...)
	o.process.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, fmt.Sprint("MEMORY_LIMIT=", memoryOfManager))
	o.process.Stdout, o.process.Stderr = out, out
	if err := o.process.Start(); err != nil {
		return nil, err
	}
	go func() { o.ended <- o.process.Wait() }()
	return o, o.waitForWorkers(ctx, controllersOfManager+kubeflowControllers*strings.Count(strings.Join(args, " "), "-kubeflow"))
}

// controllersOfManager are GenericJob's, TrainingFramework's, and those of the frameworks that are on by default.
const controllersOfManager = 4

// kubeflowControllers come with the flag -kubeflow.
const kubeflowControllers = 2

func (o *operator) waitForWorkers(ctx context.Context, controllers int) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(o.log)
		if err != nil {
			return err
		}
		if bytes.Count(text, []byte("Starting workers")) >= controllers {
			return nil
		}
		select {
		case err := <-o.ended:
			return fmt.Errorf("the manager ended before it worked: %w\n%s", err, text)
		case <-ctx.Done():
			return fmt.Errorf("wait for the manager's workers: %w\n%s", ctx.Err(), text)
		case <-tick.C:
		}
	}
}

// patienceStop is how long a manager may take to end.
const patienceStop = 30 * time.Second

func (o *operator) stop() error {
	if err := o.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-o.ended:
		return err
	case <-time.After(patienceStop):
		return errors.Join(fmt.Errorf("the manager did not end within %s of SIGTERM", patienceStop), o.process.Process.Kill())
	}
}

// usage is what a process has used.
type usage struct {
	cpu  time.Duration
	peak float64 // of resident memory, in MiB
	now  float64 // resident memory, in MiB
}

// ticksPerSecond is the unit of the times in /proc; Linux has no other.
const ticksPerSecond = 100

var (
	peakMemory = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)
	memoryNow  = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)
)

func (o *operator) usage() (usage, error) {
	proc := fmt.Sprintf("/proc/%d/", o.process.Process.Pid)
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		return usage{}, err
	}
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return usage{}, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	peak, now := peakMemory.FindSubmatch(status), memoryNow.FindSubmatch(status)
	if len(fields) < 13 || peak == nil || now == nil {
		return usage{}, fmt.Errorf("%sstat or status reads otherwise than expected", proc)
	}
	var u usage
	for i, text := range []string{fields[11], fields[12], string(peak[1]), string(now[1])} { // utime, stime
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return usage{}, err
		}
		switch i {
		case 0, 1:
			u.cpu += time.Duration(n * float64(time.Second) / ticksPerSecond)
		case 2:
			u.peak = n / 1024
		default:
			u.now = n / 1024
		}
	}
	return u, nil
}

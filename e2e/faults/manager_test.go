package faults_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// manager is the operator as a process behind a proxy of its own, which is started again and again.
type manager struct {
	*proxy
	t     *testing.T
	flags []string
	log   string
	cmd   *exec.Cmd
	ended chan error // of the process that runs now
	first int64      // calls that those before it made
	began time.Time  // the process that runs now
}

func newManager(t *testing.T, p *proxy, flags ...string) *manager {
	t.Helper()
	folder := *logs
	if folder == "" {
		folder = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	name := strings.ReplaceAll(t.Name(), "/", "-") + "-" + p.who
	m := &manager{proxy: p, t: t, log: filepath.Join(folder, name+".log"), flags: append([]string{
		"-metrics-bind-address=0", "-health-probe-bind-address=0", "-kubeflow",
	}, flags...)}
	t.Cleanup(func() {
		if m.cmd != nil {
			m.kill()
		}
		if t.Failed() {
			t.Logf("the end of %s's log:\n%s", p.who, m.tail(60))
		}
	})
	return m
}

// start starts a process.
func (m *manager) start() {
	m.t.Helper()
	kubeconfig := m.log + ".kubeconfig"
	require.NoError(m.t, os.WriteFile(kubeconfig, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}]}`, m.URL), 0o600))
	out, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(m.t, err)
	defer out.Close()
	m.first, m.began = m.met.Load(), time.Now()
	m.cmd = exec.Command(binary, m.flags...)
	m.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	m.cmd.Stdout, m.cmd.Stderr = out, out
	require.NoError(m.t, m.cmd.Start())
	m.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(m.cmd, m.ended)
}

// isUp reports whether the process has come to work: one that has just been started does not handle signals yet.
func (m *manager) isUp() bool { return m.cmd != nil && m.met.Load() > m.first }

// leads reports whether the process has written the lease.
func (m *manager) leads() bool { return m.renewed.Load() > m.began.UnixNano() }

// kill ends the process without a chance to finish anything.
func (m *manager) kill() {
	_ = m.cmd.Process.Kill()
	err := <-m.ended
	m.t.Logf("%s was killed: %v", m.who, err)
	m.cmd = nil
}

// errStays says that a process goes on though it was told to end.
var errStays = errors.New("it does not end on SIGTERM within terminationGracePeriodSeconds")

// terminate asks the process to end and waits until it has. It returns how long that took, and how it ended.
func (m *manager) terminate() (time.Duration, error) {
	m.t.Helper()
	begin := time.Now()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil { // it has just ended by itself
		m.cmd = nil
		return 0, <-m.ended
	}
	select {
	case err := <-m.ended:
		m.cmd = nil
		return time.Since(begin), err
	case <-time.After(30 * time.Second): // terminationGracePeriodSeconds
		m.kill()
		return time.Since(begin), errStays
	}
}

// died reports whether the process has ended by itself, as a leader does that lost its lease.
func (m *manager) died() bool {
	select {
	case err := <-m.ended:
		m.cmd = nil
		m.t.Logf("%s ended by itself: %v: %s", m.who, err, m.tail(1))
		return true
	default:
		return false
	}
}

// tail is the end of the log.
func (m *manager) tail(n int) string {
	file, err := os.Open(m.log)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	var lines []string
	for s := bufio.NewScanner(file); s.Scan(); {
		if lines = append(lines, s.Text()); len(lines) > n {
			lines = lines[1:]
		}
	}
	return strings.Join(lines, "\n")
}

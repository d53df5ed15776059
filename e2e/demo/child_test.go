package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// play puts a script in place of a program, for what the demo starts.
func play(t *testing.T, name, script string) (path string) {
	t.Helper()
	folder := t.TempDir()
	path = filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	return path
}

// The image maker is a go run, which tells its child nothing when it is killed.
func TestWhoMakesImagesEndsWithTheDemo(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	// The grandchild takes its time to end, as one that unmounts.
	play(t, "go", `sh -c 'trap "sleep 1; exit" TERM; echo $$ >>`+pids+`; while :; do sleep 0.1; done' & echo $$ >>`+pids+`; wait`)
	c := &cluster{root: t.TempDir()}
	require.NoError(t, os.MkdirAll(filepath.Join(c.root, "e2e", "localcluster"), 0o755))
	_, end := c.makeImagesMeanwhile(t.Context())
	var running []string
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(pids)
		running = strings.Fields(string(text))
		return len(running) == 2
	}, 10*time.Minute, 10*time.Millisecond)
	end()
	for _, text := range running {
		pid, err := strconv.Atoi(text)
		require.NoError(t, err)
		require.False(t, lives(pid), "process %d runs on", pid)
	}
	end() // a demo that succeeds does it, too, when nothing runs
}

// lives is false for a zombie, which waits for its parent alone.
func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestACommandThatIsShownEndsWithAllThatItStarted(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- (&cluster{root: t.TempDir()}).show(exec.CommandContext(ctx, "sh", "-c", "sleep 1000 & echo $! >"+pids+"; wait"))
	}()
	var child int
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(pids)
		child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return child > 0
	}, 10*time.Minute, 10*time.Millisecond)
	cancel()
	require.Error(t, <-done)
	require.False(t, lives(child))
}

func TestAllJobsOfAnEarlierDemoAreDeleted(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	c := &cluster{root: t.TempDir(), kubeconfig: "k", kubectl: play(t, "kubectl", `echo "$@" >>`+calls)}
	require.NoError(t, c.deleteOldJobs(t.Context()))
	text, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, "--kubeconfig k --namespace default delete --ignore-not-found --cascade=foreground --timeout=5m "+
		"genericjob/demo tensorflowtrainingjob/mirrored pytorchtrainingjob/elastic\n", string(text))
}

func TestLinesToCopyAreQuoted(t *testing.T) {
	for _, text := range []string{"/a cache/it's", "$HOME", ""} {
		got, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+shellWord(text)).Output()
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
}

// A process reads its environment once. So a child of the test asks.
func TestTheDemoAsksTheClusterWithoutAProxy(t *testing.T) {
	if os.Getenv("AS_DEMO") == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheDemoAsksTheClusterWithoutAProxy$")
		child.Env = append(os.Environ(), "AS_DEMO=1", "HTTPS_PROXY=http://proxy.corp:3128", "NO_PROXY=", "no_proxy=.corp")
		text, err := child.CombinedOutput()
		require.NoError(t, err, "%s", text)
		return
	}
	require.NoError(t, avoidProxies())
	require.Equal(t, os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))
	for url, proxied := range map[string]bool{"https://10.88.0.1:6443": false, "https://a.corp": false, "https://pypi.org": true} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		proxy, err := http.ProxyFromEnvironment(request)
		require.NoError(t, err)
		require.Equal(t, proxied, proxy != nil, url)
	}
}

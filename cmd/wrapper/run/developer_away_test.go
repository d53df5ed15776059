package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

func TestADeveloperWhoLeavesHoldsUpNobody(t *testing.T) {
	p := newPod(t)
	dir, script := p.app()
	p.order(0, 0, 0)
	p.start(script)
	p.awaitLog("old 0")
	v := p.visit()
	require.Empty(t, v.sends(dir, "train.sh", "never").Error)
	v.does(develop.Ready, develop.Stop)
	v.leave()
	p.awaitLog("old 0; old 0")
	require.NoFileExists(t, filepath.Join(p.dir, "state", "synced", "next", "train.sh"), "what was not applied is gone")
}

func TestOneDeveloperIsServedAtATime(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.start(runsForEver)
	p.awaitLog("begins 0")
	first := p.visit()
	first.does(develop.Ready)
	second := p.visit()
	require.Contains(t, second.hears().Error, "somebody else synchronizes or restarts this replica")
	first.does(develop.Stop, develop.Start)
	p.awaitLog("begins 0; told; begins 0")
	first.leave()
	p.until("the next is served", func() bool { return p.visit().asks(develop.Request{Do: develop.Ready}, nil).Error == "" })
}

func TestWhoeverWaitsForNothingIsNotBegunAgain(t *testing.T) {
	p, wait, signal := secondLife(t, "1h")
	p.awaitHeld()
	require.Contains(t, p.visit().asks(develop.Request{Do: develop.Ready}, nil).Error, "the code has failed, and waits for the operator")
	signal(syscall.SIGTERM)
	require.Equal(t, 7, wait())

	p = newPod(t)
	p.order(0, 0, 0)
	c := p.start(`trap 'while [ ! -e $LOG.go ]; do sleep 0.05; done; exit 0' TERM; echo begins >> $LOG; while :; do sleep 0.05; done`)
	p.awaitLog("begins")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	p.until("it says so", func() bool {
		return strings.Contains(p.visit().asks(develop.Request{Do: develop.Ready}, nil).Error, "the pod is being ended")
	})
	p.letGo()
	require.Zero(t, code(t, c))
}

func TestADeveloperWhoIsSilentHoldsUpNobodyForLong(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.run(p.wrap([]string{"-patience=300ms"}, "sh", "-c", runsForEver, "$(genericjob/attempt)"))
	p.awaitLog("begins 0")
	v := p.visit()
	v.does(develop.Ready, develop.Stop)
	p.awaitLog("begins 0; told; begins 0")
	require.Contains(t, v.asks(develop.Request{Do: develop.Start}, nil).Error, "the wrapper cannot start now")
}

// Code that the wrapper has begun again for want of a word gets no other files while it runs.
func TestNothingIsAppliedBesideCodeThatRunsAgain(t *testing.T) {
	p := newPod(t)
	dir, script := p.app()
	p.order(0, 0, 0)
	p.run(p.wrap([]string{"-patience=300ms"}, "sh", "-c", script, "$(genericjob/attempt)"))
	p.awaitLog("old 0")
	v := p.visit()
	require.Empty(t, v.sends(dir, "train.sh", "never").Error)
	v.does(develop.Ready, develop.Stop)
	p.awaitLog("old 0; old 0")
	require.Contains(t, v.asks(develop.Request{Do: develop.Apply}, nil).Error, "it goes on by itself if it hears nothing for")
	text, err := os.ReadFile(filepath.Join(dir, "train.sh"))
	require.NoError(t, err)
	require.Contains(t, string(text), "old")
}

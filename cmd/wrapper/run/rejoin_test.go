package run_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// meets stands for a torchrun whose training process ends because a peer has gone. It waits for the peer, and starts the process again, which
// takes some time to its first step. Then that hangs.
const meets = `
import subprocess, sys, time
subprocess.run(["sh", "-c", "echo step 1"], start_new_session=True)
time.sleep(6)
subprocess.run(["sh", "-c", "echo begins >> $LOG; sleep 6; echo step 2; exec sleep 1000"], start_new_session=True)
`

func TestCodeDoesNotHangWhoseTorchrunMeetsItsPeersAgain(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	command, env := agent(t, p, "")
	command = append(command[:len(command)-2], meets)
	c := p.wrap([]string{"-read-output", "-beat-line=^step", "-beat-startup=60s", "-beat-steady=4s", "-termination-message=" + p.words()}, command...)
	c.Env = append(c.Env, env)
	p.run(c)
	require.Equal(t, 124, code(t, c))
	require.Equal(t, "begins", p.logged(), "it waits longer for a peer than from one step to the next")
	require.True(t, strings.HasSuffix(p.said(), `for 4 s (steadySeconds), last: "step 2"`), "and has as long to its first step as at a start: %s", p.said())
}

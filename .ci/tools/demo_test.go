package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// demo starts e2e/demo/run with a go that is played. In the place of the demo, this go tells its parent and runs until its input ends. It
// leaves a process behind, as the real demo leaves the cluster.
func demo(t *testing.T, folder string) *exec.Cmd {
	t.Helper()
	program(t, folder, "go", `
echo "$*" >>"$CALLS"
[[ $* != *check ]] || exit "${CHECK:-0}"
sleep 1000 >/dev/null 2>&1 &
echo $! >>"$LEFT"
echo runs
cat
`)
	c := exec.CommandContext(t.Context(), "e2e/demo/run", filepath.Join(folder, "lock"))
	c.Dir = root
	c.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "CALLS="+filepath.Join(folder, "calls"), "LEFT="+filepath.Join(folder, "left"))
	return c
}

func TestASecondDemoIsRefusedAtOnce(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the demo needs root: for anyone else the check says so")
	}
	folder := t.TempDir()
	t.Cleanup(func() {
		left, _ := os.ReadFile(filepath.Join(folder, "left"))
		for _, pid := range strings.Fields(string(left)) {
			_ = exec.Command("kill", pid).Run()
		}
	})
	first := demo(t, folder)
	stdin, err := first.StdinPipe()
	require.NoError(t, err)
	stdout, err := first.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	said := make([]byte, len("runs\n"))
	_, err = stdout.Read(said)
	require.NoError(t, err)
	calls, err := os.ReadFile(filepath.Join(folder, "calls"))
	require.NoError(t, err)

	text, err := demo(t, folder).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(text), "make demo runs already on this machine")
	after, err := os.ReadFile(filepath.Join(folder, "calls"))
	require.NoError(t, err)
	require.Equal(t, string(calls), string(after), "the second has called go")

	require.NoError(t, stdin.Close())
	require.NoError(t, first.Wait())
	text, err = demo(t, folder).CombinedOutput()
	require.NoError(t, err, "what the first has left holds the lock: %s", text)
}

func TestNothingIsCompiledForADemoThatCannotRun(t *testing.T) {
	folder := t.TempDir()
	c := demo(t, folder)
	c.Env = append(c.Env, "CHECK=1")
	require.Error(t, c.Run())
	calls, err := os.ReadFile(filepath.Join(folder, "calls"))
	require.NoError(t, err)
	require.Equal(t, "-C e2e/localcluster run . check\n", string(calls))
}

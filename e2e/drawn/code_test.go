package drawn_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/e2e/drawn"
)

// TestTheProgramsDoAsTheySay runs the programs of ranks without a cluster, in a folder of their own.
func TestTheProgramsDoAsTheySay(t *testing.T) {
	for _, shell := range [][]string{{"sh", "code.sh"}, {"bash", "-euo", "pipefail", "code.sh"}, {"python3", "code.py"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			t.Logf("there is no %s", shell[0])
			continue
		}
		for _, c := range []struct {
			fault, name, attempt string
			code                 int
			says                 string
		}{
			{"none", "worker-2", "0", 0, "begins,step 1 of 2,step 2 of 2,done"},
			{"exit", "worker-1", "0", 42, "begins,step 1 of 2,fault exit"},
			{"exit", "worker-1", "1", 0, "begins,step 1 of 2,step 2 of 2,done"},
			{"exit", "worker-0", "0", 0, "begins,step 1 of 2,step 2 of 2,done"},
			{"kill", "worker-1", "0", -1, "begins,step 1 of 2,fault kill"},
			{"delete", "worker-1", "0", 143, "begins,step 1 of 2,fault delete,saves 1 of 1,saved"},
		} {
			t.Run(fmt.Sprint(shell[0], " ", c.fault, c.name, c.attempt), func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				for name, text := range drawn.Files() {
					require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(strings.ReplaceAll(text, drawn.Folder+"/", folder+"/")), 0o755))
				}
				run := exec.CommandContext(t.Context(), shell[0], shell[1:]...)
				run.Dir = folder
				run.Env = append(os.Environ(), "NAME="+c.name, "ATTEMPT="+c.attempt, "STEPS=2", "SAVES=1", "SAVED=143", "VICTIM=worker-1", "AWAITS=up-worker-1",
					"FAULT="+c.fault, "AT=1", "TIMES=1", "CODE=42", "WORDS=last words")
				var out strings.Builder
				run.Stdout = &out
				require.NoError(t, run.Start())
				said := filepath.Join(folder, drawn.SaidFile(c.name))
				if c.fault == drawn.Delete {
					require.Eventually(t, func() bool {
						text, err := os.ReadFile(said)
						return err == nil && strings.Contains(string(text), "fault delete")
					}, patience, patience/10_000)
					require.NoError(t, run.Process.Signal(syscall.SIGTERM))
				}
				err := run.Wait()
				var exited *exec.ExitError
				if c.code != 0 {
					require.ErrorAs(t, err, &exited)
				}
				assert.Equal(t, c.code, run.ProcessState.ExitCode())
				var want strings.Builder
				for n, text := range strings.Split(c.says, ",") {
					fmt.Fprintf(&want, "drawn %s attempt %s line %d: %s\n", c.name, c.attempt, n+1, text)
				}
				assert.Equal(t, want.String(), out.String())
				text, err := os.ReadFile(said)
				require.NoError(t, err)
				assert.Equal(t, want.String(), string(text), "what it has written")
			})
		}
	}
}

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

// An order may come while a developer stops the code: then another attempt begins, and not the one before again.
func TestOnlyAnAttemptThatHasRunBeginsAgain(t *testing.T) {
	for attempt, again := range map[int]bool{0: true, 1: false} {
		dir, stderr := t.TempDir(), os.Stderr
		log, err := os.Create(filepath.Join(dir, "log"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = log.Close() })
		w := &wrapper{options: options{command: []string{filepath.Join(dir, "missing")}}, stateFile: filepath.Join(dir, "run"), mustRunAgain: true}
		os.Stderr = log
		w.start(inplace.Order{Attempt: attempt, Go: attempt})
		os.Stderr = stderr
		said, err := os.ReadFile(log.Name())
		require.NoError(t, err)
		require.Equal(t, again, strings.Contains(string(said), "begins again, as a developer has asked"), "%s", said)
	}
}

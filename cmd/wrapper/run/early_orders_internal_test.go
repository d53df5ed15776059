package run

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

// A wrapper that gave up one order kept the next, which came before it ended: then a container began that nobody had ordered.
func TestAWrapperThatEndsHearsNoOrder(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"order", "state"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, folder), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "order", "order"), []byte(inplace.Order{}.String()), 0o600))
	madeUp := inplace.Order{Attempt: 1}
	w := &wrapper{options: options{dir: dir, confirmWithin: time.Nanosecond}, stateFile: filepath.Join(dir, "state", "run"), questions: make(chan question)}
	w.memory = memory{Order: &madeUp}
	go func() { w.questions <- question{order: &madeUp, reply: make(chan inplace.Report, 1)} }()
	require.Equal(t, 1, w.loop())
	var next wrapper
	next.stateFile = w.stateFile
	require.NoError(t, next.load())
	require.Nil(t, next.Order)
}

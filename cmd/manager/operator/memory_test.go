package operator

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoKnowsTheMemoryLimitOfItsContainer(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for _, tc := range []struct {
		limit, gomemlimit string
		want              int64
	}{
		{"", "", math.MaxInt64},
		{"1073741824", "", 966367638},
		{"1073741824", "500MiB", math.MaxInt64}, // the runtime reads that one itself, when a process starts
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		t.Setenv(memoryLimit, tc.limit)
		t.Setenv("GOMEMLIMIT", tc.gomemlimit)
		require.NoError(t, limitMemory())
		require.Equal(t, tc.want, debug.SetMemoryLimit(-1))
	}
	t.Setenv("GOMEMLIMIT", "")
	for _, wrong := range []string{"1Gi", "0", "-1", "99999999999999999999"} {
		t.Setenv(memoryLimit, wrong)
		require.ErrorContains(t, limitMemory(), "MEMORY_LIMIT is \""+wrong+"\": want a number of bytes")
	}
}

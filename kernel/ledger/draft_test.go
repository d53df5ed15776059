package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRestartDelay(t *testing.T) {
	tests := map[int]time.Duration{
		0: 0, 1: 0, 2: time.Second, 3: 2 * time.Second, 4: 4 * time.Second, 9: 128 * time.Second, 10: 256 * time.Second,
		11: 5 * time.Minute, 12: 5 * time.Minute, 1 << 30: 5 * time.Minute,
	}
	for streak, want := range tests {
		require.Equal(t, want, restartDelay(streak), "streak %d", streak)
	}
}

package spec

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSecondsDoNotOverflow(t *testing.T) {
	tests := map[int64]time.Duration{0: 0, 90: 90 * time.Second, -5: -5 * time.Second}
	for n, want := range tests {
		require.Equal(t, want, Seconds(n))
	}
	century := int64(100 * 365 * 24 * 3600)
	for _, n := range []int64{math.MaxInt64, math.MaxInt64 / int64(time.Second)} {
		require.Greater(t, Seconds(n), Seconds(century))
		require.Less(t, Seconds(-n), Seconds(-century))
		require.Positive(t, Seconds(n)+Seconds(n), "a sum of two can be said")
		require.Negative(t, Seconds(-n)+Seconds(-n), "a sum of two can be said")
	}
}

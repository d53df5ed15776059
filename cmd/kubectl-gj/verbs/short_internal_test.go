package verbs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{5 * time.Minute: "5m", 2 * time.Hour: "2h", 90 * time.Second: "1m30s", 10 * time.Second: "10s", 300 * time.Millisecond: "300ms", 10 * time.Minute: "10m"} {
		require.Equal(t, want, short(d))
	}
}

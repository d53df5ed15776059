package calls

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// most calls inParallel and returns how many calls were under way at once at most, and which were made.
func most(t *testing.T, n, first int, f func(int) error) (int, []bool, error) {
	t.Helper()
	var now, peak atomic.Int32
	made := make([]bool, n)
	err := inParallel(t.Context(), n, first, func(i int) error {
		if at := now.Add(1); at > peak.Load() {
			peak.Store(at) // a lost race only makes it smaller
		}
		defer now.Add(-1)
		made[i] = true
		return f(i)
	})
	return int(peak.Load()), made, err
}

func TestCallsAreMadeOnceEachAndNotTooManyAtOnce(t *testing.T) {
	var calls atomic.Int32
	at, made, err := most(t, 1000, 1, func(int) error {
		calls.Add(1)
		time.Sleep(time.Millisecond)
		return nil
	})
	require.NoError(t, err)
	require.False(t, slices.Contains(made, false))
	require.EqualValues(t, 1000, calls.Load())
	require.LessOrEqual(t, at, parallel)
	require.Greater(t, at, 1)
}

func TestNoCallBeginsAfterOneThatFailed(t *testing.T) {
	refused := errors.New("refused")
	_, made, err := most(t, 5000, 1, func(int) error { return refused })
	require.ErrorIs(t, err, refused)
	require.True(t, made[0])
	require.False(t, slices.Contains(made[1:], true), "what is refused once is not asked 5,000 times")

	_, made, err = most(t, 5000, 1, func(i int) error {
		if i >= 3 {
			return refused
		}
		return nil
	})
	require.ErrorIs(t, err, refused)
	require.False(t, slices.Contains(made[3+4:], true), "three calls have made room for four")
}

func TestNoCalls(t *testing.T) {
	require.NoError(t, inParallel(t.Context(), 0, 1, func(int) error { return errors.New("called") }))
}

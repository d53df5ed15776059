package run

import (
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// looks has a wrapper look every 100 ms for so long. It returns how long the wrapper took to find that the code hangs; 0 if it did not.
func looks(w *wrapper, at *time.Time, long time.Duration) time.Duration {
	const interval = 100 * time.Millisecond
	for passed := interval; passed <= long; passed += interval {
		if *at = at.Add(interval); w.lookForSigns(*at) {
			return passed
		}
	}
	return 0
}

// watching is a wrapper whose code was started now.
func watching(now time.Time) *wrapper {
	return &wrapper{
		options: options{beat: heartbeat{line: regexp.MustCompile("^step"), startup: 5 * time.Second, steady: 3 * time.Second}},
		signs:   &signs{},
		child:   1,
		watch:   hangWatch{countedAt: now},
	}
}

func TestOnlyTimeInWhichCodeRunsIsSilence(t *testing.T) {
	const long = time.Hour
	for name, tc := range map[string]struct {
		change func(*wrapper)
		want   time.Duration
	}{
		"no first sign":      {func(*wrapper) {}, 5 * time.Second},
		"no second sign":     {func(w *wrapper) { w.signs.see("step 1") }, 3*time.Second + 100*time.Millisecond},
		"waits for an order": {func(w *wrapper) { w.child = 0 }, 0},
		"was told to stop":   {func(w *wrapper) { w.stopping = true }, 0},
		"the pod ends":       {func(w *wrapper) { w.podEnds = true }, 0},
		"was found to hang":  {func(w *wrapper) { w.hung = true }, 0},
		"no heartbeat":       {func(w *wrapper) { w.beat = heartbeat{} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			at := time.Now()
			w := watching(at)
			tc.change(w)
			require.Equal(t, tc.want, looks(w, &at, long))
		})
	}
}

// A wrapper that was frozen together with its code has not seen it hang.
func TestFrozenTimeIsNoSilence(t *testing.T) {
	at := time.Now()
	w := watching(at)
	w.signs.see("step 1")
	require.Zero(t, looks(w, &at, 2*time.Second))
	at = at.Add(time.Hour)
	require.False(t, w.lookForSigns(at), "it was frozen for an hour")
	require.NotZero(t, looks(w, &at, 3*time.Second), "from then on time counts")
}

func TestASignEndsTheSilence(t *testing.T) {
	at := time.Now()
	w := watching(at)
	for range 10 {
		require.Zero(t, looks(w, &at, 3*time.Second))
		w.signs.see("step")
	}
}

// The write end of the first pump would keep it from its end, for which the wrapper waits.
func TestAPumpEndsIfTheNextHasNoPipe(t *testing.T) {
	w := watching(time.Now())
	fillDescriptors(t, 2) // a pipe has two
	_, err := w.watchSigns()
	require.ErrorIs(t, err, syscall.EMFILE)
	require.Len(t, w.pumps, 1)
	<-w.pumps[0].done
}

// fillDescriptors has this process open no more than a number of files, until the test ends.
func fillDescriptors(t *testing.T, free int) {
	t.Helper()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	few := syscall.Rlimit{Cur: 100, Max: limit.Max}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	t.Cleanup(func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) })
	var files []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			require.ErrorIs(t, err, syscall.EMFILE)
			break
		}
		files = append(files, f)
		t.Cleanup(func() { _ = f.Close() })
	}
	for _, f := range files[len(files)-free:] {
		require.NoError(t, f.Close())
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	testWorkers = 3
	// testTime bounds a test that hangs; no assertion depends on it.
	testTime = 20 * time.Minute
)

// train runs a master and its workers over loopback. around wraps the master's handler; start runs one worker.
func train(
	t *testing.T,
	around func(http.Handler) http.Handler,
	start func(ctx context.Context, c config) error,
) (*master, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	var output bytes.Buffer
	m := newMaster(testWorkers, log.New(&output, "", 0))

	inner, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, testWorkers+1)
	go func() { ended <- m.run(ctx, inner, 0) }()

	// The workers talk to a server of the test's own, so that it can see and disturb what they say.
	outer, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: around(m.handler()), ReadHeaderTimeout: testTime}
	go func() { _ = server.Serve(outer) }()
	defer func() { _ = server.Close() }()

	for rank := range testWorkers {
		c := config{role: roleWorker, rank: rank, workers: testWorkers, master: outer.Addr().String()}
		go func() { ended <- start(ctx, c) }()
	}
	for range testWorkers + 1 {
		require.NoError(t, <-ended)
	}
	return m, output.String()
}

func undisturbed(h http.Handler) http.Handler { return h }

func runWorker(ctx context.Context, c config) error {
	return newWorker(c, log.New(io.Discard, "", 0)).run(ctx)
}

func losses(t *testing.T, output string) []float64 {
	t.Helper()
	var all []float64
	for line := range strings.Lines(output) {
		var step int
		var loss float64
		if _, err := fmt.Sscanf(line, "step %d loss %g", &step, &loss); err == nil {
			all = append(all, loss)
		}
	}
	return all
}

func TestLossFallsAndModelIsFound(t *testing.T) {
	t.Parallel()
	m, output := train(t, undisturbed, runWorker)
	got := losses(t, output)
	require.Greater(t, len(got), 10)
	for i := 1; i < len(got); i++ {
		require.Less(t, got[i], got[i-1])
	}
	require.Less(t, got[len(got)-1], targetLoss)
	require.InDeltaSlice(t, truth[:], m.current().Weights, 0.1)
}

func TestKilledWorkerChangesNothing(t *testing.T) {
	t.Parallel()
	const victim, fatalStep = 1, 40
	kill := make(chan context.CancelFunc, 1)
	var killed atomic.Bool
	around := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var u *update
			_ = json.Unmarshal(body, &u)
			if u != nil && u.Rank == victim && u.Step == fatalStep && killed.CompareAndSwap(false, true) {
				(<-kill)()
				panic(http.ErrAbortHandler) // the update is lost with its sender
			}
			h.ServeHTTP(w, r)
		})
	}
	starts := atomic.Int32{}
	worker := func(ctx context.Context, c config) error {
		if c.rank != victim {
			return runWorker(ctx, c)
		}
		starts.Add(1)
		mortal, cancel := context.WithCancel(ctx)
		defer cancel()
		kill <- cancel
		if err := runWorker(mortal, c); err == nil || ctx.Err() != nil {
			return fmt.Errorf("the worker was not killed: %w", err)
		}
		starts.Add(1)
		return runWorker(ctx, c)
	}
	disturbed, output := train(t, around, worker)
	require.EqualValues(t, 2, starts.Load())

	calm, calmOutput := train(t, undisturbed, runWorker)
	require.Equal(t, calm.current(), disturbed.current())
	require.Equal(t, losses(t, calmOutput), losses(t, output))
}

func TestLostAnswersAreAskedForAgain(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	around := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			if requests.Add(1)%50 == 0 {
				panic(http.ErrAbortHandler)
			}
		})
	}
	disturbed, _ := train(t, around, runWorker)
	calm, _ := train(t, undisturbed, runWorker)
	require.Equal(t, calm.current(), disturbed.current())
}

func TestMasterNamesTheWorkersThatItWaitsFor(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	m := newMaster(testWorkers, log.New(&output, "", 0))
	m.take(update{Rank: 0, Gradient: make([]float64, features)})
	seen := m.reportStall(-1)
	require.Empty(t, output.String(), "a step is not slow when it is seen for the first time")
	m.reportStall(seen)
	require.Equal(t, "step 0 waits for worker [1 2]\n", output.String())
}

func TestConfigFromEnv(t *testing.T) {
	t.Parallel()
	valid := map[string]string{
		"TRAINER_ROLE": "worker", "TRAINER_RANK": "2", "TRAINER_WORKERS": "3",
		"TRAINER_MASTER": "demo-master-0:7000", "TRAINER_STEP_TIME": "300ms",
	}
	tests := map[string]struct {
		name, value string
		wantErr     string
	}{
		"valid":                       {name: "TRAINER_RANK", value: "2"},
		"a variable was not replaced": {name: "TRAINER_RANK", value: "$(rank)", wantErr: `TRAINER_RANK is "$(rank)"`},
		"rank out of range":           {name: "TRAINER_RANK", value: "3", wantErr: "the highest is 2"},
		"unknown role":                {name: "TRAINER_ROLE", value: "ps", wantErr: "TRAINER_ROLE"},
		"no port":                     {name: "TRAINER_MASTER", value: "demo-master-0", wantErr: "host:port"},
		"no workers":                  {name: "TRAINER_WORKERS", value: "0", wantErr: "TRAINER_WORKERS"},
		"not a duration":              {name: "TRAINER_STEP_TIME", value: "3", wantErr: "TRAINER_STEP_TIME"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := configFromEnv(func(key string) string {
				if key == tc.name {
					return tc.value
				}
				return valid[key]
			})
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, config{
				role: roleWorker, rank: 2, workers: 3, master: "demo-master-0:7000", port: "7000",
				pause: 300 * time.Millisecond,
			}, got)
		})
	}
}

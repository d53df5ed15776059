package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"
)

const (
	retryTime = 500 * time.Millisecond
	// answerTime bounds a request, which waits for the slowest worker. It is there for a master that vanished without
	// a word: a request that was merely slow is sent again at no harm.
	answerTime = 30 * time.Second
	// leaveAttempts bounds the farewell. The training is over by then; a master that does not answer any more has
	// heard it from everybody.
	leaveAttempts = 5
)

// worker computes the gradients of one shard.
type worker struct {
	rank    int
	pause   time.Duration
	address string
	samples []sample
	client  *http.Client
	log     *log.Logger
}

func newWorker(c config, logger *log.Logger) *worker {
	return &worker{
		rank:    c.rank,
		pause:   c.pause,
		address: "http://" + c.master,
		samples: shard(c.rank),
		client:  &http.Client{Timeout: answerTime},
		log:     logger,
	}
}

func (w *worker) run(ctx context.Context) error {
	current, err := w.insist(ctx, http.MethodGet, pathState, nil)
	if err != nil {
		return err
	}
	w.log.Printf("worker %d begins at step %d", w.rank, current.Step)
	for !current.Done {
		loss, gradient := gradientOf(w.samples, current.Weights)
		if current.Step%logEverySteps == 0 {
			w.log.Printf("step %d loss %.5f on the shard of worker %d", current.Step, loss, w.rank)
		}
		wait(ctx, w.pause)
		mine := &update{Rank: w.rank, Step: current.Step, Loss: loss, Gradient: gradient}
		if current, err = w.insist(ctx, http.MethodPost, pathUpdate, mine); err != nil {
			return err
		}
	}
	w.log.Printf("worker %d has finished", w.rank)
	for range leaveAttempts {
		if _, err = w.ask(ctx, http.MethodPost, pathLeave, &update{Rank: w.rank}); err == nil {
			break
		}
		wait(ctx, retryTime)
	}
	return ctx.Err()
}

// insist asks until there is an answer. The job's rules, not the worker, decide when a master is gone for good.
func (w *worker) insist(ctx context.Context, method, path string, u *update) (state, error) {
	said := ""
	for {
		answer, err := w.ask(ctx, method, path, u)
		if err == nil || ctx.Err() != nil {
			return answer, ctx.Err()
		}
		if said != err.Error() {
			said = err.Error()
			w.log.Printf("worker %d asks again: %v", w.rank, err)
		}
		wait(ctx, retryTime)
	}
}

func (w *worker) ask(ctx context.Context, method, path string, u *update) (answer state, err error) {
	body, err := json.Marshal(u)
	if err != nil {
		return answer, fmt.Errorf("encode update: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, w.address+path, bytes.NewReader(body))
	if err != nil {
		return answer, fmt.Errorf("make request: %w", err)
	}
	response, err := w.client.Do(request)
	if err != nil {
		return answer, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return answer, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return answer, fmt.Errorf("decode answer: %w", err)
	}
	return answer, nil
}

func wait(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

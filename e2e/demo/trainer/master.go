package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	logEverySteps = 5
	// stallTime is how long a step may stand still before the master says whom it waits for.
	stallTime = 2 * time.Second
)

// master is the parameter server.
type master struct {
	workers int
	log     *log.Logger

	mu       sync.Mutex
	state    state
	updates  map[int]update // of the current step, by rank
	advanced chan struct{}  // closed when the current step is complete
	left     map[int]bool   // ranks that know that the training is over
	deserted chan struct{}  // closed when all have left
}

func newMaster(workers int, logger *log.Logger) *master {
	return &master{
		workers:  workers,
		log:      logger,
		state:    state{Weights: make([]float64, features)},
		updates:  map[int]update{},
		advanced: make(chan struct{}),
		left:     map[int]bool{},
		deserted: make(chan struct{}),
	}
}

// run serves until every worker knows that the training is over, and for the time linger after that.
func (m *master) run(ctx context.Context, listener net.Listener, linger time.Duration) error {
	server := &http.Server{Handler: m.handler(), ReadHeaderTimeout: stallTime}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() { _ = server.Close() }()

	stalls := time.NewTicker(stallTime)
	defer stalls.Stop()
	seen := -1
	for {
		select {
		case <-m.deserted:
			m.log.Print("all workers have finished; the master ends")
			wait(ctx, linger)
			// Shutdown lets the answer to the last worker's farewell go out.
			if err := server.Shutdown(ctx); err != nil {
				return fmt.Errorf("shut down: %w", err)
			}
			return nil
		case <-stalls.C:
			seen = m.reportStall(seen)
		case err := <-served:
			return fmt.Errorf("serve: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *master) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathState, func(w http.ResponseWriter, _ *http.Request) {
		writeState(w, m.current())
	})
	mux.HandleFunc("POST "+pathUpdate, func(w http.ResponseWriter, r *http.Request) {
		u, err := readUpdate(w, r, m.workers)
		if err == nil && len(u.Gradient) != features {
			err = fmt.Errorf("the gradient has %d numbers, not %d", len(u.Gradient), features)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case <-m.take(u):
			writeState(w, m.current())
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST "+pathLeave, func(w http.ResponseWriter, r *http.Request) {
		u, err := readUpdate(w, r, m.workers)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		m.leave(u.Rank)
		writeState(w, m.current())
	})
	return mux
}

func (m *master) current() state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return state{Step: m.state.Step, Weights: slices.Clone(m.state.Weights), Done: m.state.Done}
}

// take adds an update to the current step and returns what is closed once that step is complete. An update of another
// step is dropped: its sender was away, or this master was, and the current state tells it where to go on.
func (m *master) take(u update) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Done || u.Step != m.state.Step {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	complete := m.advanced
	m.updates[u.Rank] = u
	if len(m.updates) == m.workers {
		m.advance()
	}
	return complete
}

// advance makes one step of gradient descent. The sums run in the order of the ranks, because floating-point addition
// is not associative and the result shall not depend on who was first.
func (m *master) advance() {
	loss := 0.0
	gradient := make([]float64, features)
	for rank := range m.workers {
		u := m.updates[rank]
		loss += u.Loss / float64(m.workers)
		for j, g := range u.Gradient {
			gradient[j] += g / float64(m.workers)
		}
	}
	m.state.Done = loss < targetLoss
	if m.state.Done || m.state.Step%logEverySteps == 0 {
		m.log.Printf("step %d loss %.5f", m.state.Step, loss)
	}
	if !m.state.Done {
		for j, g := range gradient {
			m.state.Weights[j] -= learningRate * g
		}
		m.state.Step++
	}
	clear(m.updates)
	close(m.advanced)
	m.advanced = make(chan struct{})
}

func (m *master) leave(rank int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// A worker that was restarted after the end leaves twice.
	if m.left[rank] || !m.state.Done {
		return
	}
	m.left[rank] = true
	if len(m.left) == m.workers {
		close(m.deserted)
	}
}

// reportStall names the workers that a step waits for if it is the step that was seen last time.
func (m *master) reportStall(seen int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Done || m.state.Step != seen {
		return m.state.Step
	}
	var missing []int
	for rank := range m.workers {
		if _, there := m.updates[rank]; !there {
			missing = append(missing, rank)
		}
	}
	m.log.Printf("step %d waits for worker %v", m.state.Step, missing)
	return seen
}

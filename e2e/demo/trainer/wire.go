package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// The paths of the master's HTTP interface. All of them may be repeated: a request whose answer got lost changes
// nothing when it is sent again.
const (
	pathState  = "/state"  // GET: state
	pathUpdate = "/update" // POST update: state, as soon as the step is complete
	pathLeave  = "/leave"  // POST update, of which only the rank counts: the worker knows that the training is over
)

// state is what the workers compute with.
type state struct {
	Step    int       `json:"step"`
	Weights []float64 `json:"weights"`
	// Done says that the training is over.
	Done bool `json:"done"`
}

// update is one worker's part of one step.
type update struct {
	Rank     int       `json:"rank"`
	Step     int       `json:"step"`
	Loss     float64   `json:"loss"`
	Gradient []float64 `json:"gradient"`
}

// maxUpdateBytes is far more than an update has; whoever can reach the port must not fill the master's memory.
const maxUpdateBytes = 64 << 10

func readUpdate(w http.ResponseWriter, r *http.Request, workers int) (update, error) {
	var u update
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUpdateBytes)).Decode(&u); err != nil {
		return u, fmt.Errorf("decode update: %w", err)
	}
	if u.Rank < 0 || u.Rank >= workers {
		return u, fmt.Errorf("rank %d is not one of %d workers", u.Rank, workers)
	}
	return u, nil
}

func writeState(w http.ResponseWriter, s state) {
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone will ask again.
	_ = json.NewEncoder(w).Encode(s)
}

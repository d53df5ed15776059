package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

// wrapper is a wrapper at work.
type wrapper struct {
	dir, file, pod    string
	command           []string
	grace             time.Duration
	asked             chan question
	developerRequests chan developerRequest
	signals           chan os.Signal
	fixed             *inplace.Order // nil: the order is in a file
	beat              heartbeat
	hold              time.Duration // how long to stay when code fails
	reads             bool          // what code has said last is read
	messageFile       string        // the file for the container's termination message; "" for none
	confirmWithin     time.Duration // how long to wait by an order that the volume does not show
	born              time.Time     // when this wrapper began
	patience          time.Duration // how long to wait for a developer who is silent

	memory
	confirmedAt time.Time        // when the volume last showed no less than what is obeyed
	at          int              // the attempt that was reached: no code of an earlier one runs
	child       int              // the command's process; 0 if it does not run
	stopping    bool             // an order has asked the command to end
	draining    bool             // the command has ended, and others of its processes may still run
	podEnds     bool             // a signal has said that the pod ends
	stopAsked   time.Time        // when the code was first asked to end, by order or with the pod; zero: it was not
	kill        <-chan time.Time // when processes are killed that were asked to end
	limit       time.Duration    // how long they were given
	graceOver   bool             // the time is over that the code had to end
	spared      []int            // processes that were not asked, because an agent does that
	slow        bool             // the log has said who holds up the stop
	lastSeen    string           // who was seen last after the command had ended; "" if nobody
	over        bool             // the wrapper ends, with code
	code        int
	began       time.Time        // when the code began
	ended       *inplace.End     // how the code has failed; nil until it does
	held        *inplace.End     // the end of the code, while the wrapper waits for an order
	holdExpired <-chan time.Time // when the wrapper waits for an order no more

	signs    *signs        // of the attempt that runs; nil if nobody looks for them
	pumps    []*pump       // of the code's output
	watching chan struct{} // closed when nobody looks at the file any more
	seen     int           // how many signs there were when last looked
	looked   time.Time     // when the signs were last counted
	// Torchrun may start its training processes again. What it has, when that was looked at, and how many signs there were before.
	training   []int
	met        time.Time
	seenBefore int

	developer *developer // who is served; nil if nobody is
	again     bool       // the code of the attempt that ran last is to begin again

	silence time.Duration // since the last sign, or the start
	hung    bool          // the code has been found to hang
	silent  string        // of which sign it lacked
}

// memory is what outlives a container, in the pod's volume.
type memory struct {
	// Ran is the last attempt whose code was started; -1 before the first.
	Ran int `json:"ran"`
	// Starts is how often the wrapper was started in this pod.
	Starts int `json:"starts"`
	// Code is the exit code with which the code of attempt Ran ended the container before this one; 0 if it did not.
	Code int `json:"code,omitempty"`
	// Step is the last step that the code told before it ended; nil if it told none.
	Step *int64 `json:"step,omitempty"`
	// Developed says that a developer has had code begun again in this pod. What steps it tells is no count of the work from then on.
	Developed bool `json:"developed,omitempty"`
	// Order is the last order that came with a question; nil before the first. The volume may show it much later.
	Order *inplace.Order `json:"order,omitempty"`
}

func (w *wrapper) load() error {
	text, err := os.ReadFile(w.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &w.memory); err != nil {
		return fmt.Errorf("%s: %w", w.file, err)
	}
	return nil
}

// save writes the memory as a whole or not at all.
func (w *wrapper) save() error {
	text, err := json.Marshal(w.memory)
	if err != nil {
		return err
	}
	next := w.file + ".next"
	if err := os.WriteFile(next, text, 0o644); err != nil { // a container that is started again may have another user
		return err
	}
	return os.Rename(next, w.file)
}

// expand replaces tokens by the numbers of the order.
func expand(texts []string, o inplace.Order) []string {
	numbers := strings.NewReplacer(inplace.AttemptReference, fmt.Sprint(o.Attempt), inplace.JobAttemptReference, fmt.Sprint(o.JobAttempt))
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = numbers.Replace(text)
	}
	return list
}

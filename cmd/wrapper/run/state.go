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
	dir, pod          string
	stateFile         string // where the memory is kept
	command           []string
	grace             time.Duration // how long code may take to end
	questions         chan question
	developerRequests chan developerRequest
	signals           chan os.Signal
	fixedOrder        *inplace.Order // nil: the order is in a file
	beat              heartbeat
	hold              time.Duration // how long to stay when code fails
	readsOutput       bool          // the wrapper reads the last output of code that fails
	messageFile       string        // the file for the container's termination message; "" for none
	confirmWithin     time.Duration // how long to wait by an order that the volume does not show
	startedAt         time.Time     // when this wrapper began
	patience          time.Duration // how long to wait for a developer who is silent

	memory
	confirmedAt     time.Time        // when the volume last showed no less than what is obeyed
	reachedAttempt  int              // no code of an earlier attempt runs
	child           int              // the command's process; 0 if it does not run
	stopping        bool             // an order has asked the command to end
	draining        bool             // the command has ended, and others of its processes may still run
	podEnds         bool             // a signal has said that the pod ends
	stopAsked       time.Time        // when the code was first asked to end, by order or with the pod; zero: it was not
	killTimer       <-chan time.Time // fires when it is time to kill the processes that were asked to end
	stopLimit       time.Duration    // how long they were given
	graceOver       bool             // the time is over that the code had to end
	spared          []int            // processes that were not asked, because an agent does that
	hasNamedHolders bool             // the log has said who holds up the stop
	lastSeen        string           // who was seen last after the command had ended; "" if nobody
	over            bool             // the wrapper ends, with code
	code            int
	codeStartedAt   time.Time
	codeFailure     *inplace.End     // how the code has failed; nil until it does
	heldEnd         *inplace.End     // the end of the code, while the wrapper waits for an order
	holdExpired     <-chan time.Time // when the wrapper waits for an order no more

	signs          *signs        // of the attempt that runs; nil if nobody looks for them
	pumps          []*pump       // of the code's output
	watching       chan struct{} // closed when nobody looks at the file any more
	signsSeen      int           // how many signs there were at the last count
	signsCountedAt time.Time     // when the signs were last counted

	// Torchrun may start its training processes again.
	trainingSeen      []int     // its training processes at the last look
	trainingCheckedAt time.Time // when the wrapper last looked for them
	signsBefore       int       // how many signs there were when the code, or its training processes, began

	developer    *developer // who is served; nil if nobody is
	mustRunAgain bool       // the code of the attempt that ran last is to begin again

	silence     time.Duration // since the last sign, or the start
	hung        bool          // the code has been found to hang
	missingSign string        // what was expected of code that hangs, and what was seen
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
	text, err := os.ReadFile(w.stateFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &w.memory); err != nil {
		return fmt.Errorf("%s: %w", w.stateFile, err)
	}
	return nil
}

// save writes the memory as a whole or not at all.
func (w *wrapper) save() error {
	text, err := json.Marshal(w.memory)
	if err != nil {
		return err
	}
	next := w.stateFile + ".next"
	if err := os.WriteFile(next, text, 0o644); err != nil { // a container that is started again may have another user
		return err
	}
	return os.Rename(next, w.stateFile)
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

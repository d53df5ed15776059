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

// wrapper is a wrapper at work. These are its states, with the functions that begin and end them. Several may hold at once.
//
//	state     begun by                                         ended by           what it says
//	child     start                                            childEnded, start  the command runs, as the process with this number
//	stopping  stopWithin                                       finishStop         an order, or a developer, has asked the code to end
//	hung      endHungCode                                      finishStop         the code was found to hang, and is ended
//	draining  childEnded, holdEnd                              finishStop         the command has ended; other processes of the code may run
//	heldEnd   holdEnd                                          forgetHeldEnd      the code has failed, and the wrapper waits for an order
//	podEnds   endWithPod                                       -                  a signal has said that the pod ends
//	over      loop, endWithPod, childEnded, finishStop, fail   -                  the wrapper ends, with exitCode
//
// The end of the command leads to draining, or the wrapper is over at once: see childEnded. Once no process is left, finishStop goes on. An end is
// held until an order names an attempt that has not run, the time is over (loop), or the pod ends (endWithPod). A test compares the table with the
// code.
type wrapper struct {
	options
	stateFile         string // where the memory is kept
	questions         chan question
	developerRequests chan developerRequest
	ends              chan os.Signal // endSignals alone
	signals           chan os.Signal // all; onSignal ignores endSignals
	startedAt         time.Time      // when this wrapper began

	memory
	confirmedAt    time.Time // when the volume last showed no less than what is obeyed, or nobody waited by that
	reachedAttempt int       // no code of an earlier attempt runs

	child    int // 0: the command does not run
	stopping bool
	hung     bool
	draining bool
	heldEnd  *inplace.End // nil: no end is held
	podEnds  bool
	over     bool
	exitCode int

	codeStartedAt time.Time
	codeFailure   *inplace.End     // how the code has failed; nil until it does
	holdExpired   <-chan time.Time // when the wrapper waits for an order no more
	stop          stopState
	signs         *signs        // of the attempt that runs; nil if nobody looks for them
	pumps         []*pump       // of the code's output
	unwatchFile   chan struct{} // closed when nobody looks at the file of the heartbeat any more; nil if nobody does
	watch         hangWatch

	developer    *developer // who is served; nil if nobody is
	mustRunAgain bool       // the code of the attempt that ran last is to begin again
}

// options are what the flags say.
type options struct {
	dir, podUID   string
	command       []string
	grace         time.Duration  // how long code may take to end
	fixedOrder    *inplace.Order // nil: the order is in a file
	beat          heartbeat
	hold          time.Duration // how long to stay when code fails
	readsOutput   bool          // the wrapper reads the last output of code that fails
	messageFile   string        // the file for the container's termination message; "" for none
	confirmWithin time.Duration // how long to wait by an order that the volume does not show
	patience      time.Duration // how long to wait for a developer who is silent
}

// stopState is how far the end of one attempt's code has come. It is zero again when no process of the code is left.
type stopState struct {
	askedAt            time.Time        // when the code was first asked to end, by order or with the pod; zero: it was not
	timer              <-chan time.Time // fires when it is time to kill the processes that are left
	limit              time.Duration    // how long they were given by stopWithin
	graceOver          bool             // that time is over
	spared             []int            // processes that were not asked, because an agent does that
	hasNamedStragglers bool             // the log has said who has not ended soon
	lastSeen           string           // who was seen last after the command had ended; "" if nobody
}

// hangWatch is how the wrapper finds that code hangs. Each attempt begins with a new one, but for the times of the last looks.
type hangWatch struct {
	signsSeen         int           // how many signs there were at the last count
	signsBefore       int           // how many there were when the code, or its training processes, began
	countedAt         time.Time     // when they were last counted
	silence           time.Duration // since the last sign, or the start
	trainingSeen      []int         // torchrun's training processes at the last look; it may start them again
	trainingCheckedAt time.Time     // when the wrapper last looked for them
	missingSign       string        // what was expected of code that hangs, and what was seen
}

// memory is what outlives a container, in the pod's volume.
type memory struct {
	// Ran is the last attempt whose code was started; -1 before the first.
	Ran int `json:"ran"`
	// Starts is how often the wrapper was started in this pod.
	Starts int `json:"starts"`
	// EarlierExitCode is the exit code with which the code of attempt Ran ended the container before this one; 0 if it did not.
	EarlierExitCode int `json:"code,omitempty"`
	// Step is the last step that the code reported before it ended; nil if it reported none.
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

// Package inplace is what the operator and the wrapper in a pod tell each other, where replicas are restarted in place. The operator gives orders,
// which a pod's annotation holds and a downward API volume shows as a file. The wrapper answers questions with reports. A question may bring the
// order, too, for volumes are slow. Orders are text, as Order.String writes them. Questions and reports are JSON, one of each for a TCP connection.
// It also reads the numbers in lines of progress, as the wrapper and kubectl gj do. It imports nothing but the standard library, for the wrapper is
// small.
package inplace

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

const (
	// Annotation is the pod's annotation that holds its Order.
	Annotation = "batch.tensorstack.dev/order"
	// Dir is where the wrapper, its state and the order are mounted in the container that it wraps.
	Dir = "/genericjob.d"
	// Binary is the name of the wrapper's file, in Dir/state.
	Binary = "wrapper"
	// Volume is the pod's volume that holds the wrapper and its state.
	Volume = "genericjob-wrapper"
	// Port is the TCP port at which the wrapper answers a Question with a Report. Where a container of the pod declares that port, it is the next
	// that none declares.
	Port = 10190
	// AgentName is the name, as the kernel knows it, of a process that asks its own descendants to end when it is asked to. The wrapper
	// then leaves that to it.
	AgentName = "gj-agent"
)

// These stand in command, args and env values for the numbers of the Order that the code is started by. Kubernetes leaves such
// references alone, as no variable can have these names.
const (
	// AttemptReference stands for Order.Attempt.
	AttemptReference = "$(genericjob/attempt)"
	// JobAttemptReference stands for Order.JobAttempt.
	JobAttemptReference = "$(genericjob/jobAttempt)"
)

// Order is what the operator wants of a pod.
type Order struct {
	// Attempt is the one at which the replica is to be: code of an earlier one must end.
	Attempt int
	// Go is the attempt up to which code may run. Below Attempt, the replica waits for others.
	Go int
	// JobAttempt is how often the whole job was started over; see status.jobAttempt.
	JobAttempt int
}

// String is the order as the annotation holds it.
func (o Order) String() string {
	return fmt.Sprintf("attempt=%d go=%d jobAttempt=%d", o.Attempt, o.Go, o.JobAttempt)
}

// Parse reads what String writes.
func Parse(text string) (o Order, err error) {
	n, err := fmt.Sscanf(text, "attempt=%d go=%d jobAttempt=%d", &o.Attempt, &o.Go, &o.JobAttempt)
	if err != nil || n != 3 || o.Attempt < 0 || o.Go < 0 || o.JobAttempt < 0 || o.String() != text {
		return Order{}, fmt.Errorf("order %q: want attempt=<n> go=<n> jobAttempt=<n>", text)
	}
	return o, nil
}

// After reports whether an order was given after another to the same pod: attempts grow, and in each the replica first waits.
func (o Order) After(other Order) bool {
	return o.Attempt > other.Attempt || o.Attempt == other.Attempt && o.Go > other.Go
}

// Question asks a wrapper for its Report.
type Question struct {
	// Pod is the UID of the pod that is asked. A wrapper answers nobody who does not know it: addresses are given to other pods in time,
	// and strangers reach ports.
	Pod string `json:"pod"`
	// Order is the one that the pod's annotation holds, as String writes it; "" where it is not known. The annotation is written first:
	// what a pod does by an order, nobody must take for what it did before.
	Order string `json:"order,omitempty"`
}

// Report is what a wrapper knows.
type Report struct {
	// Pod is the UID of the pod: addresses are given to other pods in time.
	Pod string `json:"pod"`
	// Attempt is the one that the replica has reached: no code of an earlier one runs in the pod, or ever will.
	Attempt int `json:"attempt"`
	// Exits is how often the wrapper's container has ended in this pod.
	Exits int `json:"exits"`
	// Held is how code of Attempt has ended that failed, while the wrapper stays, for the kubelet would start its container again
	// late; nil otherwise.
	Held *End `json:"held,omitempty"`
	// Ended is how the last code has ended that failed by itself in this pod, until code is started again; nil if none did. Held is the same while the
	// wrapper waits to be heard.
	Ended *End `json:"ended,omitempty"`
	// Step and Loss are the last numbers that the code's output told, as it wrote them; "" if it told none.
	Step string `json:"step,omitempty"`
	Loss string `json:"loss,omitempty"`
	// Furthest is the highest step that the output of the code of Attempt has told. It is "none" if it has told none, and "" if that is not certain.
	Furthest string `json:"furthest,omitempty"`
	// Pace is how fast its steps follow each other; nil if it told none, or they began anew.
	Pace *Pace `json:"pace,omitempty"`
}

// Pace is how fast the steps of the code that runs follow each other.
type Pace struct {
	// First is the first step that this code told.
	First int64 `json:"first"`
	// Each says that it has told each step since.
	Each bool `json:"each,omitempty"`
	// Seconds is how long a step takes, the median of the last ones; 0 if that is not known yet.
	Seconds float64 `json:"seconds,omitempty"`
	// Before is the last step that the code before told, in this container; nil if there was none, or it told none.
	Before *int64 `json:"before,omitempty"`
}

// End is how code has failed, as its wrapper reports it.
type End struct {
	// Attempt is the code's.
	Attempt int `json:"attempt"`
	// Code is what it has exited with; not 0.
	Code int32 `json:"code"`
	// Began and Ended are when it ran, by the node's clock.
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
	// Message is its termination message, of at most MaxMessage bytes, or what the wrapper has read of its output.
	Message string `json:"message,omitempty"`
	// Asked says that the code had been told to end. It may have been at its end, for a cause of its own.
	Asked bool `json:"asked,omitempty"`
}

// MaxMessage is how many bytes of a termination message a report quotes: its end.
const MaxMessage = 1024

// RepeatFormat is the line with which a wrapper begins to repeat the end of what code has said before. It does so in a container that ends without
// having run any, since a kubelet keeps the log of one container that has ended. Nothing follows but what is repeated.
const RepeatFormat = "genericjob wrapper: attempt %d had ended with exit code %d. The end of what it said:\n"

// IsRepeat reports whether a line of a log is that of RepeatFormat.
func IsRepeat(line string) bool {
	var attempt, code int
	_, err := fmt.Sscanf(line, RepeatFormat, &attempt, &code)
	return err == nil
}

// Wrappers hold code that has failed, so that the kubelet does not delay its next start. A kubelet starts a container at once that has failed for the
// first time. From then on it waits longer each time, until one has run for ten minutes.
const (
	// Hold is for how long.
	Hold = 20 * time.Second
	// HoldWithin is how long after the start of a container its wrapper does so, if it is not the pod's first. It is somewhat longer than the kubelet
	// remembers.
	HoldWithin = 11 * time.Minute
)

// Progress are the numbers of a report, so far as they are numbers: what the code of a pod says may be anything.
func (r Report) Progress() (step *int64, loss string) {
	if n, err := strconv.ParseInt(r.Step, 10, 64); err == nil && n >= 0 {
		step = &n
	}
	if IsNumber(r.Loss) {
		loss = r.Loss
	}
	return step, loss
}

// longestNumber is how many bytes a number has that is told: those of any number that a computer prints in full.
const longestNumber = 24

// IsNumber reports whether a text is a number, NaN and infinity among them, of at most 24 bytes.
func IsNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return len(text) <= longestNumber && (err == nil || errors.Is(err, strconv.ErrRange))
}

package logs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// A pod whose code was run again in it is still there when its failure is looked at. The log of the run that failed is part of that of its
// container, or of the container before. What was said since does not belong to the failure.

// Place is where the log of a failure is.
type Place struct {
	source Source
	// previous says that it is the log of the container before, and last that the failure ended that container.
	previous, last bool
}

// InPlace returns where the log of the run that failed is, in the pod in which the replica was restarted. It is nil if the node has it no more: it
// keeps the logs of two containers.
func (f Failure) InPlace(of *jobs.Family) *Place {
	pod := f.pod(of)
	if pod == nil {
		return nil
	}
	s := Source{Pod: pod, Container: cmp.Or(f.Container, Main(pod)), Name: jobs.Replica(pod)}
	status := s.status()
	if status == nil {
		return nil
	}
	before, now := status.LastTerminationState.Terminated, status.State.Terminated
	switch {
	case before != nil && before.FinishedAt.Equal(f.Time):
		return &Place{s, true, true}
	case now != nil && now.FinishedAt.Equal(f.Time):
		return &Place{s, false, true}
	case before != nil && !f.Time.Before(&before.StartedAt) && f.Time.Before(&before.FinishedAt):
		return &Place{s, true, false}
	case s.started() && !f.Time.Time.Before(s.begun()):
		return &Place{s, false, false}
	default:
		return nil
	}
}

// pod returns the pod in which the replica failed and was restarted; nil if it is gone.
func (f Failure) pod(of *jobs.Family) *corev1.Pod {
	i := slices.IndexFunc(of.Pods, func(pod *corev1.Pod) bool { return pod.Name == f.Pod })
	if i < 0 || f.Time == nil || of.Pods[i].CreationTimestamp.After(f.Time.Time) {
		return nil
	}
	return of.Pods[i]
}

// IsThere reports whether the pod in which the replica failed is still there.
func (f Failure) IsThere(of *jobs.Family) bool { return f.pod(of) != nil }

// PrintFailure prints what the code said that failed, up to its end, and reports whether anything was found and whether the log goes on.
func (p *Printer) PrintFailure(ctx context.Context, f Failure, at *Place) (found, more bool, err error) {
	p.measure([]Source{at.source})
	o := p.options(at.source.Container, false, time.Time{})
	o.Previous, o.Timestamps, o.TailLines = at.previous, true, nil // what is last in the log may be of another run
	stream, err := p.Pods.GetLogs(at.source.Pod.Name, o).Stream(ctx)
	if err != nil {
		return false, false, at.source.wrong(err)
	}
	defer stream.Close()
	all, err := read(stream)
	if err != nil {
		return false, false, at.source.wrong(err)
	}
	part, more := f.part(all, at.last)
	if p.Tail >= 0 {
		part = part[max(0, len(part)-int(p.Tail)):]
	}
	for _, l := range part {
		p.print(at.source, l.text, l.words)
	}
	return len(part) > 0, more, nil
}

// logged is a line of a log: with its time, and its words alone.
type logged struct {
	at          time.Time
	text, words string
}

// read reads a log that has times.
func read(stream io.Reader) (all []logged, err error) {
	for lines := bufio.NewReader(stream); ; {
		line, err := next(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return all, err
		}
		if line != "" {
			at, words := cutTime(line, true)
			all = append(all, logged{at, line, words})
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
	}
}

const (
	// A wrapper writes heldFormat if its code has failed, and it waits to run that again in the same container. If it was told to stop its code, it
	// writes stoppedFormat. cmd/wrapper/run says them.
	heldFormat    = "genericjob wrapper: attempt %d has ended with exit code %d; waiting for an order\n"
	stoppedFormat = "genericjob wrapper: attempt %d has stopped, "
)

// near is how far the time of a wrapper's line may be from that of the end of which it tells. The end has whole seconds.
const near = 5 * time.Second

// part returns what a failed run has said, of the log of its container, and whether the log goes on. Last says that the failure ended the container.
func (f Failure) part(all []logged, last bool) (part []logged, more bool) {
	end := len(all)
	if !last {
		end = f.end(all)
	}
	begin := 0
	for i := range all[:max(0, end-1)] {
		if endsAttempt(all[i].words) {
			begin = i + 1
		}
	}
	return all[begin:end], end < len(all)
}

// end returns how many lines of a log were said until the failure: the wrapper tells of it, or else times do.
func (f Failure) end(all []logged) (n int) {
	for i, l := range all {
		if f.ExitCode != nil && isHeld(l.words, *f.ExitCode) && l.at.Sub(f.Time.Time).Abs() < near {
			return i + 1
		}
	}
	for i, l := range all {
		if !l.at.IsZero() && l.at.Before(f.Time.Add(time.Second)) {
			n = i + 1
		}
	}
	return n
}

func isHeld(words string, code int32) bool {
	var attempt int
	var ended int32
	_, err := fmt.Sscanf(words, heldFormat, &attempt, &ended)
	return err == nil && ended == code
}

// endsAttempt reports whether a line is the last of an attempt, after which another is run in the same container.
func endsAttempt(words string) bool {
	if !strings.HasPrefix(words, "genericjob wrapper: attempt ") {
		return false
	}
	var attempt, code int
	_, held := fmt.Sscanf(words, heldFormat, &attempt, &code)
	_, stopped := fmt.Sscanf(words, stoppedFormat, &attempt)
	return held == nil || stopped == nil
}

package run

import (
	"encoding/json"
	"io"
	"net"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

const (
	questionTimeout = time.Second
	largestQuestion = 1024 // bytes
)

// question is one that came in.
type question struct {
	order *inplace.Order // what it brings; nil: nothing
	reply chan inplace.Report
}

// serveReports talks to whoever connects.
func (w *wrapper) serveReports(listener net.Listener) {
	open := &connections{}
	for {
		c, err := listener.Accept()
		if err != nil {
			time.Sleep(time.Second) // too many open files, for example
			continue
		}
		v := open.add(c)
		if v == nil {
			_ = c.Close()
			continue
		}
		go func() {
			defer open.remove(v)
			w.serveReport(c, func() { open.trust(v) })
		}()
	}
}

// serveReport answers one question, of somebody who knows the pod.
func (w *wrapper) serveReport(c net.Conn, trust func()) {
	_ = c.SetDeadline(time.Now().Add(questionTimeout))
	var received inplace.Question
	if err := json.NewDecoder(io.LimitReader(c, largestQuestion)).Decode(&received); err != nil || received.Pod != w.podUID {
		return
	}
	trust()
	q := question{reply: make(chan inplace.Report)}
	if o, err := inplace.Parse(received.Order); err == nil {
		q.order = &o
	}
	w.questions <- q
	_ = json.NewEncoder(c).Encode(<-q.reply) // who has gone does not want to know
}

// reportOn obeys what a question brings, and answers it.
func (w *wrapper) reportOn(q question) inplace.Report {
	if q.order != nil {
		w.keepOrder(*q.order)
		w.obey()
	}
	held, ended := w.heldEnd, w.codeFailure
	if w.draining { // what it says is not complete yet
		held, ended = nil, nil
	}
	step, loss := w.signs.progress()
	furthest := w.furthest()
	if w.child == 0 {
		furthest = w.lastFurthest()
	}
	return inplace.Report{
		Pod: w.podUID, Attempt: w.reachedAttempt, Exits: w.Starts - 1, Held: held, Ended: ended, Step: step, Loss: loss, Furthest: furthest, Pace: w.pace(),
	}
}

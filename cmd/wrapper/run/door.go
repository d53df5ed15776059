package run

import (
	"encoding/json"
	"io"
	"net"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

const (
	manyQuestions   = 256 // at a time: strangers may connect, and say nothing
	questionTimeout = time.Second
	largestQuestion = 1024 // bytes
)

// question is one that came in.
type question struct {
	order *inplace.Order // what it brings; nil: nothing
	reply chan inplace.Report
}

// answer talks to whoever connects.
func (w *wrapper) answer(door net.Listener) {
	places := make(chan struct{}, manyQuestions)
	for {
		c, err := door.Accept()
		if err != nil {
			time.Sleep(time.Second) // too many open files, for example
			continue
		}
		select {
		case places <- struct{}{}:
			go func() {
				defer func() { <-places }()
				w.talk(c)
			}()
		default:
			_ = c.Close()
		}
	}
}

// talk answers one question, of somebody who knows the pod.
func (w *wrapper) talk(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(questionTimeout))
	var asked inplace.Question
	if err := json.NewDecoder(io.LimitReader(c, largestQuestion)).Decode(&asked); err != nil || asked.Pod != w.pod {
		return
	}
	q := question{reply: make(chan inplace.Report)}
	if o, err := inplace.Parse(asked.Order); err == nil {
		q.order = &o
	}
	w.asked <- q
	_ = json.NewEncoder(c).Encode(<-q.reply) // who has gone does not want to know
}

// reportOn obeys what a question brings, and answers it.
func (w *wrapper) reportOn(q question) inplace.Report {
	if q.order != nil {
		w.take(*q.order)
		w.obey()
	}
	step, loss := w.signs.progress()
	return inplace.Report{Pod: w.pod, At: w.at, Exits: w.Starts - 1, Held: w.held, Step: step, Loss: loss}
}

// take keeps an order, unless a later one is kept. It is written down before anything follows from it: the next wrapper of this pod,
// which may not see it in the volume yet, must not fall back behind what was reported as reached.
func (w *wrapper) take(o inplace.Order) {
	before := w.Order
	if before != nil && !o.After(*before) {
		return
	}
	w.Order = &o
	if w.save() != nil {
		w.Order = before // the volume will show it
	}
}

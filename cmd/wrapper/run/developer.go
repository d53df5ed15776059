package run

import (
	"encoding/json"
	"net"
	"os"
	"time"

	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// A developer may end the code of an attempt and begin it again, with other files: see package develop. The container goes on, so that is no restart.
// One developer is served at a time. The wrapper waits for nobody without end: if the developer leaves, or is silent for too long, it goes on by
// itself.
//
// Ranks are stopped one after another. A rank that loses its peer by that may fail before it is stopped itself. So a failure that comes when the
// developer is ready is taken for a stop.

// developer is somebody who is served.
type developer struct {
	ready     bool                  // no code is started, and a failure is no failure
	wasSilent bool                  // was silent for too long
	until     time.Time             // when the wrapper goes on by itself
	stopped   chan<- develop.Answer // who waits for the end of the code; nil if nobody does
}

// developerRequest is what a developer asks for. A request without a reply says that the developer leaves.
type developerRequest struct {
	from    *developer
	request develop.Request
	reply   chan<- develop.Answer
}

// listenForDevelopers opens the socket for developers. Code runs without it, too.
func (w *wrapper) listenForDevelopers() {
	w.developerRequests = make(chan developerRequest)
	socket := develop.Socket(w.dir)
	_ = os.Remove(socket) // of the container before
	listener, err := net.Listen("unix", socket)
	if err != nil {
		w.say("kubectl gj sync and restart will not work: %v", err)
		return
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				time.Sleep(time.Second) // too many open files, for example
				continue
			}
			go w.serve(c)
		}
	}()
}

// serve hears one developer to the end.
func (w *wrapper) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(develop.LongestVisit))
	d := &developer{}
	defer func() { w.developerRequests <- developerRequest{from: d} }()
	answers := json.NewEncoder(c)
	for requests := json.NewDecoder(c); ; {
		var request develop.Request
		if requests.Decode(&request) != nil {
			return
		}
		reply := make(chan develop.Answer, 1)
		w.developerRequests <- developerRequest{from: d, request: request, reply: reply}
		if answers.Encode(<-reply) != nil {
			return
		}
	}
}

// handleDeveloper does what a developer asks for, one at a time.
func (w *wrapper) handleDeveloper(q developerRequest) {
	switch {
	case q.reply == nil:
		if w.developer == q.from {
			w.developer = nil
		}
	case w.developer == nil && q.request.Do == develop.Open:
		w.developer = q.from
		q.reply <- develop.Answer{}
	case w.developer != q.from:
		q.reply <- develop.Answer{Busy: true}
	default:
		w.carryOut(w.developer, q)
	}
}

// carryOut does what the developer asks for who is served. It answers a stop later: see attendDeveloper.
func (w *wrapper) carryOut(d *developer, q developerRequest) {
	switch why := w.whyLeaving(); {
	case q.request.Do == develop.Ready && why != "":
		q.reply <- develop.Answer{Error: why}
	case q.request.Do == develop.Ready && !d.wasSilent:
		d.ready, d.until = true, time.Now().Add(w.stopTime(q.request.Grace)+w.patience)
		q.reply <- develop.Answer{}
	case q.request.Do == develop.Stop && d.ready:
		d.stopped = q.reply
		if w.child != 0 && !w.stopping && !w.hung {
			w.mustRunAgain = true
			w.stopWithin(w.stopTime(q.request.Grace))
		}
	case q.request.Do == develop.Start && d.ready:
		d.ready = false
		w.obey()
		q.reply <- w.answerToStart()
	default:
		q.reply <- develop.Answer{Error: "the wrapper cannot " + q.request.Do + " now: it goes on by itself if it hears nothing for " + w.patience.String()}
	}
}

// whyLeaving says why no code is begun again in this container.
func (w *wrapper) whyLeaving() string {
	switch {
	case w.podEnds || w.over:
		return "the pod is being ended"
	case w.hung:
		return "the code hangs, and is being ended"
	case w.heldEnd != nil:
		return "the code has failed, and waits for the operator to begin it again"
	default:
		return ""
	}
}

// stopTime is how long code may take to end that a developer stops.
func (w *wrapper) stopTime(grace time.Duration) time.Duration {
	if grace <= 0 || grace > w.grace {
		return w.grace
	}
	return grace
}

// attendDeveloper tells a developer that the code has stopped, and leaves one who is silent for too long.
func (w *wrapper) attendDeveloper() {
	d := w.developer
	switch {
	case d == nil:
	case d.stopped != nil && w.child == 0 && !w.draining:
		d.stopped <- develop.Answer{Error: w.whyLeaving()}
		d.stopped, d.until = nil, time.Now().Add(w.patience)
	case d.ready && d.stopped == nil && time.Now().After(d.until):
		w.say("a developer has stopped the code, and said nothing for %s: it goes on", w.patience)
		d.ready, d.wasSilent = false, true
	}
}

// answerToStart says what has come of a start.
func (w *wrapper) answerToStart() develop.Answer {
	if w.over {
		return develop.Answer{Error: "its command cannot be run: the container's log says why"}
	}
	return develop.Answer{Waits: w.child == 0}
}

// awaitsStart reports whether a developer has code not be started.
func (w *wrapper) awaitsStart() bool { return w.developer != nil && w.developer.ready }

// endedForDeveloper reports whether code that has ended by itself did so because a developer stops its peers.
func (w *wrapper) endedForDeveloper(code int) bool {
	return code != 0 && w.awaitsStart() && !w.hung && !w.podEnds && !w.stopping
}

// restore puts files that were synced in their place, in a container that has those of its image.
func (w *wrapper) restore() {
	dirs, err := develop.Restore(w.dir)
	if err != nil {
		w.say("the code that was synced into this pod is not all in its place: %v", err)
	}
	for _, dir := range dirs {
		w.say("the code that was synced into %s of this pod is there again", dir)
	}
}

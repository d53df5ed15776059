package faults_test

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// piece is a part of a watch's stream, and when it is to arrive.
type piece struct {
	data []byte
	due  time.Time
}

// stream passes a watch on. Its pieces come late, as late as the kind's events are at the moment, in their order; and the
// connection may be cut in mid-stream.
func (p *proxy) stream(w http.ResponseWriter, r *http.Request, c call, body io.ReadCloser) {
	flusher := w.(http.Flusher)
	flusher.Flush()
	var cutAt <-chan time.Time
	if p.storm.Load() && p.dice.next(10, "cut "+p.who+" "+c.kind) < 7 {
		cutAt = time.After(time.Duration(1000+p.dice.next(9000, "cut at "+c.kind)) * time.Millisecond)
	}
	pieces := p.read(c, body)
	for {
		select {
		case <-r.Context().Done():
			return
		case <-cutAt:
			p.dice.happened(cut)
			panic(http.ErrAbortHandler)
		case next, ok := <-pieces:
			if !ok {
				return
			}
			sleep(r.Context(), time.Until(next.due))
			if _, err := w.Write(next.data); err != nil {
				return
			}
			flusher.Flush()
		}
	}
}

// read reads a stream without ever keeping its sender waiting. It ends when the body is closed.
func (p *proxy) read(c call, body io.ReadCloser) <-chan piece {
	pieces := make(chan piece, 1<<14)
	go func() {
		defer close(pieces)
		buffer := make([]byte, 64<<10)
		for {
			n, err := body.Read(buffer)
			if n > 0 {
				next := piece{data: append([]byte(nil), buffer[:n]...), due: time.Now()}
				if lag := p.dice.lag(p.who, c.kind); p.storm.Load() && lag > 0 {
					p.dice.happened(lagging)
					next.due = next.due.Add(lag)
				}
				pieces <- next
			}
			if err != nil {
				return
			}
		}
	}()
	return pieces
}

// history is what the apiserver's resourceVersion was, and when.
type history struct {
	mu   sync.Mutex
	list []moment
}

type moment struct {
	at      time.Time
	version string
}

// note notes the present resourceVersion.
func (h *history) note(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, moment{time.Now(), version})
	if len(h.list) > 1000 {
		h.list = h.list[500:]
	}
}

// before is the resourceVersion as it was so long ago; "" if that is not known.
func (h *history) before(age time.Duration) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	limit := time.Now().Add(-age)
	for i := len(h.list) - 1; i >= 0; i-- {
		if !h.list[i].at.After(limit) {
			return h.list[i].version
		}
	}
	return ""
}

package run

import (
	"bytes"
	"os"
	"sync"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

const (
	// pumpSize is how many bytes of output are handed on at once: what a pipe holds.
	pumpSize = 64 << 10
	// flushTime is how long what has been written may take to be handed on when the code has ended. All that time passes only if nobody reads the
	// container's log any more.
	flushTime = 10 * time.Second
	// pollInterval is how often what is left of the code is killed meanwhile.
	pollInterval = 25 * time.Millisecond
)

// pump hands output on, unchanged and at once, and keeps the last of it. It looks for signs of life and progress in it if somebody wants them.
type pump struct {
	writeEnd *os.File // where the code writes
	readEnd  *os.File
	to       *os.File
	done     chan struct{} // closed when all is handed on

	want  *heartbeat
	signs *signs
	steps steps  // that it has reported; the signs guard them
	line  []byte // the beginning of a line of which no end has come

	mu     sync.Mutex
	kept   []byte    // the last output
	keptAt time.Time // when the last of it came
}

func newPump(to *os.File, want *heartbeat, s *signs) (*pump, error) {
	readEnd, writeEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &pump{writeEnd: writeEnd, readEnd: readEnd, to: to, done: make(chan struct{}), want: want, signs: s, line: make([]byte, 0, inplace.LongestLine)}
	go p.run()
	return p, nil
}

func (p *pump) run() {
	defer close(p.done)
	defer p.readEnd.Close()
	chunk := make([]byte, pumpSize)
	for {
		n, err := p.readEnd.Read(chunk)
		_, _ = p.to.Write(chunk[:n]) // who has closed it does not want to know, and the code must not wait for ever
		p.keep(chunk[:n])
		if p.want.readsLines() {
			p.split(chunk[:n])
		}
		if err != nil {
			p.endLine()
			return
		}
	}
}

// split finds lines. A carriage return ends one, too: progress bars write over their line.
func (p *pump) split(chunk []byte) {
	for {
		end := bytes.IndexAny(chunk, "\n\r")
		part := chunk
		if end >= 0 {
			part = chunk[:end]
		}
		p.line = append(p.line, part[:min(len(part), inplace.LongestLine-len(p.line))]...)
		if end < 0 {
			return
		}
		p.endLine()
		chunk = chunk[end+1:]
	}
}

func (p *pump) endLine() {
	if len(p.line) > 0 {
		p.signs.read(p.line, p.want, &p.steps)
	}
	p.line = p.line[:0]
}

// closeWriteEnds closes the wrapper's copies of the ends of pipes that the code writes to. So each pump ends once the code has closed its own.
func (w *wrapper) closeWriteEnds() {
	for _, p := range w.pumps {
		_ = p.writeEnd.Close()
	}
}

// flushOutput waits until all output has been handed on. What is left of the code is killed: it would end with the wrapper anyway, and keeps
// the pipes open.
func (w *wrapper) flushOutput() {
	timeout := time.After(flushTime)
	for _, p := range w.pumps {
		for over := false; !over; {
			killAll()
			select {
			case <-p.done:
				over = true
			case <-timeout:
				return
			case <-time.After(pollInterval):
			}
		}
	}
}

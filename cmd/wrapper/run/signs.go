package run

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/output"
)

// Heartbeat. Code of which nothing is seen for too long hangs: its stacks are asked for, then it is killed, and the container ends
// with output.HangCode. Only time counts in which this process runs: one that was frozen, with its code, has seen nothing and knows nothing.

const (
	// maxCountedPause is how much time counts at most between two looks.
	maxCountedPause = time.Second
	// fileInterval is how often the file is looked at.
	fileInterval = time.Second
	// maxQuoted is how many bytes are quoted of the last sign.
	maxQuoted = 60
)

// heartbeat is what is expected of code that does not hang.
type heartbeat struct {
	file            string         // whose mtime changes
	line            *regexp.Regexp // that matches lines of output
	progress        *regexp.Regexp // that matches lines which tell progress, and are no signs of life; nil if those of line tell it
	startup, steady time.Duration  // how long it may take from the start to the first sign, and from one to the next
}

func (h *heartbeat) define(flags *flag.FlagSet) {
	flags.StringVar(&h.file, "beat-file", "", "the file whose time of modification is the sign of life")
	compiled := func(to **regexp.Regexp) func(string) error {
		return func(text string) (err error) {
			*to, err = regexp.Compile(text)
			return err
		}
	}
	flags.Func("beat-line", "the regexp of lines of output that are signs of life", compiled(&h.line))
	flags.Func("progress-line", "the regexp of lines of output that tell progress, if it is not that of signs of life", compiled(&h.progress))
	flags.DurationVar(&h.startup, "beat-startup", 0, "how long code may take from its start to the first sign")
	flags.DurationVar(&h.steady, "beat-steady", 0, "how long code may take from one sign to the next")
}

func (h *heartbeat) isOn() bool { return h.file != "" || h.line != nil }

// readsLines reports whether lines of output are looked at.
func (h *heartbeat) readsLines() bool { return h.line != nil || h.progress != nil }

// signs are the signs of life of one attempt's code.
type signs struct {
	mu         sync.Mutex
	n          int
	last       string // what was seen last, in words
	step, loss string // see progress
	pace       pace
}

func (s *signs) see(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.last = what
}

func (s *signs) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// progress returns the last numbers that the output reported.
func (s *signs) progress() (step, loss string) {
	if s == nil {
		return "", ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.step, s.loss
}

// read looks for a sign of life and for progress in a line of output. The steps that this output has reported so far are in reported.
func (s *signs) read(line []byte, h *heartbeat, reported *steps) {
	line = inplace.WithoutColour(line)
	progress := cmp.Or(h.progress, h.line)
	found := progress.FindSubmatchIndex(line)
	if h.line != nil && (found != nil && progress == h.line || progress != h.line && h.line.Match(line)) {
		s.see(quoted(line))
	}
	if found == nil {
		return
	}
	number := func(name string) string { return inplace.NumberIn(line, progress, found, name) }
	s.mu.Lock()
	defer s.mu.Unlock()
	step := number("step")
	reported.see(step)
	s.step, s.loss = cmp.Or(step, s.step), cmp.Or(number("loss"), s.loss)
	s.pace.read(step, time.Now())
}

// quoted quotes the beginning of a line, in at most twice as many bytes as are quoted of it.
func quoted(line []byte) string {
	line = line[:min(len(line), maxQuoted)]
	text := strconv.Quote(string(line))
	for len(text) > 2*maxQuoted {
		line = line[:len(line)-1]
		text = strconv.Quote(string(line))
	}
	return text
}

// watchFile looks at the file until told to stop. It does so beside the loop: a file system that hangs is no sign of life. watchFile says when it
// knows how the file was before the start.
func (s *signs) watchFile(name string, known chan<- struct{}, unwatch <-chan struct{}) {
	modified := func() (at time.Time) {
		if info, err := os.Stat(name); err == nil {
			at = info.ModTime()
		}
		return at
	}
	last := modified()
	close(known)
	tick := time.NewTicker(fileInterval)
	defer tick.Stop()
	for {
		select {
		case <-unwatch:
			return
		case <-tick.C:
		}
		if at := modified(); !at.IsZero() && !at.Equal(last) {
			last = at
			s.see("modified at " + at.UTC().Format(time.RFC3339))
		}
	}
}

// watchSigns begins to look for signs of an attempt's code. Files are its standard output and error.
func (w *wrapper) watchSigns() (files []uintptr, err error) {
	files = []uintptr{0, 1, 2}
	w.unwatchSigns()
	w.signs, w.unwatchFile, w.pumps = &signs{}, make(chan struct{}), nil
	w.watch = hangWatch{countedAt: w.watch.countedAt, trainingCheckedAt: w.watch.trainingCheckedAt}
	if w.beat.file != "" {
		known := make(chan struct{})
		go w.signs.watchFile(w.beat.file, known, w.unwatchFile)
		select {
		case <-known:
		case <-time.After(fileInterval):
		}
	}
	for i, to := range []*os.File{os.Stdout, os.Stderr} {
		if !w.beat.readsLines() && (!w.readsOutput || isCharacterDevice(to)) { // code sees a terminal as before
			continue
		}
		p, err := newPump(to, &w.beat, w.signs)
		if err != nil {
			w.closeWriteEnds() // of the pump before: else flushOutput waits for its end
			return nil, err
		}
		w.pumps = append(w.pumps, p)
		files[i+1] = p.writeEnd.Fd()
	}
	return files, nil
}

// unwatchSigns stops looking for signs of the attempt before.
func (w *wrapper) unwatchSigns() {
	if w.unwatchFile != nil {
		close(w.unwatchFile)
		w.unwatchFile = nil
	}
}

// endIfHung ends code that hangs.
func (w *wrapper) endIfHung() {
	if w.lookForSigns(time.Now()) {
		w.endHungCode()
	}
}

// lookForSigns counts the signs and the silence, and reports whether nothing was seen of the code for too long. Code that was told to
// stop, or has not been started, does not hang.
func (w *wrapper) lookForSigns(now time.Time) (hangs bool) {
	passed := min(now.Sub(w.watch.countedAt), maxCountedPause)
	w.watch.countedAt = now
	if !w.beat.isOn() || w.child == 0 || w.stopping || w.podEnds || w.hung {
		return false
	}
	w.watch.silence += passed
	if n := w.signs.count(); n > w.watch.signsSeen {
		w.watch.signsSeen, w.watch.silence = n, 0
	}
	limit := w.beat.steady
	if w.watch.signsSeen == w.watch.signsBefore {
		limit = w.beat.startup
	}
	if w.watch.silence < limit && now.Sub(w.watch.trainingCheckedAt) < trainingCheckInterval {
		return false
	}
	w.watch.trainingCheckedAt = now
	if w.hasOtherTraining() {
		w.watch.signsBefore, w.watch.silence = w.watch.signsSeen, 0
	}
	return w.watch.silence >= limit
}

// endHungCode ends code that hangs. It asks each process to print its stacks, and then kills the processes that are left.
func (w *wrapper) endHungCode() {
	w.watch.missingSign = w.silentFor()
	w.say("%s", w.watch.missingSign)
	if err := w.writeTerminationMessage(w.watch.missingSign); err != nil {
		w.say("%v", err)
	}
	dumped := make(chan time.Time, 1)
	w.hung, w.stop.timer = true, dumped
	go func(list []process) {
		dumpStacks(list)
		dumped <- time.Now()
	}(descendants())
}

// writeHangStack adds to the termination message of code that hangs where it hangs, as its stacks show.
func (w *wrapper) writeHangStack() {
	w.awaitOutput()
	said := output.Failure{}
	for _, p := range w.pumps {
		text, _ := p.end(maxKept)
		if said = output.Hangs(text); said.Frame != "" {
			break
		}
	}
	said.Output, said.Step = w.watch.missingSign, w.lastFurthest()
	if err := w.writeTerminationMessage(said.Text(inplace.MaxMessage)); err != nil {
		w.say("%v", err)
	}
}

// silentFor says which sign was expected, and what was seen last. If the wrapper may not read the output, it quotes no line of it.
func (w *wrapper) silentFor() string {
	what := "no line of output matched"
	if w.beat.file != "" {
		what = fmt.Sprintf("file %.*s was not modified", maxQuoted, w.beat.file)
	}
	if w.watch.signsSeen == w.watch.signsBefore {
		return fmt.Sprintf(output.HangBegins+"%s within %.0f s of the start (startupSeconds)", what, w.beat.startup.Seconds())
	}
	silent := fmt.Sprintf(output.HangBegins+"%s for %.0f s (steadySeconds)", what, w.beat.steady.Seconds())
	if w.beat.line != nil && !w.readsOutput {
		return silent
	}
	w.signs.mu.Lock()
	defer w.signs.mu.Unlock()
	return silent + ", last: " + w.signs.last
}

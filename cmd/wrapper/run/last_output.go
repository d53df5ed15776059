package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/output"
)

// Last words. The wrapper keeps the end of what the code prints. Once the code has failed, it finds there which process failed, by which exception,
// and where. The kubelet alone would report the last 2 KiB, which may be the words of a launcher or of the wrapper. Nothing is read while the code
// runs.

const (
	// maxKept is how many bytes are kept of an output at least.
	maxKept = 128 << 10
	// maxSaved is how many of them outlive the container.
	maxSaved = 64 << 10
	// settleTime is how long the end of the output may take to come, once all processes are gone.
	settleTime = 2 * time.Second
)

// keep keeps the end of an output.
func (p *pump) keep(chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = append(p.kept, chunk...)
	if len(p.kept) > 2*maxKept {
		p.kept = append(p.kept[:0], p.kept[len(p.kept)-maxKept:]...)
	}
	p.keptAt = time.Now()
}

// end returns the last output, up to a number of bytes, and when it came.
func (p *pump) end(limit int) (text string, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.kept[max(0, len(p.kept)-limit):]), p.keptAt
}

// lastOutput returns what the last output of the code says of its end, by output.Read.
func (w *wrapper) lastOutput() string {
	var best output.Failure
	var last time.Time
	for _, p := range w.pumps {
		text, at := p.end(maxKept)
		said := output.Read(text)
		switch tells := said.Sentence() != "" || said.Follows != ""; {
		case tells && best.Sentence() == "":
			best, last = said, time.Now()
		case !tells && at.After(last):
			best, last = said, at
		}
	}
	best.Output = strings.TrimSpace(best.Output)
	best.Classify()
	best.Step = w.lastFurthest()
	return best.Text(inplace.MaxMessage)
}

// writeEnd leaves the last words of code that has failed, and the end of its output for the next wrapper of the pod.
func (w *wrapper) writeEnd(code int) {
	if code == 0 || !w.readsOutput || len(w.pumps) == 0 { // a heartbeat has pumps, too
		return
	}
	if w.messageFile != "" && w.readTerminationMessage() == "" {
		if err := w.writeTerminationMessage(w.lastOutput()); err != nil {
			w.say("%v", err)
		}
	}
	if w.podEnds || w.fixedOrder != nil {
		return
	}
	for _, p := range w.pumps {
		text, _ := p.end(maxSaved)
		if err := os.WriteFile(w.savedOutput(p.to), []byte(text), 0o644); err != nil { // a container that is started again may have another user
			w.say("%v", err)
		}
	}
	w.EarlierExitCode = code
	if err := w.save(); err != nil {
		w.say("%v", err)
	}
}

// savedOutput returns the file with the last output of the container before.
func (w *wrapper) savedOutput(to *os.File) string {
	name := "stderr"
	if to == os.Stdout {
		name = "stdout"
	}
	return filepath.Join(w.dir, "state", name)
}

// printEarlierOutput prints the last words of the code in the container before this one. A kubelet keeps the log of only one ended container, and
// this one ends without having run code.
func (w *wrapper) printEarlierOutput() {
	if w.EarlierExitCode == 0 {
		return
	}
	for _, to := range []*os.File{os.Stdout, os.Stderr} {
		text, err := os.ReadFile(w.savedOutput(to))
		if err != nil || len(text) == 0 {
			continue
		}
		fmt.Fprintf(to, inplace.RepeatFormat+"%s", w.Ran, w.EarlierExitCode, text)
	}
}

// dropOutput drops the output of the code before.
func (w *wrapper) dropOutput() {
	w.EarlierExitCode, w.codeFailure = 0, nil
	for _, to := range []*os.File{os.Stdout, os.Stderr} {
		_ = os.Remove(w.savedOutput(to))
	}
}

// noteFailure notes how the code has failed. Asked says that it had been told to end.
func (w *wrapper) noteFailure(code int, asked bool) {
	w.codeFailure = &inplace.End{Attempt: w.Ran, Code: int32(code), Began: w.codeStartedAt.UTC(), Ended: time.Now().UTC(), Message: w.readTerminationMessage(), Asked: asked}
}

// addOutput adds what the output says to the noted failure, or to the message of a hang. It runs when no process of the code is left.
func (w *wrapper) addOutput() {
	if w.hung && w.readsOutput {
		w.writeHangStack()
	}
	if w.codeFailure == nil || w.codeFailure.Message != "" || !w.readsOutput {
		return
	}
	w.awaitOutput()
	w.codeFailure.Message = w.lastOutput()
}

// clearTerminationMessage clears the message of code that begins again: it did not fail.
func (w *wrapper) clearTerminationMessage() {
	if !w.mustRunAgain || w.podEnds {
		return
	}
	if err := w.writeTerminationMessage(""); err != nil {
		w.say("%v", err)
	}
}

// awaitOutput waits a moment for the end of the output, when no process of the code is left.
func (w *wrapper) awaitOutput() {
	timeout, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	for _, p := range w.pumps {
		select {
		case <-p.done:
		case <-timeout.Done(): // a channel of time's would tell only the first of two
		}
	}
}

// writeTerminationMessage writes the container's termination message.
func (w *wrapper) writeTerminationMessage(message string) error {
	if w.messageFile == "" {
		return nil
	}
	if err := os.WriteFile(w.messageFile, []byte(message), 0o644); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// readTerminationMessage returns the end of the termination message that the code has written; "" if it cannot be read.
func (w *wrapper) readTerminationMessage() string {
	f, err := os.Open(w.messageFile)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	} else if n := info.Size(); n > inplace.MaxMessage {
		if _, err := f.Seek(-inplace.MaxMessage, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, inplace.MaxMessage))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "")
}

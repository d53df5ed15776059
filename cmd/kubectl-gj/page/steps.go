package page

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Steps are what the log of one replica tells of its progress.
type Steps struct {
	Replica string
	Points  []Point
	// NotFinite is how many lines reported a loss such as nan, and FirstNotFinite is the first step of these.
	NotFinite      int
	FirstNotFinite *int64
	// Cut says that the log was longer than is read, or that it was cut off.
	Cut bool
}

// Point is what one line tells. Its loss is NaN if it tells none.
type Point struct {
	At   time.Time
	Step int64
	Loss float64
	// Told says that the line has the step itself.
	Told bool
	// Run counts how often the steps began anew.
	Run int
}

// mostRead is how much of a log is read: three times of what a kubelet keeps by default.
const mostRead = 32 << 20

// Add reads a log whose lines begin with their times. The lines that tell progress are those that the operator's wrapper takes for that.
func (s *Steps) Add(log io.Reader, line *spec.ProgressLine) error {
	pattern, err := regexp.Compile(line.Pattern)
	if err != nil {
		return fmt.Errorf("read the expression of spec.progress: %w", err)
	}
	for lines := bufio.NewReaderSize(log, inplace.LongestLine+64); ; {
		text, err := lines.ReadString('\n')
		if stamp, said, timed := strings.Cut(text, " "); timed {
			at, wrong := time.Parse(time.RFC3339Nano, stamp)
			if wrong == nil && inplace.IsRepeat(said) { // with the times at which it is repeated
				return nil
			}
			for _, piece := range strings.FieldsFunc(said, func(r rune) bool { return r == '\r' || r == '\n' }) {
				if wrong == nil {
					s.read(at, []byte(piece[:min(len(piece), inplace.LongestLine)]), pattern)
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			s.Cut = true
			return nil
		}
	}
}

// read takes a line.
func (s *Steps) read(at time.Time, line []byte, pattern *regexp.Regexp) {
	line = inplace.WithoutColour(line)
	found := pattern.FindSubmatchIndex(line)
	if found == nil {
		return
	}
	step, ok := number(inplace.NumberIn(line, pattern, found, "step"))
	loss, tells := number(inplace.NumberIn(line, pattern, found, "loss"))
	p := Point{At: at, Loss: math.NaN(), Told: ok && step >= 0 && step < 1<<53}
	if !p.Told && !tells {
		return
	}
	s.place(&p, int64(step))
	if tells {
		s.lose(&p, loss)
	}
	s.Points = append(s.Points, p)
}

// place gives a point its step, and its run: where steps fall, code has gone on from a checkpoint.
func (s *Steps) place(p *Point, step int64) {
	if n := len(s.Points); n > 0 {
		p.Step, p.Run = s.Points[n-1].Step, s.Points[n-1].Run
	}
	if !p.Told {
		return
	}
	if step < p.Step {
		p.Run++
	}
	p.Step = step
}

// lose gives a point its loss, if that is finite.
func (s *Steps) lose(p *Point, loss float64) {
	if !math.IsNaN(loss) && !math.IsInf(loss, 0) {
		p.Loss = loss
		return
	}
	if s.NotFinite++; s.NotFinite == 1 {
		step := p.Step
		s.FirstNotFinite = &step
	}
}

// number returns the number that a text is, if it is not empty.
func number(text string) (n float64, ok bool) {
	n, _ = strconv.ParseFloat(text, 64) // what is out of range is infinite
	return n, text != ""
}

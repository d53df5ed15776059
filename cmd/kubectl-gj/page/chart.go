package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
)

// The measures of a chart.
const (
	chartWidth  px = 490
	chartHeight px = 230
	chartLeft   px = 52
	chartTop    px = 12
	chartWide   px = chartWidth - chartLeft - 18
	chartTall   px = chartHeight - chartTop - 44
)

// Progress is how far the code has come.
type Progress struct {
	Step, Loss, Told string
	// Charts are curves of a log; Source says of which, and Note why there are none.
	Charts       []*Chart
	Source, Note string
}

// Chart is a drawing of curves.
type Chart struct {
	ID, Title, Desc, XName, YName    string
	Width, Height                    px
	Left, Top, Right, Bottom, Middle px
	XTicks, YTicks                   []tick
	Lines                            []Line
}

// Line is a curve, or the dot of a single point.
type Line struct {
	Is, D, Title string
	Dots         []Dot
}

// Dot is a point of a curve.
type Dot struct{ X, Y px }

// progress returns what the status tells, and the log.
func (in *Input) progress() Progress {
	out := Progress{}
	if s := in.Family.Status().Progress; s != nil {
		if s.Step != nil {
			out.Step = fmt.Sprint(*s.Step)
		}
		out.Loss = s.Loss
		if !s.Time.IsZero() {
			out.Told = stamp(s.Time.Time)
			if early := in.Family.ProgressEarly(); early != "" {
				out.Told += ", " + early + " before the end"
			}
		}
	}
	if in.Steps == nil || len(in.Steps.Points) == 0 {
		out.Note = "There is no curve: the status has the newest step alone, and no log was read that tells others."
		return out
	}
	from, to := in.window()
	out.Source, out.Charts = in.Steps.source(), in.Steps.charts(from, to)
	return out
}

// source says of which log curves are, and what of it is not drawn.
func (s *Steps) source() string {
	text := fmt.Sprintf("From the log of %s, in which %d lines tell progress.", s.Replica, len(s.Points))
	if runs := s.Points[len(s.Points)-1].Run + 1; runs > 1 {
		text += " Where code went on from a checkpoint, steps begin anew: each run has a line of its own" + drawn(runs) + "."
	}
	if s.Cut {
		text += " The log was longer, or reading it ended early."
	}
	switch {
	case s.NotFinite > 0 && s.tellSteps():
		text += fmt.Sprintf(" %s reported a loss that is no finite number, the first at step %d: not drawn.", plural.Count(s.NotFinite, "line"), *s.FirstNotFinite)
	case s.NotFinite > 0:
		text += fmt.Sprintf(" %s reported a loss that is no finite number: not drawn.", plural.Count(s.NotFinite, "line"))
	}
	return text
}

// tellSteps reports whether lines tell steps, and not losses alone.
func (s *Steps) tellSteps() bool {
	return slices.ContainsFunc(s.Points, func(p Point) bool { return p.Told })
}

// charts returns the curves of the loss and of the steps, as far as they are known.
func (s *Steps) charts(from, to time.Time) (out []*Chart) {
	loss := s.byTime("loss", "Loss by time", "loss", from, to, Point.loss)
	if s.tellSteps() {
		loss = s.lossByStep()
	}
	steps := s.byTime("steps", "Steps by time", "step", from, to, func(p Point) (float64, bool) { return float64(p.Step), p.Told })
	return slices.DeleteFunc([]*Chart{loss, steps}, func(c *Chart) bool { return c == nil })
}

// at is a point of a curve by its two numbers.
type at struct{ x, y float64 }

// loss returns a point's loss, if it has one.
func (p Point) loss() (float64, bool) { return p.Loss, !math.IsNaN(p.Loss) }

// lossByStep returns a chart; nil if no line reported a loss.
func (s *Steps) lossByStep() *Chart {
	c := newChart("loss", "Loss by step", "step", "loss")
	runs := s.runs(func(p Point) (at, bool) {
		loss, tells := p.loss()
		return at{float64(p.Step), loss}, tells
	})
	if !c.fit(runs) {
		return nil
	}
	x := newScale(c.low.x, c.high.x, 5)
	c.XTicks = x.ticks(c.Left, chartWide)
	c.draw(runs, x)
	return &c.Chart
}

// byTime returns a chart of what lines tell; nil if none did. Its time is that of the job.
func (s *Steps) byTime(id, title, name string, from, to time.Time, value func(Point) (float64, bool)) *Chart {
	c := newChart(id, title, "since the job was created", name)
	runs := s.runs(func(p Point) (at, bool) {
		y, tells := value(p)
		return at{within(p.At, from, to).Sub(from).Seconds(), y}, tells
	})
	if !c.fit(runs) {
		return nil
	}
	c.XTicks = timeTicks(to.Sub(from), c.Left, chartWide, 5)
	c.draw(runs, scale{0, to.Sub(from).Seconds(), 1})
	return &c.Chart
}

// runs returns the curves of points that tell something, one for each run.
func (s *Steps) runs(of func(Point) (at, bool)) (out [][]at) {
	last := -1
	for _, p := range s.Points {
		point, tells := of(p)
		if !tells {
			continue
		}
		if p.Run != last {
			out, last = append(out, nil), p.Run
		}
		out[len(out)-1] = append(out[len(out)-1], point)
	}
	return out
}

// chart is one that is being drawn.
type chart struct {
	Chart
	low, high at
}

func newChart(id, title, x, y string) *chart {
	return &chart{Chart: Chart{ID: id, Title: title, XName: x, YName: y, Width: chartWidth, Height: chartHeight, Left: chartLeft, Top: chartTop,
		Right: chartLeft + chartWide, Bottom: chartTop + chartTall, Middle: chartLeft + chartWide/2}}
}

// fit finds the bounds of all curves; false if there is no point.
func (c *chart) fit(runs [][]at) bool {
	c.low, c.high = at{math.Inf(1), math.Inf(1)}, at{math.Inf(-1), math.Inf(-1)}
	for _, run := range runs {
		for _, p := range run {
			c.low, c.high = at{min(c.low.x, p.x), min(c.low.y, p.y)}, at{max(c.high.x, p.x), max(c.high.y, p.y)}
		}
	}
	return len(runs) > 0
}

// mostRuns is how many runs have a line of their own: of more, the last ones. A file of many restarts stays small.
const mostRuns = 30

// drawn says how many of so many runs are drawn; "" if all are.
func drawn(runs int) string {
	if runs <= mostRuns {
		return ""
	}
	return fmt.Sprintf(", of %d the last %d", runs, mostRuns)
}

// draw draws the curves.
func (c *chart) draw(runs [][]at, x scale) {
	y := newScale(c.low.y, c.high.y, 5)
	c.YTicks = y.ticks(c.Bottom, -chartTall)
	c.Desc = fmt.Sprintf("%s: %s from %s to %s, in %s.", c.Title, c.YName, numeral(c.low.y, y.step/100), numeral(c.high.y, y.step/100), plural.Count(len(runs), "run")+drawn(len(runs)))
	first := max(0, len(runs)-mostRuns)
	for i, run := range runs[first:] {
		line := Line{Is: []string{"solid", "dashed", "dotted"}[(first+i)%3], Title: fmt.Sprintf("run %d", first+i+1)}
		var d strings.Builder
		for j, p := range thin(run, max(4, 400/min(len(runs), mostRuns))) {
			verb := "L"
			if j == 0 {
				verb = "M"
			}
			fmt.Fprintf(&d, "%s%s %s", verb, x.at(p.x, c.Left, chartWide), y.at(p.y, c.Bottom, -chartTall))
		}
		if line.D = d.String(); len(run) == 1 {
			line.Dots = []Dot{{x.at(run[0].x, c.Left, chartWide), y.at(run[0].y, c.Bottom, -chartTall)}}
		}
		c.Lines = append(c.Lines, line)
	}
}

// thin leaves out points that nobody could tell apart: of each of so many pieces the first, the lowest, the highest and the last stay.
func thin(run []at, most int) (out []at) {
	if len(run) <= most {
		return run
	}
	pieces := max(1, most/4)
	for i := range pieces {
		piece := run[i*len(run)/pieces : (i+1)*len(run)/pieces]
		low, high, last := 0, 0, len(piece)-1
		for j := range piece {
			if piece[j].y < piece[low].y {
				low = j
			}
			if piece[j].y > piece[high].y {
				high = j
			}
		}
		keep := []int{0, min(low, high), max(low, high), last}
		for _, j := range slices.Compact(keep) {
			out = append(out, piece[j])
		}
	}
	return out
}

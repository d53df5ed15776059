package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// The measures of the timeline. A browser makes it as wide as its window.
const (
	pageWidth px = 1000
	lineLeft  px = 132
	lineWidth px = 725
	jobTop    px = 10
	jobTall   px = 24
	rowGap    px = 4
	// nameWide and nowWide are how many characters have room to the left and to the right of a row.
	nameWide, nowWide = 19, 24
)

// Timeline is the drawing of a job and its replicas over time.
type Timeline struct {
	Width, Height px
	// Left, Right and Bottom are the edges of what has a time; Foot is where words below it stand.
	Left, Right, Bottom, Foot px
	Begin, End, Desc          string
	JobRow                    Row
	Rows                      []Row
	Ticks                     []tick
	// Cuts are the times at which a loss began.
	Cuts []px
	// States and Letters are the legend: those that are drawn.
	States  []Key
	Letters []Key
	// Note says what is not drawn.
	Note string
}

// Row is a line of the timeline.
type Row struct {
	Y, Tall, Text    px // Text is where its words stand
	Name, Now, Title string
	Shapes           []Shape
	Symbols          []Symbol
}

// Shape is a piece of a row in one state, or several of them.
type Shape struct {
	Is    state
	D     string
	Title string
}

// Symbol is something that happened to a replica.
type Symbol struct {
	X, Y, Text px
	Letter     letter
	Title      string
}

// Key is a line of a legend.
type Key struct{ Is, Words string }

// timeline draws the life of the job; nil if it has no GenericJob yet.
func (in *Input) timeline() *Timeline {
	if in.Family.GenericJob == nil {
		return nil
	}
	from, to := in.window()
	jobRow := in.jobSpans(from, to)
	t := &Timeline{Width: pageWidth, Left: lineLeft, Right: lineLeft + lineWidth, Begin: stamp(from), End: stamp(to)}
	d := drawing{t, from, to, map[string]bool{}}
	t.JobRow = Row{Y: jobTop, Tall: jobTall, Text: jobTop + jobTall/2 + 4, Name: "the job", Title: "what the time of the job was spent on", Shapes: d.spans(jobRow, jobTop, jobTall, "the job")}
	y := jobTop + jobTall + 3*rowGap
	for _, r := range rows(in.replicas(jobRow, from, to)) {
		t.Rows = append(t.Rows, d.row(r, y))
		y += px(r.height()) + rowGap
	}
	t.Bottom, t.Foot = y, y+15
	t.Height = y + 36
	t.Ticks = timeTicks(to.Sub(from), t.Left, lineWidth, 8)
	for _, s := range jobRow {
		if slices.Contains(losses, v1beta1.TimeCause(s.is)) && s.from.After(from) {
			t.Cuts = append(t.Cuts, d.x(s.from))
		}
	}
	d.legend()
	t.Desc = describe(jobRow, len(t.Rows))
	t.Note = in.unknown(jobRow)
	return t
}

// losses are the causes of time that was lost.
var losses = []v1beta1.TimeCause{v1beta1.TimeLostToRestart, v1beta1.TimeLostToHang, v1beta1.TimeLostToDisruption, v1beta1.TimeLostToNode}

// unknown says why there is time of which nothing is known; "" if there is none.
func (in *Input) unknown(jobRow []span) string {
	switch {
	case !slices.ContainsFunc(jobRow, func(s span) bool { return s.is == stateUnknown }):
		return ""
	case in.Family.Status().Time == nil:
		return "The operator has not kept what this job's time was spent on."
	case in.History == nil:
		return "The status has sums of the job's time, and no list of when what came: before the interval that goes on, nothing is drawn."
	default:
		return "The status lists the last events of the job's time. What came before is in the sums of time spent, and not drawn."
	}
}

// describe says what the drawing shows, for those who do not see it.
func describe(jobRow []span, rows int) string {
	var parts []string
	for _, s := range jobRow {
		if len(parts) == 30 {
			parts = append(parts, "and so on")
			break
		}
		parts = append(parts, fmt.Sprintf("%s for %s", words(s.is), spell(s.to.Sub(s.from))))
	}
	return fmt.Sprintf("The job, in the order of time: %s. Below are %d rows of replicas.", strings.Join(parts, ", "), rows)
}

// spell returns a time in words. Where the clocks of cluster and reader differ, something may not have begun yet: then it is none.
func spell(d time.Duration) string { return jobs.Spell(int64(max(0, d) / time.Second)) }

// drawing is a timeline that is being drawn, with what its legend needs.
type drawing struct {
	*Timeline
	from, to time.Time
	used     map[string]bool
}

func (d *drawing) x(t time.Time) px {
	return d.Left + lineWidth*px(within(t, d.from, d.to).Sub(d.from))/px(d.to.Sub(d.from))
}

// row draws a replica, or a band of them.
func (d *drawing) row(r row, y px) Row {
	tall := px(r.height())
	out := Row{Y: y, Tall: tall, Text: y + tall/2 + 4, Name: brief(r.name(), nameWide), Now: brief(r.now(), nowWide), Title: r.name() + ": " + r.now()}
	if len(r.replicas) == 1 {
		one := r.replicas[0]
		out.Title = join(out.Title, on(one.node))
		out.Title = join(out.Title, one.why)
		out.Shapes = d.spans(one.spans, y, tall, one.name)
	} else {
		out.Shapes = d.shares(r, y, tall)
	}
	out.Symbols = d.symbols(r, y, tall)
	return out
}

// brief returns as much of a text as there is room for beside a row, whose title has all of it.
func brief(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func on(node string) string {
	if node == "" {
		return ""
	}
	return "on " + node
}

// spans draws each span by itself.
func (d *drawing) spans(list []span, y, tall px, who string) (out []Shape) {
	for _, s := range list {
		if s.is == "" {
			continue
		}
		d.used[string(s.is)] = true
		left := d.x(s.from)
		out = append(out, Shape{s.is, fmt.Sprintf("M%s %sh%sv%sH%sz", left, y, max(0.8, d.x(s.to)-left), tall, left),
			fmt.Sprintf("%s: %s for %s, from %s to %s", who, words(s.is), spell(s.to.Sub(s.from)), clock(s.from), clock(s.to))})
	}
	return out
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// shares draws how many of a band were in which state: one shape for each.
func (d *drawing) shares(r row, y, tall px) (out []Shape) {
	x := func(slot int) px { return d.Left + lineWidth*px(slot)/slots }
	for _, s := range r.shares(d.from, d.to) {
		d.used[string(s.is)] = true
		piece := fmt.Sprintf("M%s %sH%sV%sH%sz", x(s.from), y+tall*px(1-s.above), x(s.to), y+tall*px(1-s.below), x(s.from))
		if n := len(out); n > 0 && out[n-1].Is == s.is {
			out[n-1].D += piece
			continue
		}
		out = append(out, Shape{s.is, piece, r.name() + ": how many " + words(s.is)})
	}
	return out
}

// merged is how near symbols of one letter are that are drawn as one.
const merged px = 14

// symbols draws what happened to replicas of a row.
func (d *drawing) symbols(r row, y, tall px) (out []Symbol) {
	for i := range slices.Backward(letters) {
		is := letters[i].letter
		var last *Symbol
		n, first, who := 0, "", map[string]bool{}
		for _, m := range ofLetter(r, is) {
			if x := d.x(m.at); last != nil && x-last.X < merged {
				n++
				who[m.who] = true
				last.Title = several(n, len(who), letters[i].words, first)
				continue
			}
			n, first, who = 1, clock(m.at), map[string]bool{m.who: true}
			d.used[string(is)] = true
			out = append(out, Symbol{X: d.x(m.at), Y: y + tall/2, Text: y + tall/2 + 3.5, Letter: is, Title: m.who + " at " + clock(m.at) + ": " + m.text})
			last = &out[len(out)-1]
		}
	}
	return out
}

// several says what happened so many times, to so many replicas.
func several(times, replicas int, words, first string) string {
	if times > replicas {
		return fmt.Sprintf("%d times: %s; the first at %s", times, words, first)
	}
	return fmt.Sprintf("%d replicas %s, the first at %s", replicas, words, first)
}

// happened is a symbol with its replica.
type happened struct {
	symbol
	who string
}

// ofLetter returns the symbols of a letter in a row, in the order of time.
func ofLetter(r row, is letter) (out []happened) {
	for _, one := range r.replicas {
		for _, m := range one.symbols {
			if m.letter == is {
				out = append(out, happened{m, one.name})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b happened) int { return a.at.Compare(b.at) })
	return out
}

// legend lists what was drawn.
func (d *drawing) legend() {
	for _, s := range states {
		if d.used[string(s.is)] {
			d.States = append(d.States, Key{string(s.is), s.words})
		}
	}
	for _, l := range letters {
		if d.used[string(l.letter)] {
			d.Letters = append(d.Letters, Key{string(l.letter), l.words})
		}
	}
}

// states are what a span can be, in words, in the order of legends.
var states = []struct {
	is    state
	words string
}{
	{state(v1beta1.TimeProductive), "training: all replicas run"},
	{state(v1beta1.TimeStarting), "starting"},
	{state(v1beta1.TimeQueued), "queued"},
	{state(v1beta1.TimePaused), "paused, or in debug mode"},
	{state(v1beta1.TimeLostToRestart), "lost to a failure"},
	{state(v1beta1.TimeLostToHang), "lost to a hang"},
	{state(v1beta1.TimeLostToDisruption), "lost to a disruption"},
	{state(v1beta1.TimeLostToNode), "lost to a node"},
	{stateUnknown, "not known"},
	{stateRunning, "its container runs"},
	{stateRan, "all ran or had finished; its pod is gone"},
	{stateEarlier, "earlier runs, of which no times are kept"},
	{statePending, "waits for a node, an image or its start"},
	{stateBarrier, "waits at the barrier for the others"},
	{stateStopping, "is asked to stop"},
	{stateLost, "its node is not Ready"},
}

func words(is state) string {
	for _, s := range states {
		if s.is == is {
			return s.words
		}
	}
	return string(is)
}

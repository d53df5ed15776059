package page

import (
	"math"
	"strconv"
	"time"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// px is a length in a drawing. It is written with one digit behind the point at most.
type px float64

// String implements fmt.Stringer.
func (p px) String() string { return strconv.FormatFloat(math.Round(float64(p)*10)/10, 'f', -1, 64) }

// tick is a line of a grid with its words.
type tick struct {
	At   px
	Text string
}

// steps are those of an axis of time.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour,
	28 * 24 * time.Hour, 91 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// timeTicks returns the ticks of a time that begins at 0. Between them are at most so many steps, unless it takes more years.
func timeTicks(length time.Duration, left, width px, most int) (out []tick) {
	step := steps[len(steps)-1]
	for _, s := range steps {
		if length/s <= time.Duration(most) {
			step = s
			break
		}
	}
	for i := range length/step + 1 { // a length may be the longest that there is
		at := i * step
		out = append(out, tick{left + width*px(at)/px(length), jobs.Spell(int64(at / time.Second))})
	}
	return out
}

// scale is an axis of numbers: from which to which it goes, and at which steps its ticks are.
type scale struct{ from, to, step float64 }

// huge is where an axis ends at the latest: what is beyond it, is drawn at its edge.
const huge = 1e300

// newScale returns a scale that has room for the numbers from low to high. It has about so many steps, of 1, 2 or 5 times a power of ten.
func newScale(low, high float64, about int) scale {
	low, high = max(low, -huge), min(high, huge)
	if high-low < 1/huge { // one number alone
		low, high = low-math.Max(1, math.Abs(low))/10, high+math.Max(1, math.Abs(high))/10
	}
	raw := (high - low) / float64(about)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, n := range []float64{1, 2, 5} {
		if n*power >= raw {
			step = n * power
			break
		}
	}
	return scale{math.Floor(low/step) * step, math.Ceil(high/step) * step, step}
}

// ticks returns the ticks of the scale, on an axis that begins at a place and has a length; a negative one goes up.
func (s scale) ticks(begin, length px) (out []tick) {
	for i := range int(math.Round((s.to-s.from)/s.step)) + 1 {
		v := s.from + float64(i)*s.step
		out = append(out, tick{s.at(v, begin, length), numeral(v, s.step)})
	}
	return out
}

// at returns where a number is on such an axis.
func (s scale) at(v float64, begin, length px) px {
	return begin + length*px(min(1, max(0, (v-s.from)/(s.to-s.from))))
}

// numeral writes a number as exactly as its step asks for, and thousands as k and M.
func numeral(v, step float64) string {
	if v != 0 && (math.Abs(v) < 1e-3 || math.Abs(v) >= 1e12) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if step >= unit.of/100 && math.Abs(v) >= unit.of {
			return strconv.FormatFloat(v/unit.of, 'f', digits(step/unit.of), 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'f', digits(step), 64)
}

// digits returns how many behind the point tell steps apart.
func digits(step float64) int { return max(0, int(-math.Floor(math.Log10(step)+1e-9))) }

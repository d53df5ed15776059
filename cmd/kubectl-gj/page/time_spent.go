package page

import (
	"fmt"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/status"
)

// TimeSpent is what the job's time was spent on.
type TimeSpent struct {
	Total, Goodput, Basis, Recomputed, Desc string
	// Unknown says that steps may have been done again of which nobody knows how many.
	Unknown bool
	// Devices says that shares have the time of accelerators, too.
	Devices bool
	Parts   []Part
	Bar     Bar
}

// Bar are the measures of its drawing.
type Bar struct{ Width, Height, Top, Tall, Text px }

// Part is the time of one cause.
type Part struct {
	Is                          state
	Words, Time, Share, Devices string
	X, Width, Middle            px
	// Label is what stands in the bar, if there is room.
	Label, Title string
}

// bases say what shows that replicas train, by status.time.basis.
var bases = map[v1beta1.TimeBasis]string{
	v1beta1.TimeBasisSteps:     "Steps that the code prints show that replicas which run also train",
	v1beta1.TimeBasisHeartbeat: "A heartbeat shows that replicas which run also train",
	v1beta1.TimeBasisRunning:   "Replicas that run count as training: the job has no heartbeat, and its code tells no steps",
}

// parts is the order of what time was spent on.
var parts = append([]v1beta1.TimeCause{v1beta1.TimeProductive}, append(losses, v1beta1.TimeQueued, v1beta1.TimeStarting, v1beta1.TimePaused)...)

// timeSpentOf returns what the status says of it until now; nil if it says nothing.
func timeSpentOf(t *v1beta1.JobTime, now time.Time) *TimeSpent {
	if t == nil {
		return nil
	}
	shares := status.TimeUntil(t, now)
	if shares.Total <= 0 {
		return nil
	}
	a := &TimeSpent{Total: jobs.Spell(shares.Total), Goodput: percent(max(0, shares.Productive-t.Recomputed), shares.Total), Basis: bases[t.Basis],
		Bar: Bar{Width: pageWidth, Height: 46, Top: 4, Tall: 38, Text: 28}}
	if t.Recomputed > 0 {
		a.Recomputed = jobs.Spell(t.Recomputed)
		if t.RecomputedAtLeast {
			a.Recomputed = "at least " + a.Recomputed
		}
	}
	if t.RecomputedAtLeast {
		a.Goodput, a.Unknown = "at most "+a.Goodput, t.Recomputed == 0
	}
	devices := deviceShares(t, now)
	a.Devices = devices != nil
	x := px(0)
	for _, cause := range parts {
		n := *shares.Of(cause)
		if n == 0 {
			continue
		}
		p := Part{Is: state(cause), Words: words(state(cause)), Time: jobs.Spell(n), Share: percent(n, shares.Total), X: x, Width: pageWidth * px(n) / px(shares.Total)}
		p.Middle = p.X + p.Width/2
		if p.Width >= 56 {
			p.Label = p.Share
		}
		if devices != nil {
			p.Devices = fmt.Sprintf("%.1f", float64(*devices.Of(cause))/3600)
		}
		p.Title = fmt.Sprintf("%s: %s, %s", p.Words, p.Time, p.Share)
		x += p.Width
		a.Parts = append(a.Parts, p)
		a.Desc = joinBy(a.Desc, "; ", p.Title)
	}
	return a
}

// deviceShares returns the shares of accelerators until now; nil for a job without any.
func deviceShares(t *v1beta1.JobTime, now time.Time) *v1beta1.TimeShares {
	if t.DeviceSeconds == nil && (t.Open == nil || t.Open.Devices == 0) {
		return nil
	}
	shares := v1beta1.TimeShares{}
	if t.DeviceSeconds != nil {
		shares = *t.DeviceSeconds
	}
	if t.Open != nil {
		if share := shares.Of(t.Open.Cause); share != nil {
			*share += t.Open.Devices * max(0, int64(now.Sub(t.Open.Since.Time)/time.Second))
		}
	}
	return &shares
}

func percent(n, of int64) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of)) }

func joinBy(a, by, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + by + b
}

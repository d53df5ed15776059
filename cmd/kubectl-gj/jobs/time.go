package jobs

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
	"github.com/genericjob/genericjob/kernel/status"
)

// Time says in one line what the time of the job was spent on. It is "" if nobody has kept that. An example:
//
//	12 h: 92 % productive, 40 min lost to failures, 20 min queued
func (f *Family) Time(now time.Time) string {
	s := f.Status()
	if s.Time == nil {
		return ""
	}
	t := status.TimeUntil(s.Time, now)
	if t.Total <= 0 {
		return ""
	}
	parts := []string{productive(s.Time, t)}
	for _, part := range []struct {
		seconds int64
		words   string
	}{
		{t.Lost.Restart, "lost to failures"}, // a final one among them, which no restart follows
		{t.Lost.Hang, "lost to hangs"},
		{t.Lost.Disruption, "lost to " + times(s.DisruptionCount, t.Lost.Node == 0, "disruption")},
		{t.Lost.Node, "lost to nodes"},
		{t.Queued, "queued"},
		{t.Starting, "starting"},
		{t.Paused, "paused"},
	} {
		if part.seconds > 0 {
			parts = append(parts, Spell(part.seconds)+" "+part.words)
		}
	}
	return Spell(t.Total) + ": " + strings.Join(parts, ", ")
}

// productive returns which share of the time was productive, to the nearest whole number. It adds how much of that went into steps that had been
// done before.
func productive(t *v1beta1.JobTime, until v1beta1.TimeShares) string {
	share := fmt.Sprintf("%.0f %% productive", math.Round(100*float64(until.Productive)/float64(until.Total)))
	switch again := Spell(t.Recomputed); {
	case t.RecomputedAtLeast && t.Recomputed == 0:
		return "at most " + share + " (how many steps were done again is not known)"
	case t.RecomputedAtLeast:
		return fmt.Sprintf("at most %s (at least %s of it for steps that were done again)", share, again)
	case t.Recomputed > 0:
		return fmt.Sprintf("%s (%s of it for steps that were done again)", share, again)
	default:
		return share
	}
}

// times returns how often something happened, if that is known of this cause alone.
func times(n int32, known bool, what string) string {
	if !known || n == 0 {
		return what + "s"
	}
	return plural.Count(n, what)
}

// Spell says a time in its two largest units, as in 1 h 20 min.
func Spell(seconds int64) string {
	units := []struct {
		of   int64
		name string
	}{{24 * 3600, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}
	for i, u := range units {
		n := seconds / u.of
		if n == 0 && u.of > 1 {
			continue
		}
		text := fmt.Sprintf("%d %s", n, u.name)
		if rest := seconds % u.of; i+1 < len(units) && rest/units[i+1].of > 0 {
			text += fmt.Sprintf(" %d %s", rest/units[i+1].of, units[i+1].name)
		}
		return text
	}
	return "0 s"
}

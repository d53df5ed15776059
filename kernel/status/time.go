package status

import (
	"fmt"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// setGoodput sets the share of the job's time that was productive until now. That time passes is no news, so this is set only in a status that is
// written anyway.
func (w *writer) setGoodput() {
	if w.status.Time == nil {
		return
	}
	t := *w.status.Time
	t.Goodput = Goodput(TimeUntil(&t, w.Now), t.Recomputed)
	w.status.Time = &t
}

// TimeUntil returns the shares of a job's time until now, including the interval that is still open.
func TimeUntil(t *v1beta1.JobTime, now time.Time) v1beta1.TimeShares {
	s := t.TimeShares
	if t.Open == nil {
		return s
	}
	if share, n := s.Of(t.Open.Cause), int64(now.Sub(t.Open.Since.Time)/time.Second); share != nil && n > 0 {
		*share += n
		s.Total += n
	}
	return s
}

// Goodput returns the share of a time that was productive, less what was recomputed; "" if there was none.
func Goodput(s v1beta1.TimeShares, recomputed int64) string {
	if s.Total <= 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", min(1, float64(max(0, s.Productive-recomputed))/float64(s.Total)))
}

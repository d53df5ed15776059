package jobs

import (
	"fmt"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Recovery says in one line how the job came back from its last loss of time. It is "" if it had none, or does not run again yet. An example:
//
//	Recovered from a lost node in 1 min 3 s: the operator acted after 22 s, all ran again after 41 s, next step after 1 min 3 s
func (f *Family) Recovery() string {
	s := f.Status()
	r := s.Recovery
	if r == nil || r.Replaced == nil {
		return ""
	}
	after := func(seconds float64) string { return Spell(max(0, int64(seconds))) }
	replaced := after(r.Replaced.Sub(r.Began.Time).Seconds())
	whole, step := replaced, ""
	switch {
	case r.Stepped != nil:
		whole = after(r.Stepped.Sub(r.Began.Time).Seconds())
		step = ", next step after " + whole
	case s.Time != nil && s.Time.Basis == v1beta1.TimeBasisSteps && s.CompletionTime == nil:
		step = ", no step is known yet"
	}
	return fmt.Sprintf("Recovered from %s in %s: the operator acted after %s, all ran again after %s%s", lossWords[r.Cause], whole, after(r.Detected.Sub(r.Began.Time).Seconds()), replaced, step)
}

// lossWords say what a job recovered from.
var lossWords = map[v1beta1.TimeCause]string{
	v1beta1.TimeLostToRestart:    "a failure",
	v1beta1.TimeLostToHang:       "a hang",
	v1beta1.TimeLostToDisruption: "a disruption",
	v1beta1.TimeLostToNode:       "a lost node",
}

package jobs

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// ProgressEarly says how long before a job's end its progress was reported, as in 27s. The operator asks for progress once a minute. The text is empty
// of a job that goes on, and within two seconds.
func (f *Family) ProgressEarly() string {
	s := f.Status()
	if s.Progress == nil || s.CompletionTime == nil || s.Progress.Time.IsZero() {
		return ""
	}
	if early := s.CompletionTime.Sub(s.Progress.Time.Time); early > 2*time.Second {
		return duration.HumanDuration(early)
	}
	return ""
}

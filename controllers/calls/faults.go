package calls

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Fault is that the writes for one job fail in a way that may pass by itself. Users hear of a fault that does not. Nothing depends on it:
// after a restart it is told a little later. The zero value is no fault.
type Fault struct {
	since time.Time
	told  bool
	last  time.Time // told: when it came last
}

// over is after how long without it a refusal that was told is over: it is tried again at least each seldom.
const over = 2 * seldom

// Lasts notes that a write has failed, and reports whether that goes on for so long that the user must hear of it.
func (f *Fault) Lasts(now time.Time) bool {
	if f.since.IsZero() {
		f.since = now
	}
	return now.Sub(f.since) >= lasting
}

// Note records what the apiserver has answered to something that is done for the job. Again is 0 as long as that may pass by itself.
// Otherwise the user must hear of it, and it is tried again ever less often. News says that the user has not heard yet: of several
// refusals users hear of one, until nothing was refused for a while.
func (f *Fault) Note(err error, now time.Time) (again time.Duration, news bool) {
	var answer apierrors.APIStatus
	var refusal *RefusalError
	if !errors.As(err, &answer) && !errors.As(err, &refusal) {
		return 0, false // what nobody has answered is no refusal
	}
	if f.told && now.Sub(f.last) > over {
		f.End()
	}
	if !f.Lasts(now) && refusal == nil && !isLasting(err) {
		return 0, false
	}
	news = !f.told
	f.told, f.last = true, now
	return min(max(now.Sub(f.since), soonest), seldom), news
}

// Rest notes that nothing was refused in a reconcile. What was told may be refused again in the next: not each asks for everything.
func (f *Fault) Rest() {
	if !f.told {
		f.End()
	}
}

// End notes that what the job needs is written.
func (f *Fault) End() { *f = Fault{} }

package calls

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RefusalTimer notes since when writes for one job have failed in a way that may pass by itself. Users hear of one that does not. Nothing depends on
// it: after a restart it is told a little later. The zero value has nothing that fails.
type RefusalTimer struct {
	since time.Time
	told  bool
	last  time.Time // told: when it came last
}

// forgetAfter is how long a refusal must not come back before it is forgotten. What is refused is tried again at least once in maxRetryWait.
const forgetAfter = 2 * maxRetryWait

// Lasts notes that a write has failed, and reports whether that goes on for so long that the user must hear of it.
func (t *RefusalTimer) Lasts(now time.Time) bool {
	if t.since.IsZero() {
		t.since = now
	}
	return now.Sub(t.since) >= tellAfter
}

// Note records what the apiserver has answered to something that is done for the job. Again is 0 as long as that may pass by itself.
// Otherwise the user must hear of it, and it is tried again ever less often. News says that the user has not heard yet: of several
// refusals users hear of one, until nothing was refused for a while.
func (t *RefusalTimer) Note(err error, now time.Time) (again time.Duration, news bool) {
	var answer apierrors.APIStatus
	var refusal *RefusalError
	if !errors.As(err, &answer) && !errors.As(err, &refusal) {
		return 0, false // what nobody has answered is no refusal
	}
	if t.told && now.Sub(t.last) > forgetAfter {
		t.End()
	}
	if !t.Lasts(now) && refusal == nil && !isLasting(err) {
		return 0, false
	}
	news = !t.told
	t.told, t.last = true, now
	return min(max(now.Sub(t.since), minRetryWait), maxRetryWait), news
}

// NothingRefused notes that nothing was refused in a reconcile. What was told may be refused again in the next: not each asks for everything.
func (t *RefusalTimer) NothingRefused() {
	if !t.told {
		t.End()
	}
}

// End notes that what the job needs is written.
func (t *RefusalTimer) End() { *t = RefusalTimer{} }

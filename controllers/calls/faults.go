package calls

import (
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Faults remembers since when the writes for a job fail in a way that may pass by itself, so that users hear of one that
// does not. Nothing depends on this memory: after a restart it is told a little later. The zero value is ready for use.
type Faults struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]fault
}

type fault struct {
	uid   types.UID
	since time.Time
	told  bool
	last  time.Time // told: when it came last
}

// over is after how long without it a refusal that was told is over: it is tried again at least each seldom.
const over = 2 * seldom

// Lasts notes that a write for a job has failed, and says whether that goes on for so long that the user must hear of it.
func (f *Faults) Lasts(job client.Object, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := client.ObjectKeyFromObject(job)
	have, known := f.jobs[key]
	if !known || have.uid != job.GetUID() {
		if f.jobs == nil {
			f.jobs = map[types.NamespacedName]fault{}
		}
		have = fault{uid: job.GetUID(), since: now}
		f.jobs[key] = have
	}
	return now.Sub(have.since) >= lasting
}

// Hear notes what the apiserver has answered to something that is done for a job. Again is 0 as long as that may pass by itself.
// Else the user must hear of it, and it is to be tried again then, ever less often; news says that he has not heard yet. Where
// several are refused he hears of one, until nothing has been for a while.
func (f *Faults) Hear(job client.Object, err error, now time.Time) (again time.Duration, news bool) {
	var answer apierrors.APIStatus
	var refusal *RefusalError
	if !errors.As(err, &answer) && !errors.As(err, &refusal) {
		return 0, false // what nobody has answered is no refusal
	}
	key := client.ObjectKeyFromObject(job)
	f.mu.Lock()
	if have := f.jobs[key]; have.told && now.Sub(have.last) > over {
		delete(f.jobs, key)
	}
	f.mu.Unlock()
	if lasts := f.Lasts(job, now); !lasts && refusal == nil && !considered(err) {
		return 0, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.jobs[key]
	news = !have.told
	have.told, have.last = true, now
	f.jobs[key] = have
	return min(max(now.Sub(have.since), soonest), seldom), news
}

// Rest notes that nothing was refused in a pass. What was told may be refused again in the next: not each pass asks for everything.
func (f *Faults) Rest(job client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if key := client.ObjectKeyFromObject(job); !f.jobs[key].told {
		delete(f.jobs, key)
	}
}

// End notes that what the job of this name needs is written, or that it is gone.
func (f *Faults) End(job client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.jobs, client.ObjectKeyFromObject(job))
}

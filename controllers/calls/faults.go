package calls

import (
	"sync"
	"time"

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
}

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
		have = fault{job.GetUID(), now}
		f.jobs[key] = have
	}
	return now.Sub(have.since) >= lasting
}

// End notes that what the job of this name needs is written, or that it is gone.
func (f *Faults) End(job client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.jobs, client.ObjectKeyFromObject(job))
}

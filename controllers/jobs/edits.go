package jobs

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// undoneWithin is how long an edit waits to be undone. One that lasts cannot be: its definition is gone, or the training job cannot be
// compiled. Then it acts, or nothing would be booked any more.
const undoneWithin = 10 * time.Second

// strays remembers since when the specs of GenericJobs are not what was compiled. After a restart of the operator they wait anew.
type strays struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]stray
}

type stray struct {
	uid      types.UID
	compiled int64 // another generation that was compiled makes it another edit
	since    time.Time
}

// awaitUndo reports whether an edit of a GenericJob is about to be undone.
func (s *strays) awaitUndo(job *v1beta1.GenericJob, now time.Time) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(job)
	n, is := framework.IsEditedByOthers(job)
	if !is || job.DeletionTimestamp != nil || job.Status.CompletionTime != nil {
		delete(s.jobs, key)
		return false
	}
	have, known := s.jobs[key]
	if !known || have.uid != job.UID || have.compiled != n {
		if s.jobs == nil {
			s.jobs = map[types.NamespacedName]stray{}
		}
		have = stray{job.UID, n, now}
		s.jobs[key] = have
	}
	return now.Sub(have.since) < undoneWithin
}

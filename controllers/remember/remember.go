// Package remember has what a process remembers of each job. Nothing depends on it: a restart of the operator loses it, and what must not
// be forgotten is in the job's status.
package remember

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Jobs holds a T for each job of one kind. The zero value is ready for use.
type Jobs[T any] struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]*entry[T]
}

type entry[T any] struct {
	uid  types.UID
	what T
}

// Of returns what is remembered of a job: the zero T at first, and for another job of that name. A job without UID is the last of its name,
// which is gone and whose pods may outlive it. What is returned belongs to the reconcile of the job, of which there is one at a time.
func (m *Jobs[T]) Of(job client.Object) *T {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs == nil {
		m.jobs = map[types.NamespacedName]*entry[T]{}
	}
	key := client.ObjectKeyFromObject(job)
	if have := m.jobs[key]; have != nil && (have.uid == job.GetUID() || job.GetUID() == "") {
		return &have.what
	}
	fresh := &entry[T]{uid: job.GetUID()}
	m.jobs[key] = fresh
	return &fresh.what
}

// Forget forgets a job that is gone.
func (m *Jobs[T]) Forget(job types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.jobs, job)
}

// Len returns how many jobs are remembered.
func (m *Jobs[T]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.jobs)
}

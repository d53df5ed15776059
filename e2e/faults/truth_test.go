package faults_test

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// truth is what really happened, whatever the operator believes.
type truth struct {
	mu         sync.Mutex
	fates      map[string]*fate
	replicas   map[string]*replica // by job and replica
	violations []string
	races      *races
	suspects   map[types.UID]string                // pods of attempts that had another pod before: only those that lost a race may be
	finished   map[string]uint64                   // jobs that are over: the revision at which that was written
	created    map[types.UID]birth                 // pods
	last       map[string]v1beta1.GenericJobStatus // of each job, as it was last seen
}

type birth struct {
	job, pod string
	revision uint64
}

func newTruth() *truth {
	return &truth{
		fates: map[string]*fate{}, replicas: map[string]*replica{}, finished: map[string]uint64{}, created: map[types.UID]birth{},
		last: map[string]v1beta1.GenericJobStatus{}, races: newRaces(), suspects: map[types.UID]string{},
	}
}

// replica is what really happened to one replica.
type replica struct {
	t           *truth
	fate        *fate
	name        string
	exits       int                    // times that its code ended by itself
	disruptions int                    // times that an outsider ended its pod
	drains      int                    // times that an outsider deleted its pod after that had ended
	seenIn      map[string]*corev1.Pod // the pod of each attempt
	done        map[string]bool        // attempts in which its code has come to its final end
}

// expect has jobs whose pods the kubelet runs.
func (t *truth) expect(f *fate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fates[f.name] = f
	for _, name := range f.replicas {
		t.replicas[f.name+"/"+name] = &replica{t: t, fate: f, name: name, seenIn: map[string]*corev1.Pod{}, done: map[string]bool{}}
	}
}

// of is the replica that a pod is; nil if it is none.
func (t *truth) of(pod *corev1.Pod) *replica {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replicas[pod.Labels[v1beta1.LabelJobName]+"/"+replicaOf(pod)]
}

func (t *truth) violated(format string, args ...any) {
	t.violations = append(t.violations, fmt.Sprintf(format, args...))
}

// disruptionsOf is how often outsiders ended pods of a job.
func (t *truth) disruptionsOf(f *fate) int {
	n := 0
	for _, name := range f.replicas {
		n += t.replicas[f.name+"/"+name].disruptions
	}
	return n
}

func attemptOf(pod *corev1.Pod) string { return pod.Labels[v1beta1.LabelAttempt] }

// isGhost reports whether a pod has come a second time: there was another one for the same attempt before. How a ghost ends
// tells nothing about the replica. Its code runs for ever, so the operator must end it.
func (r *replica) isGhost(pod *corev1.Pod) bool {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	attempt := attemptOf(pod)
	other, seen := r.seenIn[attempt]
	if !seen || other.UID == pod.UID {
		r.seenIn[attempt] = pod
		return false
	}
	job := v1beta1.LabelJobUID
	if r.fate.leaves && other.Labels[job] != pod.Labels[job] {
		return true // its user has deleted the training job; a create that was carried out late has made a GenericJob again, which is deleted too
	}
	r.t.suspects[pod.UID] = fmt.Sprintf("%s %s: attempt %s is made twice, at %s for job %s and at %s for job %s; its ends were in %v", r.fate.name, r.name, attempt,
		other.CreationTimestamp, other.Labels[job], pod.CreationTimestamp, pod.Labels[job], r.done)
	return true
}

// started notes that code began to run. Code that has finished must not.
func (r *replica) started(pod *corev1.Pod) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	attempt := attemptOf(pod)
	if len(r.done) > 0 && (!r.fate.whole || r.done[attempt]) {
		r.t.violated("%s %s: what has come to its end is run again, in attempt %s; its ends were in %v", r.fate.name, r.name, attempt, r.done)
	}
}

// nextCode is how the code that runs will end.
func (r *replica) nextCode() int32 {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	script := r.fate.script(r.name)
	return script[min(r.exits, len(script)-1)]
}

// ended notes that code ended by itself.
func (r *replica) ended(pod *corev1.Pod) {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.exits++
	if last := r.exits >= len(r.fate.script(r.name)); last {
		r.done[attemptOf(pod)] = true
	}
}

// nextDisruption is what an outsider does to the pod next, if anything.
func (r *replica) nextDisruption() string {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	if list := r.fate.disruptions[r.name]; r.disruptions < len(list) {
		return list[r.disruptions]
	}
	return none
}

func (r *replica) disrupted() {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.disruptions++
}

func (r *replica) drained() {
	r.t.mu.Lock()
	defer r.t.mu.Unlock()
	r.drains++
}

package kernel

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// restart is a replica that ended and that its policy allows to be run again. It is only carried out if no rule ends
// the job first: restarts that a finished job would have made are not counted.
type restart struct {
	task    *task
	rank    int
	pod     *corev1.Pod
	counted bool   // a limit counts it
	why     string // for events and conditions
}

// book writes into the ledger what the pods tell: who succeeded, who failed for good, who may be run again.
func (p *pass) book() {
	for _, t := range p.tasks {
		t.before = t.succeeded.clone()
	}
	if p.Job.Status.CompletionTime != nil {
		return // a finished job's ledger is closed
	}
	p.trim()
	for _, t := range p.tasks {
		for rank, pod := range t.pods {
			if pod != nil && !t.finished(rank) {
				p.bookPod(t, rank, pod)
			}
		}
	}
	p.settleFailures()
}

func (p *pass) bookPod(t *task, rank int, pod *corev1.Pod) {
	r := restart{task: t, rank: rank, pod: pod}
	switch p.classify(t, rank, pod) {
	case succeeded:
		if !t.policy.allows(0) || !p.withinLimit(t, rank) {
			t.succeeded.Add(rank)
			p.awaited = p.awaited || mayGo(pod)
			return
		}
		r.counted, r.why = true, fmt.Sprintf("Pod[%s] succeeded and its restart policy is Always", pod.Name)
		p.pending = append(p.pending, r)
	case failed:
		r.counted, r.why = true, describeFailure(pod)
		p.pending = append(p.pending, r)
	case disrupted, lost:
		r.why = describeDisruption(pod)
		p.pending = append(p.pending, r)
	case alive, leaving, garbage, unwanted:
	}
}

// mayGo says whether a pod may be gone before its success is written: somebody waits for it to go, or has taken our finalizer
// away.
func mayGo(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || !tracked(pod)
}

// withoutPostponed are the actions of the pass without the releases of pods whose success it has booked: if that is not
// written yet, they keep their finalizers.
func (p *pass) withoutPostponed() []Action {
	return slices.DeleteFunc(p.actions, func(a Action) bool {
		if a.Verb != ReleasePod {
			return false
		}
		t, rank := p.seat(a.Pod)
		return t.succeeded.Contains(rank) && !t.before.Contains(rank)
	})
}

// settleFailures decides which of the replicas that ended may be run again; the others failed for good. With
// restartScope Job one restart replaces all replicas at once, so the first that is allowed takes all others along.
func (p *pass) settleFailures() {
	allowed, refused := p.splitPending()
	p.pending = allowed
	if p.jobScope() && len(allowed) > 0 {
		first := slices.IndexFunc(allowed, func(r restart) bool { return r.counted })
		if first >= 0 {
			p.pending = allowed[first : first+1]
			return
		}
		p.pending = allowed[:1]
	}
	for _, r := range refused {
		if r.counted && r.pod.Status.Phase == corev1.PodSucceeded {
			r.task.succeeded.Add(r.rank) // policy Always, and another took the last restart that all share
			continue
		}
		p.failForGood(r)
	}
}

// splitPending hands out the restarts that the limits leave, in the order of types and ranks.
func (p *pass) splitPending() (allowed, refused []restart) {
	budget := unlimited
	if b := p.Job.Spec.BackoffLimit; b != nil {
		budget = max(0, int(*b-p.status.BackoffCount))
	}
	for _, r := range p.pending {
		if !p.mayRestart(r) || r.counted && budget == 0 {
			refused = append(refused, r)
			continue
		}
		allowed = append(allowed, r)
		if r.counted && budget > 0 {
			budget--
		}
	}
	return allowed, refused
}

// mayRestart asks the replica's own policy and limit.
func (p *pass) mayRestart(r restart) bool {
	if !r.counted {
		// A disruption. What Never forbids is to start code again that has started.
		return r.task.policy.kind != v1beta1.RestartNever || !hasStarted(r.pod) || isDebug(r.pod)
	}
	code := int32(0)
	if r.pod.Status.Phase == corev1.PodFailed {
		code = 1
		if e := exitOf(r.pod); e != nil {
			code = e.code
		}
	}
	return r.task.policy.allows(code) && p.withinLimit(r.task, r.rank)
}

// withinLimit says whether the limit of a replica, and the one that all share, leave another restart.
func (p *pass) withinLimit(t *task, rank int) bool {
	if b := p.Job.Spec.BackoffLimit; b != nil && p.status.BackoffCount >= *b {
		return false
	}
	done := 0
	if r := t.records[rank]; r != nil {
		done = int(r.Restarts)
	}
	return t.policy.limit == unlimited || done < t.policy.limit
}

func (p *pass) failForGood(r restart) {
	r.task.failed.Add(r.rank)
	switch {
	case !r.counted:
		p.failures = append(p.failures, fmt.Sprintf("%s; its restart policy is Never, so it failed (%s)", r.why, v1beta1.ReasonDisrupted))
	case r.task.policy.kind == v1beta1.RestartNever || r.task.policy.kind == v1beta1.RestartExitCode && p.withinLimit(r.task, r.rank):
		p.failures = append(p.failures, fmt.Sprintf("%s; restart policy %s does not restart it", r.why, r.task.policy.kind))
	default:
		p.failures = append(p.failures, r.why+"; no restarts are left for it")
	}
}

// trim forgets the outcomes of replicas that were scaled away: when they come back they begin anew. Their attempt goes
// up, so that no pod of their first life, seen late, can be taken for one of the second.
func (p *pass) trim() {
	for _, t := range p.ledger {
		n := t.n
		if t.spec == nil {
			n = 0
		}
		for _, rank := range slices.Concat(t.succeeded.CutFrom(n), t.failed.CutFrom(n)) {
			t.record(rank).Attempt++
		}
	}
	for _, pod := range p.strays {
		if t, rank := p.seat(pod); !p.isGarbage(t, rank, pod) {
			t.record(rank).Attempt++
		}
	}
}

// describeFailure says which pod failed and how.
func describeFailure(pod *corev1.Pod) string {
	e := exitOf(pod)
	switch {
	case e == nil:
		return fmt.Sprintf("Pod[%s] failed: %s %s", pod.Name, pod.Status.Reason, pod.Status.Message)
	case e.reason == oomKilled:
		return fmt.Sprintf("Pod[%s] exited with error code %d: container %s ran out of memory (OOMKilled); raise its memory limit",
			pod.Name, e.code, e.container)
	default:
		return fmt.Sprintf("Pod[%s] exited with error code %d", pod.Name, e.code)
	}
}

// describeDisruption says which pod was disrupted and by what.
func describeDisruption(pod *corev1.Pod) string {
	if isDebug(pod) && ended(pod) {
		return fmt.Sprintf("Pod[%s] ended in debug mode", pod.Name)
	}
	if c := disruptionTarget(pod); c != nil {
		return fmt.Sprintf("Pod[%s] was disrupted: %s", pod.Name, c.Reason)
	}
	switch {
	case !ended(pod) && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds > 0:
		return fmt.Sprintf("Pod[%s] is Terminating and its node %s does not answer", pod.Name, pod.Spec.NodeName)
	case pod.Status.Reason != "":
		return fmt.Sprintf("Pod[%s] was disrupted: %s", pod.Name, pod.Status.Reason)
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("Pod[%s] was deleted", pod.Name)
	default:
		return fmt.Sprintf("Pod[%s] ended without an exit code of its own", pod.Name)
	}
}

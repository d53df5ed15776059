package kernel

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// act says what to do about every pod, and what is missing. It looks at the ledger as this pass leaves it, which is what
// the status will hold before any action is carried out.
func (p *pass) act() {
	finished := p.status.CompletionTime != nil
	for _, t := range p.tasks {
		for rank, pod := range t.pods {
			switch {
			case pod == nil:
			case finished:
				p.actFinished(t, rank, pod)
			default:
				p.actUnfinished(t, rank, pod)
			}
		}
	}
	for _, pod := range p.strays {
		p.discard(pod, "it was scaled away")
	}
	switch {
	case finished:
		p.expire()
	case p.verdict.course == run:
		p.provide()
		p.createMissing()
	}
}

// actFinished lets go of a pod of a job that has finished, and cleans up by the job's policy.
func (p *pass) actFinished(t *task, rank int, pod *corev1.Pod) {
	remove := p.isGarbage(t, rank, pod)
	switch cleanUp(p.Job) {
	case v1beta1.CleanUpAll:
		remove = true
	case v1beta1.CleanUpUnfinished:
		remove = remove || !ended(pod)
	case v1beta1.CleanUpNone:
	}
	switch {
	case remove:
		p.discard(pod, "the job has finished")
	case t.finished(rank):
		p.settle(pod, "the job has finished")
	default:
		p.release(pod, "the job has finished")
	}
}

// settle lets go of the pod of a replica whose outcome is in the ledger. If it has not ended, it either comes a second time,
// made by a call that was carried out long after its caller had been killed and replaced, or this view of it is old. A
// stop tells the two apart: it changes the pod only as it was seen.
func (p *pass) settle(pod *corev1.Pod, reason string) {
	if !ended(pod) && pod.DeletionTimestamp == nil {
		p.actions = append(p.actions, Action{Verb: StopPod, Pod: pod, Reason: "its replica has finished, with another pod"})
		return
	}
	p.release(pod, reason)
}

func (p *pass) actUnfinished(t *task, rank int, pod *corev1.Pod) {
	if t.finished(rank) && !p.isGarbage(t, rank, pod) {
		p.settle(pod, "its outcome is in the ledger")
		return
	}
	switch p.classify(t, rank, pod) {
	case garbage:
		p.discard(pod, "its time is over")
	case unwanted:
		p.actions = append(p.actions, Action{Verb: StopPod, Pod: pod, Reason: "the run mode is now " + p.status.Mode})
	case leaving:
		if !marked(pod, v1beta1.AnnotationDisrupted) && !marked(pod, v1beta1.AnnotationStopped) {
			p.actions = append(p.actions, Action{Verb: MarkPod, Pod: pod, Reason: "somebody deletes it before it has finished"})
		}
		if p.Settings.ForceReplaceAfter > 0 {
			p.wakeAfter(pod.DeletionTimestamp.Add(p.Settings.ForceReplaceAfter).Sub(p.Now))
		}
	case alive, succeeded, failed, disrupted, lost:
		// Alive, or booked by a pass whose verdict left it for the next.
	}
}

// discard deletes a pod whose end does not matter any more.
func (p *pass) discard(pod *corev1.Pod, reason string) {
	p.release(pod, reason)
	switch {
	case p.overdue(pod) && (pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds > 0):
		p.actions = append(p.actions, Action{Verb: ForceDeletePod, Pod: pod, Reason: reason})
	case pod.DeletionTimestamp == nil:
		p.actions = append(p.actions, Action{Verb: DeletePod, Pod: pod, Reason: reason})
	case p.Settings.ForceReplaceAfter > 0 && !p.overdue(pod):
		p.wakeAfter(pod.DeletionTimestamp.Add(p.Settings.ForceReplaceAfter).Sub(p.Now))
	}
}

// release takes the finalizer off a pod.
func (p *pass) release(pod *corev1.Pod, reason string) {
	if tracked(pod) {
		p.actions = append(p.actions, Action{Verb: ReleasePod, Pod: pod, Reason: reason})
	}
}

// tracked says whether a pod carries our finalizer.
func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, v1beta1.FinalizerTracking)
}

// letGo releases every pod of a job that is being deleted: its ledger goes with it.
func (p *pass) letGo() {
	pods := slices.SortedFunc(slices.Values(p.Pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range pods {
		if metav1.IsControlledBy(pod, p.Job) {
			p.release(pod, "the job is being deleted")
		}
	}
}

// createMissing creates the pods of replicas that have none and have not finished.
func (p *pass) createMissing() {
	if p.jobScope() && !p.clearForAttempt() {
		return
	}
	for _, t := range p.tasks {
		for rank, pod := range t.pods {
			if pod != nil || t.finished(rank) {
				continue
			}
			reason := "it is missing"
			if r := t.records[rank]; r != nil {
				if wait := p.untilAllowed(r); wait > 0 {
					p.wakeAfter(wait)
					continue
				}
				reason = "it is replaced"
			}
			p.actions = append(p.actions, Action{Verb: CreatePod, Type: t.name, Rank: rank, Attempt: p.attempt(t, rank), Reason: reason})
		}
	}
}

// clearForAttempt says whether the next attempt of the whole job may begin: the old pods must be gone, because a
// collective that forms again must not meet members of the old one, and the delay must be over.
func (p *pass) clearForAttempt() bool {
	ready := len(p.strays) == 0
	for _, t := range p.tasks {
		for rank, pod := range t.pods {
			ready = ready && (pod == nil || !p.isGarbage(t, rank, pod))
		}
		for _, r := range t.records {
			if wait := p.untilAllowed(r); wait > 0 {
				p.wakeAfter(wait)
				ready = false
			}
		}
	}
	return ready
}

func (p *pass) untilAllowed(r *v1beta1.RankRecord) time.Duration {
	if r.NotBefore == nil {
		return 0
	}
	return r.NotBefore.Sub(p.Now)
}

// expire deletes a finished job when its time to live is over. A job that a framework object owns is left to that one:
// it would only be made again.
func (p *pass) expire() {
	ttl := p.Job.Spec.TTLSecondsAfterFinished
	if ttl == nil {
		return
	}
	for _, o := range p.Job.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return
		}
	}
	left := p.status.CompletionTime.Add(time.Duration(*ttl) * time.Second).Sub(p.Now)
	if left > 0 {
		p.wakeAfter(left)
		return
	}
	p.actions = append(p.actions, Action{Verb: DeleteJob, Reason: "ttlSecondsAfterFinished is over"})
}

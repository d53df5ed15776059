package kernel

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// apply makes a verdict true in the status. Nothing is done to the cluster here.
func (p *pass) apply(v verdict) {
	p.verdict = v
	p.status.ObservedGeneration = p.Job.Generation
	switch v.course {
	case rest:
	case succeed:
		p.finish(v1beta1.JobSucceeded)
	case fail:
		p.finish(v1beta1.JobFailed)
	case hold:
		p.restartAll()
		p.failIfFull()
		p.renew()
	case pause, run:
		p.restartAll() // before the mode changes: what ended under the old one counts by its rules
		if p.failIfFull() {
			return
		}
		p.switchMode()
		p.renew()
		if p.status.StartTime == nil && v.course == run {
			p.begin(p.Now)
		}
	}
}

// finish ends the job. This is final.
func (p *pass) finish(phase v1beta1.JobPhase) {
	now := metav1.NewTime(p.Now)
	p.status.Phase = phase
	p.status.CompletionTime = &now
	p.pending = nil
}

// unfinishedPhases are those of jobs that have not finished.
var unfinishedPhases = []v1beta1.JobPhase{
	v1beta1.JobPending, v1beta1.JobRunning, v1beta1.JobPaused, v1beta1.JobResuming, v1beta1.JobUnknown,
}

// observePhase derives the phase of a job that has not finished from its pods. Running stays while replicas are replaced:
// the counts and the condition Running show that.
func (p *pass) observePhase() {
	if p.status.CompletionTime != nil {
		return
	}
	running, gone := p.unfinishedPods()
	phase := &p.status.Phase
	if !slices.Contains(unfinishedPhases, *phase) {
		*phase = "" // somebody has written it, or nobody
	}
	switch course := p.verdict.course; {
	case course == pause && gone:
		*phase = v1beta1.JobPaused
	case course == pause && *phase != "":
		// The phase stays until the last pod is gone.
	case course == run && running:
		*phase = v1beta1.JobRunning
	case *phase == v1beta1.JobPaused && p.status.Mode == modePaused:
		// Held in the pause: the CRD lets the spec be mended.
	case *phase == "", *phase == v1beta1.JobPaused, *phase == v1beta1.JobUnknown:
		*phase = v1beta1.JobPending
	}
}

// unfinishedPods says whether all replicas that have not finished run, and whether none of them has a pod.
func (p *pass) unfinishedPods() (running, gone bool) {
	running, gone = true, len(p.strays) == 0
	for _, t := range p.tasks {
		for rank, pod := range t.pods {
			switch {
			case t.finished(rank):
			case pod == nil:
				running = false
			default:
				gone = false
				running = running && pod.Status.Phase == corev1.PodRunning && p.classify(t, rank, pod) == alive
			}
		}
	}
	return running, gone
}

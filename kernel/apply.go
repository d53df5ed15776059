package kernel

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

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
	case pause, hold, run:
		p.restartAll() // before the mode changes: what ended under the old one counts by its rules
		p.switchMode()
		if p.status.StartTime == nil && v.course == run {
			now := metav1.NewTime(p.Now)
			p.status.StartTime = &now
			p.event(false, v1beta1.ReasonStarted, "The job has been initialized successfully.")
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

// observePhase derives the phase of a job that has not finished from its pods.
func (p *pass) observePhase() {
	if p.status.CompletionTime != nil {
		return
	}
	running, gone := true, len(p.strays) == 0
	for _, t := range p.tasks {
		for rank, pod := range t.pods {
			if t.finished(rank) {
				continue
			}
			gone = gone && pod == nil
			running = running && pod != nil && p.classify(t, rank, pod) == alive && pod.Status.Phase == corev1.PodRunning
		}
	}
	switch {
	case p.verdict.course == pause && gone:
		p.status.Phase = v1beta1.JobPaused
	case p.verdict.course == pause && p.status.Phase != "":
		// The phase stays until the last pod is gone.
	case p.verdict.course == run && running:
		p.status.Phase = v1beta1.JobRunning
	case p.status.Phase == "" || p.status.Phase == v1beta1.JobPaused || p.status.Phase == v1beta1.JobUnknown:
		p.status.Phase = v1beta1.JobPending
	}
}

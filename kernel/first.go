package kernel

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The first status of a job that just begins says nothing that its spec does not. So it waits for the first view of the
// pods, which spares every small job one of its few writes, and the pods are created meanwhile. What they are is known
// without a status: all that were made under a blank one are of attempt 0, of mode Immediate and its epoch 0, and of the
// spec's first generation. If that has been edited, the first status is written at once and begins epoch 1, because pods
// of epoch 0 may be there though no cache shows them yet: of another mode, or of another template.

// firstWait is how old a job may become without a status: as old as a view, and the fraction of a second that its
// creationTimestamp lacks. Where the operator's clock and the apiserver's differ by more, nothing is postponed.
const firstWait = viewInterval + time.Second

// firstReplicas is up to how many replicas the first status waits. A pass over a job of thousands creates pods for much
// longer than firstWait, and one write more does not matter to it.
const firstReplicas = 100

// isBlank says whether a status has never been written.
func isBlank(s *v1beta1.GenericJobStatus) bool {
	return equality.Semantic.DeepEqual(*s, v1beta1.GenericJobStatus{})
}

// untilFirst is how long the first status of the job may wait; 0 if it must be written now.
func (p *pass) untilFirst() time.Duration {
	age := p.Now.Sub(p.Job.CreationTimestamp.Time)
	replicas := 0
	for _, t := range p.tasks {
		replicas += t.n
	}
	if age < 0 || age >= firstWait || replicas > firstReplicas || !p.onlyBegins() {
		return 0
	}
	return firstWait - age
}

// onlyBegins says whether the status of this pass says no more, beside the view of the pods, than that the job begins.
func (p *pass) onlyBegins() bool {
	if p.verdict.course != run || p.edited() || conditionOf(p.status.Conditions, v1beta1.ConditionBlocked) != nil {
		return false
	}
	is := essence(&p.status)
	is.Tasks, is.Conditions = nil, nil
	if is.Phase == v1beta1.JobRunning { // all run already: that is told with the rest
		is.Phase = v1beta1.JobPending
	}
	return equality.Semantic.DeepEqual(is, v1beta1.GenericJobStatus{
		ObservedGeneration: p.Job.Generation, Phase: v1beta1.JobPending, Mode: modeImmediate, StartTime: p.status.StartTime,
	})
}

// edited says whether the spec has changed since the job was created, but the status is blank. The CRD lets any part be
// edited as long as there is no phase.
func (p *pass) edited() bool { return p.first && p.Job.Generation > 1 }

// renew begins an epoch if pods may have been made from another spec than this.
func (p *pass) renew() {
	if p.edited() {
		p.status.ModeEpoch = max(p.status.ModeEpoch, 1)
	}
}

// recognise notes that a job has begun of which its pods say so, and no status. It began when the first of them was
// created: its deadline must not count from a write that came later, perhaps by another operator after a long outage.
func (p *pass) recognise() {
	if p.status.StartTime != nil || p.status.CompletionTime != nil {
		return
	}
	began := p.firstPod()
	if began.IsZero() {
		return
	}
	p.begin(began)
	switch p.status.Mode {
	case "":
		p.status.Mode = modeImmediate
	case modePaused: // the pods were not known when the job was paused
		p.pauseClock()
	}
}

// firstPod is when the first of the pods was created, but not after now, for the clocks may differ; zero if there is none.
func (p *pass) firstPod() time.Time {
	pods := p.strays
	for _, t := range p.tasks {
		pods = slices.Concat(pods, t.pods)
	}
	var first time.Time
	for _, pod := range pods {
		if pod != nil && (first.IsZero() || pod.CreationTimestamp.Time.Before(first)) {
			first = pod.CreationTimestamp.Time
		}
	}
	if first.After(p.Now) {
		return p.Now
	}
	return first
}

// begin notes when the job began.
func (p *pass) begin(at time.Time) {
	p.status.StartTime = &metav1.Time{Time: at}
	p.event(false, v1beta1.ReasonStarted, initializedMessage)
}

package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// World is all that Plan looks at.
type World struct {
	// Job is the job as the caller last saw it. Plan does not change it.
	Job *v1beta1.GenericJob
	// Pods are the pods that the job controls, in any order. Pods of others among them are left alone.
	Pods []*corev1.Pod
	// Services are the Services that the job controls.
	Services []*corev1.Service
	// Gang is what the cluster has of the job's gang scheduler; its zero value will do for a job without one.
	Gang Gang
	// JobIsLive says that Job is what the apiserver holds, and not just what a cache has of it.
	JobIsLive bool
	// Now is the time of this pass.
	Now time.Time
	// Settings are the operator's own settings.
	Settings Settings
}

// Settings are settings of the operator that Plan depends on.
type Settings struct {
	// ForceReplaceAfter is how long a pod may stay Terminating beyond its grace period before it is taken for lost with
	// its node, deleted by force and replaced. 0 means never.
	ForceReplaceAfter time.Duration
	// ClusterDomain is the cluster's DNS domain. Default "cluster.local".
	ClusterDomain string
}

// Decision is what Plan decided. The caller must, in this order: write Status if it differs from the job's, under the
// resourceVersion of World.Job, and stop if that fails; if it wrote nothing and Actions create something, read the job
// live and stop if its resourceVersion is another (the fence); carry out Actions group by group, or, if it wrote Status, plan
// again; emit Events if the status was written; and plan again after RequeueAfter, if that is not zero. If an action is
// refused for a reason that the user must hear of, the caller carries out the decision of Report.
type Decision struct {
	// Status is to be written as a whole. It may share memory with the status of World.Job.
	Status       v1beta1.GenericJobStatus
	Actions      []Action
	Events       []Event
	RequeueAfter time.Duration
	// Postponed is the first status of a job, and the events to be emitted with it, if that waits for a view of the pods.
	// It is only of use to Report.
	Postponed *Decision
	// Stale says that some pod is newer than the job's status, so that nothing could be decided. A caller that finds the
	// job to be live nevertheless should plan again with World.JobIsLive.
	Stale bool
}

// A change that only refreshes the view of the pods in the status waits until the last write is viewInterval old, and
// viewIntervalOfRow for each row of the status, if that is longer: in each write the apiserver decodes and validates every
// row anew. So does a success that decides nothing, while nobody waits for its pod to go: 500 pods that end within a second
// would else be a dozen writes of 500 rows. The pod keeps its finalizer until its success is written.
const (
	viewInterval      = time.Second
	viewIntervalOfRow = 5 * time.Millisecond
)

// staleInterval is when to look again after seeing pods that are newer than the job's status: the job's own watch event
// comes first in practice, so this only bounds the wait.
const staleInterval = time.Second

// Plan decides what to do about a job.
func Plan(w World) Decision {
	p := newPass(w)
	switch {
	case w.Job.DeletionTimestamp != nil:
		p.letGo()
		return p.unchanged()
	case p.broken != "":
		p.reportBroken()
		return p.decide()
	case p.stale:
		p.wakeAfter(staleInterval)
		d := p.unchanged()
		d.Stale = true
		return d
	}
	p.recognise()
	p.book()
	p.apply(p.firstVerdict())
	p.act()
	p.observe()
	return p.decide()
}

// unchanged is a decision that leaves the status alone.
func (p *pass) unchanged() Decision {
	return Decision{Status: p.Job.Status, Actions: p.actions, RequeueAfter: p.wake}
}

// decide compares the status with the stored one and holds back changes that only refresh the view, and a first status that
// only says that the job begins.
func (p *pass) decide() Decision {
	if p.broken == "" {
		p.saveLedger()
	}
	old := &p.Job.Status
	p.status.LastUpdateTime = old.LastUpdateTime
	if equality.Semantic.DeepEqual(*old, p.status) {
		return p.unchanged()
	}
	wait := p.mayWait()
	now := metav1.NewMicroTime(p.Now)
	p.status.LastUpdateTime = &now
	if wait <= 0 {
		return Decision{Status: p.status, Actions: p.actions, Events: p.transitions(), RequeueAfter: p.wake}
	}
	p.wakeAfter(wait)
	p.actions = p.withoutPostponed()
	d := p.unchanged()
	if p.first {
		d.Postponed = &Decision{Status: p.status, Events: p.transitions()}
	}
	return d
}

// mayWait is how long the status of this pass may wait to be written; 0 if it says anything that must not.
func (p *pass) mayWait() time.Duration {
	if p.awaited {
		return 0
	}
	if p.first {
		return p.untilFirst()
	}
	wait := p.untilView()
	if wait > 0 && !equality.Semantic.DeepEqual(essence(&p.Job.Status), essence(&p.status)) {
		return 0
	}
	return wait
}

// untilView is how long a change of the view has to wait; 0 if it need not.
func (p *pass) untilView() time.Duration {
	last := p.Job.Status.LastUpdateTime
	if last == nil {
		return 0
	}
	rows := 0
	for i := range p.Job.Status.Tasks {
		rows += len(p.Job.Status.Tasks[i].Replicas)
	}
	interval := max(viewInterval, time.Duration(rows)*viewIntervalOfRow)
	wait := interval - p.Now.Sub(last.Time)
	if wait > interval {
		return 0 // the clock was set back
	}
	return max(wait, 0)
}

// essence is a status without what merely shows the pods as they are at the moment, and without successes, which are
// essential only by what they decide. It shares memory with s.
func essence(s *v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	out := *s
	out.Aggregate = v1beta1.Aggregate{}
	out.Running = ""
	out.Tasks, out.Conditions = slices.Clone(s.Tasks), slices.Clone(s.Conditions)
	for i := range out.Tasks {
		out.Tasks[i].Replicas = nil
	}
	out.Ledger = nil
	for _, l := range s.Ledger {
		l.Succeeded = ""
		if l.Failed != "" || len(l.Replicas) > 0 {
			out.Ledger = append(out.Ledger, l)
		}
	}
	for i := range out.Conditions {
		if t := out.Conditions[i].Type; t == v1beta1.ConditionRunning || t == v1beta1.ConditionReplicaFailure {
			out.Conditions[i] = v1beta1.JobCondition{Type: t}
		}
	}
	return out
}

// wakeAfter asks for another pass no later than d from now.
func (p *pass) wakeAfter(d time.Duration) {
	if d <= 0 {
		d = time.Millisecond
	}
	if p.wake == 0 || d < p.wake {
		p.wake = d
	}
}

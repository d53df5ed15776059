package barrier

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// Inputs are what the barrier looks at beside the ledger and the pods.
type Inputs struct {
	Job *v1beta1.GenericJob
	// Reports are those of wrappers, by the UIDs of their pods.
	Reports map[types.UID]inplace.Report
	Now     time.Time
	// WrapperImage is the image that holds the wrapper; "": no pod restarts in place.
	WrapperImage string
	// CauseIsUnknown says that the failure for which the replicas restart followed from the end of another, which no kubelet has reported yet.
	CauseIsUnknown bool
}

const (
	// patience is how long a replica may take to arrive at the barrier, beyond its grace period, before its pod is replaced.
	patience = 30 * time.Second
	// kubeletWithin is how long a kubelet may take to report an end of which the wrapper that runs again knows. Others wait for the report if that end
	// may be the cause.
	kubeletWithin = 10 * time.Second
)

// Awaited are the pods whose reports Plan needs while replicas wait for each other: an order has moved each of them to a later attempt.
func Awaited(job *v1beta1.GenericJob, pods []*corev1.Pod) []*corev1.Pod {
	if !Waits(job) || job.Status.CompletionTime != nil {
		return nil
	}
	return startedOver(Askable(job, pods))
}

// startedOver are the pods that an order has moved to a later attempt than they were made for.
func startedOver(pods []*corev1.Pod) (list []*corev1.Pod) {
	for _, pod := range pods {
		if ending.NumbersOf(pod).StartedOver() && ending.CanGoOn(pod) {
			list = append(list, pod)
		}
	}
	return list
}

// ReportPort is the TCP port at which the wrapper of a pod answers.
func ReportPort(job *v1beta1.GenericJob, pod *corev1.Pod) int {
	if r := spec.OfType(job, pod.Labels[v1beta1.LabelReplicaType]); r != nil {
		return build.WrapperPort(r)
	}
	return inplace.Port
}

// Waits reports whether, by its status, the replicas of a job wait for each other. Controllers ask before there is a ledger. Once there is one,
// BarrierIsOpen knows more: in debug mode nobody waits.
func Waits(job *v1beta1.GenericJob) bool {
	reached := int32(0)
	if s := job.Status.InPlace; s != nil {
		reached = s.StartedJobAttempt
	}
	return job.Spec.RestartStrategy == v1beta1.RestartInPlace && job.Spec.RestartScope == v1beta1.RestartScopeJob && reached < job.Status.JobAttempt
}

// Barrier is how far replicas are that wait for each other.
type Barrier struct {
	MayCreateUnwrapped bool   // no earlier code runs, and the delay is over: pods of types without a wrapper may be created
	all                bool   // pods of types without a wrapper are there, too
	Awaits             string // whom or what they wait for: whom the status names, if that one is still awaited, else the first that was found
	running            string // the message of the condition Running
	exits              map[types.UID]int
}

// Open opens the barrier once all replicas have arrived. Those that do not arrive get new pods. Pods without a wrapper cannot wait: they are created
// when all others have stopped, and then all go on. A pod of an earlier attempt may be there and not in view: a new pod of the same name proves
// that it is gone.
func Open(f Inputs, draft ledger.Draft, replicas *roster.Roster) Barrier {
	b := Barrier{MayCreateUnwrapped: true, all: true, exits: map[types.UID]int{}}
	if c := status.Condition(f.Job.Status.Conditions, v1beta1.ConditionRunning); c != nil {
		b.running = c.Message
	}
	if draft.BarrierIsOpen() {
		return b
	}
	for t, rank := range replicas.Replicas() {
		if !t.Auxiliary && !t.Finished(rank) {
			b.noteArrival(f, draft, replicas, t, rank)
		}
	}
	if has, _ := replicas.HasSuperseded(); has {
		b.MayCreateUnwrapped = false
		b.await("pods of an earlier start to go")
	}
	if wait := draft.NextDelay(f.Now); wait > 0 {
		b.MayCreateUnwrapped = false
		b.await("the end of the delay after several short lives, at " + f.Now.Add(wait).UTC().Format(time.RFC3339))
	}
	if b.MayCreateUnwrapped && b.all {
		noteExits(draft, replicas, b.exits)
		draft.OpenBarrier(f.Now)
	}
	return b
}

// mostAhead is by how many ends a report may be ahead of what the kubelet has said of the pod.
const mostAhead = 16

// noteArrival notes whether a replica has come to the barrier, by its report. It replaces the pod of one that is too late.
func (b *Barrier) noteArrival(f Inputs, draft ledger.Draft, replicas *roster.Roster, t *roster.Type, rank int) {
	pod, attempt := t.Pods[rank], draft.Attempt(t.Account, rank)
	switch {
	case pod == nil && !build.RestartsInPlace(f.Job, t.ReplicaSpec, f.WrapperImage):
		b.all = false // the status says whose pod is missing
	case pod == nil:
		b.MayCreateUnwrapped = false
	case t.Made(rank) >= attempt: // its pod was made for this attempt: no earlier code was ever in it
	default:
		report := f.Reports[pod.UID]
		if report.Pod == string(pod.UID) && report.Attempt == attempt && report.Exits <= t.Pod(rank).Exits()+mostAhead {
			b.exits[pod.UID] = report.Exits
			if f.untilKubelet(draft.Ledger) > 0 && report.Exits > t.Pod(rank).Exits() {
				b.MayCreateUnwrapped = false
				b.await(fmt.Sprintf("the kubelet to say how replica %s-%d has ended", t.Type, rank))
			}
			return
		}
		b.MayCreateUnwrapped = false
		replaceAbsent(f, draft, replicas, t, rank)
		b.await(arrivalOf(replicas, t, rank))
	}
}

// arrivalOf names what the others wait for: that the code of a replica stops, or that it gets another pod.
func arrivalOf(replicas *roster.Roster, t *roster.Type, rank int) string {
	if replicas.IsObsolete(t, rank) {
		return fmt.Sprintf("the pod of replica %s-%d to be replaced", t.Type, rank)
	}
	return fmt.Sprintf("replica %s-%d to say that its code has stopped", t.Type, rank)
}

// untilKubelet is how long kubelets are awaited at the barrier, one of which may know the cause; zero or less if they are not. If the clock has been
// set back, nobody knows since when they are.
func (f Inputs) untilKubelet(l *ledger.Ledger) time.Duration {
	since := f.Now.Sub(l.BarrierTime())
	if !f.CauseIsUnknown || since < -kubeletWithin {
		return 0
	}
	return kubeletWithin - since
}

// await notes who is awaited. It keeps whom the status names: another name each time would be a write of the status each time.
func (b *Barrier) await(whom string) {
	if b.Awaits == "" || status.TellsAwaits(b.running, whom) {
		b.Awaits = whom
	}
}

// replaceAbsent replaces the pod of a replica that will not arrive.
func replaceAbsent(f Inputs, draft ledger.Draft, replicas *roster.Roster, t *roster.Type, rank int) {
	switch {
	case replicas.IsObsolete(t, rank): // it is replaced already
	case replicas.IsSuperseded(t, rank): // it may have been told of this attempt: whoever sees it later must not take it for a pod of it
		draft.ReplacePod(t.Account, rank)
	case replicas.IsStranded(t, rank): // with its node, perhaps, on which others of the job were
		draft.ReplacePod(t.Account, rank)
	case f.Now.After(draft.BarrierTime().Add(patience + spec.Grace(&t.Template))):
		draft.ReplacePod(t.Account, rank)
	}
}

// noteExits notes what has ended so far: it belongs to attempts that are over.
func noteExits(draft ledger.Draft, replicas *roster.Roster, exits map[types.UID]int) {
	for t, rank := range replicas.Replicas() {
		pod := t.Pods[rank]
		if pod != nil && !t.Finished(rank) {
			draft.NoteExits(t.Account, rank, pod.UID, max(exits[pod.UID], t.Pod(rank).Exits()))
		}
	}
}

// OrderOf is what a replica is to do by the ledger.
func OrderOf(l *ledger.Ledger, account *ledger.Account, rank int) inplace.Order {
	o := inplace.Order{Attempt: l.Attempt(account, rank), JobAttempt: int(l.JobAttempt())}
	if l.BarrierIsOpen() {
		o.Go = o.Attempt
	}
	return o
}

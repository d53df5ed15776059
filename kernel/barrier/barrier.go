package barrier

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// Inputs are what the barrier looks at besides the ledger and the pods.
type Inputs struct {
	Job *v1beta1.GenericJob
	// Reports are the wrappers' reports, by the UID of the pod.
	Reports map[types.UID]inplace.Report
	Now     time.Time
	// WrapperImage is the image that holds the wrapper. If it is "", no pod restarts in place.
	WrapperImage string
	// CauseIsUnknown says that the replicas restart for a failure that followed from another one, and no kubelet has reported that other one yet.
	CauseIsUnknown bool
}

const (
	// arrivalTimeout is how long a replica may take to arrive at the barrier, beyond its grace period, before its pod is replaced.
	arrivalTimeout = 30 * time.Second
	// kubeletTimeout is how long the barrier waits for a kubelet to report an end that the restarted wrapper has already counted. It waits only if that
	// end may be the cause of the restart.
	kubeletTimeout = 10 * time.Second
)

// Awaited returns the pods that must report before the barrier opens: an order has moved each of them to a later attempt.
func Awaited(job *v1beta1.GenericJob, pods []*corev1.Pod) []*corev1.Pod {
	if !IsClosed(job) || job.Status.CompletionTime != nil {
		return nil
	}
	return startedOver(Reachable(job, pods))
}

// startedOver selects the pods that an order has moved to a later attempt than they were made for.
func startedOver(pods []*corev1.Pod) (list []*corev1.Pod) {
	for _, pod := range pods {
		if podstate.NumbersOf(pod).WasStartedOver() && podstate.CanGoOn(pod) {
			list = append(list, pod)
		}
	}
	return list
}

// ReportPort returns the TCP port at which the wrapper of a pod answers.
func ReportPort(job *v1beta1.GenericJob, pod *corev1.Pod) int {
	if r := spec.OfType(job, pod.Labels[v1beta1.LabelReplicaType]); r != nil {
		return build.WrapperPort(r)
	}
	return inplace.Port
}

// IsClosed reports whether the barrier is closed, by the job's status alone. It is for callers without a ledger. Where there is a ledger, ask its
// BarrierIsOpen: that also knows that nobody waits in debug mode.
func IsClosed(job *v1beta1.GenericJob) bool {
	reached := int32(0)
	if s := job.Status.InPlace; s != nil {
		reached = s.StartedJobAttempt
	}
	return job.Spec.RestartStrategy == v1beta1.RestartInPlace && job.Spec.RestartScope == v1beta1.RestartScopeJob && reached < job.Status.JobAttempt
}

// Barrier is how far the replicas are that wait for each other.
type Barrier struct {
	// MayCreateUnwrapped says that all replicas with a wrapper have arrived, that no earlier code runs any more, and that the restart delay is over.
	// Pods of types without a wrapper may be created then. When these are there, too, the barrier opens.
	MayCreateUnwrapped bool
	// Awaits is whom or what the replicas wait for. It stays the one that the status names, as long as that one is still awaited.
	Awaits string

	hasUnwrapped bool              // each replica of a type without a wrapper has its new pod
	told         string            // the message of the condition Running in the stored status
	exits        map[types.UID]int // how often the container has ended, by the reports of those that have arrived
}

// OpenIfAllArrived opens the barrier once all replicas have arrived.
//
//  1. Replicas with a wrapper arrive: their code has stopped, and their wrappers report that. A replica that is too late gets a new pod.
//  2. Replicas without a wrapper cannot wait in their pods. So their pods are created only when no earlier code runs any more.
//  3. When these pods are there, the barrier opens, and all replicas may go on.
//
// The cache may not show a pod of an earlier attempt. But a new pod of the same name proves that it is gone.
func OpenIfAllArrived(in Inputs, draft ledger.Draft, replicas *roster.Roster) Barrier {
	b := Barrier{MayCreateUnwrapped: true, hasUnwrapped: true, exits: map[types.UID]int{}}
	if c := status.Condition(in.Job.Status.Conditions, v1beta1.ConditionRunning); c != nil {
		b.told = c.Message
	}
	if draft.BarrierIsOpen() {
		return b
	}
	for t, rank := range replicas.Replicas() {
		if !t.Auxiliary && !t.HasFinished(rank) {
			b.noteArrival(in, draft, replicas, t, rank)
		}
	}
	if has, _ := replicas.HasPodsThatMustGo(); has {
		b.MayCreateUnwrapped = false
		b.await("pods of an earlier start to go")
	}
	if wait := draft.NextDelay(in.Now); wait > 0 {
		b.MayCreateUnwrapped = false
		b.await("the end of the delay after several short lives, at " + in.Now.Add(wait).UTC().Format(time.RFC3339))
	}
	if b.MayCreateUnwrapped && b.hasUnwrapped {
		noteExits(draft, replicas, b.exits)
		draft.OpenBarrier(in.Now)
	}
	return b
}

// noteArrival notes whether a replica has come to the barrier. It replaces the pod of one that is too late.
func (b *Barrier) noteArrival(in Inputs, draft ledger.Draft, replicas *roster.Roster, t *roster.Type, rank int) {
	pod, attempt := t.Pods[rank], draft.Attempt(t.Account, rank)
	switch {
	case pod == nil && !build.RestartsInPlace(in.Job, t.ReplicaSpec, in.WrapperImage):
		b.hasUnwrapped = false // the status says whose pod is missing
	case pod == nil:
		b.MayCreateUnwrapped = false
	case t.PodAttempt(rank) >= attempt: // its pod was made for this attempt: no earlier code was ever in it
	case in.hasReported(t, rank, attempt):
		b.noteReport(in, draft.Ledger, t, rank)
	default:
		b.MayCreateUnwrapped = false
		replaceAbsent(in, draft, replicas, t, rank)
		b.await(arrivalOf(replicas, t, rank))
	}
}

// mostAhead is how many ends more a report may tell than the kubelet. A report that tells still more is not believed.
const mostAhead = 16

// hasReported reports whether the wrapper in a replica's pod says that no code of an earlier attempt runs there.
func (in Inputs) hasReported(t *roster.Type, rank, attempt int) bool {
	uid := t.Pods[rank].UID
	report := in.Reports[uid]
	return report.Pod == string(uid) && report.Attempt == attempt && report.Exits <= t.Pod(rank).Exits()+mostAhead
}

// noteReport notes the report of a replica that has arrived. If its kubelet has yet to tell an end that may be the cause, all wait for the kubelet.
func (b *Barrier) noteReport(in Inputs, l *ledger.Ledger, t *roster.Type, rank int) {
	uid := t.Pods[rank].UID
	b.exits[uid] = in.Reports[uid].Exits
	if in.untilKubelet(l) > 0 && b.exits[uid] > t.Pod(rank).Exits() {
		b.MayCreateUnwrapped = false
		b.await(fmt.Sprintf("the kubelet to say how replica %s-%d has ended", t.Type, rank))
	}
}

// arrivalOf says what the others wait for: the replica's code has to stop, or the replica gets another pod.
func arrivalOf(replicas *roster.Roster, t *roster.Type, rank int) string {
	if replicas.IsObsolete(t, rank) {
		return fmt.Sprintf("the pod of replica %s-%d to be replaced", t.Type, rank)
	}
	return fmt.Sprintf("replica %s-%d to say that its code has stopped", t.Type, rank)
}

// untilKubelet returns how much longer the barrier waits for kubelets, one of which may know the cause. It is zero or less if it does not wait. After
// the clock was set back, nobody knows how long it has waited, so it does not.
func (in Inputs) untilKubelet(l *ledger.Ledger) time.Duration {
	since := in.Now.Sub(l.BarrierTime())
	if !in.CauseIsUnknown || since < -kubeletTimeout {
		return 0
	}
	return kubeletTimeout - since
}

// await notes whom or what the replicas wait for. It prefers the one that the status names: each new name costs a write of the status.
func (b *Barrier) await(whom string) {
	if b.Awaits == "" || status.NamesAwaited(b.told, whom) {
		b.Awaits = whom
	}
}

// replaceAbsent replaces the pod of a replica that will not arrive.
func replaceAbsent(in Inputs, draft ledger.Draft, replicas *roster.Roster, t *roster.Type, rank int) {
	switch {
	case replicas.IsObsolete(t, rank): // it is being replaced already
	case replicas.IsToBeReplaced(t, rank): // its order may be of this attempt: a later reconcile must not take it for a pod of the attempt
		draft.ReplacePod(t.Account, rank)
	case replicas.IsStranded(t, rank): // perhaps with its node, on which other pods of the job were
		draft.ReplacePod(t.Account, rank)
	case in.Now.After(draft.BarrierTime().Add(arrivalTimeout + spec.Grace(&t.Template))):
		draft.ReplacePod(t.Account, rank)
	}
}

// noteExits notes how often each container has ended so far. These ends belong to attempts that are over, so none is counted again.
func noteExits(draft ledger.Draft, replicas *roster.Roster, exits map[types.UID]int) {
	for t, rank := range replicas.Replicas() {
		pod := t.Pods[rank]
		if pod != nil && !t.HasFinished(rank) {
			draft.NoteExits(t.Account, rank, pod.UID, max(exits[pod.UID], t.Pod(rank).Exits()))
		}
	}
}

// OrderOf returns the order that a replica must have, by the ledger.
func OrderOf(l *ledger.Ledger, account *ledger.Account, rank int) inplace.Order {
	o := inplace.Order{Attempt: l.Attempt(account, rank), JobAttempt: int(l.JobAttempt())}
	if l.BarrierIsOpen() {
		o.Go = o.Attempt
	}
	return o
}

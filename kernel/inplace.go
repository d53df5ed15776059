package kernel

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

// Restarts in place. A replica that has failed alone is told, by its pod's annotation, to go on in the next attempt. Where the whole
// job starts over, all are told to stop first: the barrier. None is told to go on before each has reported that nothing of an earlier
// attempt runs in its pod, and before pods that cannot be told are gone. That is written in the status, as Reached, before anyone
// goes.
//
// A pod's wrapper starts no code without an order, so that the kubelet may start containers as often as it likes.

const (
	// patience is how long a replica may take to arrive at the barrier, beyond its grace period, before its pod is replaced.
	patience = 30 * time.Second
)

// Awaited are the pods whose reports Plan needs: those that were told of an attempt for which they were not made, while replicas wait
// for each other.
func Awaited(job *v1beta1.GenericJob, pods []*corev1.Pod) []*corev1.Pod {
	if !waits(job) || job.Status.CompletionTime != nil {
		return nil
	}
	return startedOver(askable(job, pods))
}

// startedOver are the pods that were told of an attempt for which they were not made.
func startedOver(pods []*corev1.Pod) (list []*corev1.Pod) {
	for _, pod := range pods {
		if ending.MarksOf(pod).StartedOver() && ending.CanGoOn(pod) {
			list = append(list, pod)
		}
	}
	return list
}

// ReportPort is the TCP port at which the wrapper of a pod answers.
func ReportPort(job *v1beta1.GenericJob, pod *corev1.Pod) int {
	if r := replicaSpec(job, pod); r != nil {
		return build.WrapperPort(r)
	}
	return inplace.Port
}

// waits says whether, by its status, the replicas of a job wait for each other.
func waits(job *v1beta1.GenericJob) bool {
	reached := int32(0)
	if s := job.Status.InPlace; s != nil {
		reached = s.StartedJobAttempt
	}
	return job.Spec.RestartStrategy == v1beta1.RestartInPlace && job.Spec.RestartScope == v1beta1.RestartScopeJob && reached < job.Status.JobAttempt
}

// barrier is how far a pass finds replicas that wait for each other.
type barrier struct {
	stopped bool   // code of an earlier attempt runs in no pod that is asked, and the delay is over: types whose pods cannot wait may begin
	all     bool   // their pods are there, too
	awaits  string // whom or what they wait for: as the status tells already, if that is still so, else the first
	told    string // what the condition Running tells
	exits   map[types.UID]int
}

// gather lets replicas go on that have waited for each other, once all are there. Those who do not come get new pods. Pods that run without
// a wrapper cannot wait: they come last, when all others have stopped, and the others go on when they are there. One of an earlier
// attempt may be there and not in view: a new pod, of the same name, is proof that it is gone.
func gather(w World, draft ledger.Draft, crew *roster.Roster) barrier {
	b := barrier{stopped: true, all: true, exits: map[types.UID]int{}}
	if c := status.Condition(w.Job.Status.Conditions, v1beta1.ConditionRunning); c != nil {
		b.told = c.Message
	}
	if draft.Gathered() {
		return b
	}
	for i := range crew.Types {
		t := &crew.Types[i]
		for rank := range t.Pods {
			if !t.Auxiliary && !t.Finished(rank) {
				b.ask(w, draft, crew, t, rank)
			}
		}
	}
	if garbage, _ := crew.HasGarbage(); garbage {
		b.stopped = false
		b.await("pods of an earlier start to go")
	}
	if wait := draft.NextDelay(w.Now); wait > 0 {
		b.stopped = false
		b.await("the end of the delay after several short lives, at " + w.Now.Add(wait).UTC().Format(time.RFC3339))
	}
	if b.stopped && b.all {
		noteExits(draft, crew, b.exits)
		draft.Gather(w.Now)
	}
	return b
}

// ask finds out whether a replica has come to the barrier.
func (b *barrier) ask(w World, draft ledger.Draft, crew *roster.Roster, t *roster.Type, rank int) {
	pod, attempt := t.Pods[rank], draft.Attempt(t.Account, rank)
	switch {
	case pod == nil && !build.RestartsInPlace(w.Job, t.ReplicaSpec, w.Settings.WrapperImage):
		b.all = false
	case pod == nil:
		b.stopped = false
	case t.Made(rank) >= attempt:
		return
	default:
		if report := w.Reports[pod.UID]; report.Pod == string(pod.UID) && report.Attempt == attempt {
			b.exits[pod.UID] = report.Exits
			return
		}
		b.stopped = false
		renounceAbsent(w, draft, crew, t, rank)
	}
	b.await(fmt.Sprintf("replica %s-%d to say that its code has stopped", t.Type, rank))
}

// await notes who is awaited. Who has been told before stays it: another one each time would be a write of the status each time.
func (b *barrier) await(whom string) {
	if b.awaits == "" || status.TellsAwaits(b.told, whom) {
		b.awaits = whom
	}
}

// renounceAbsent gives up the pod of a replica that will not come any more.
func renounceAbsent(w World, draft ledger.Draft, crew *roster.Roster, t *roster.Type, rank int) {
	switch {
	case crew.IsObsolete(t, rank): // it is replaced already
	case crew.IsGarbage(t, rank): // it may have been told of this attempt: whoever sees it later must not take it for a pod of it
		draft.Renounce(t.Account, rank)
	case crew.IsStranded(t, rank): // with its node, perhaps, on which others of the job were
		draft.Renounce(t.Account, rank)
	case w.Now.After(draft.BarrierTime().Add(patience + spec.Grace(&t.Template))):
		draft.Renounce(t.Account, rank)
	}
}

// noteExits notes what has ended so far: it belongs to attempts that are over.
func noteExits(draft ledger.Draft, crew *roster.Roster, exits map[types.UID]int) {
	for i := range crew.Types {
		t := &crew.Types[i]
		for rank, pod := range t.Pods {
			if pod != nil && !t.Finished(rank) {
				draft.NoteExits(t.Account, rank, pod.UID, max(exits[pod.UID], t.Pod(rank).Exits()))
			}
		}
	}
}

// order tells the pod of a replica to be at the ledger's attempt, and whether it may go on there.
func (a *acting) order(t *roster.Type, rank int) {
	have := t.Order(rank)
	if have == nil || !a.runs {
		return
	}
	want := orderOf(a.ledger, t.Account, rank)
	if *have == want {
		return
	}
	if wait, _ := a.ledger.Delay(t.Account, rank, a.Now); wait > 0 && !a.ledger.WholeJob() {
		a.wakeAfter(wait)
		return
	}
	reason := "it goes on"
	if want.Go < want.Attempt {
		reason = "it waits for the others"
	}
	a.actions = append(a.actions, Action{Verb: OrderPod, Pod: t.Pods[rank], Order: want, Reason: reason})
}

// orderOf is what a replica is to do by the ledger.
func orderOf(l *ledger.Ledger, account *ledger.Account, rank int) inplace.Order {
	o := inplace.Order{Attempt: l.Attempt(account, rank), JobAttempt: int(l.JobAttempt())}
	if l.Gathered() {
		o.Go = o.Attempt
	}
	return o
}

// waitsInVain reports whether a pod of a job that has finished waits for an order to go on, or for a start that does not come.
func (a *acting) waitsInVain(t *roster.Type, rank int, pod ending.Pod) bool {
	o := t.Order(rank)
	if o == nil || t.Finished(rank) {
		return false
	}
	stays := a.judge.UntilStranded(pod)
	a.wakeAfter(max(0, stays))
	return stays == 0 || o.Go < o.Attempt || o.Attempt < a.ledger.Attempt(t.Account, rank) || pod.Exits() > t.Exits(rank, pod.UID)
}

// stopWaiting ends a pod that restarts in place and in which no code runs, nor ever will: the pod stays, with its logs.
func (a *acting) stopWaiting(pod ending.Pod) {
	if deadline := pod.Spec.ActiveDeadlineSeconds; ending.CanGoOn(pod.Pod) && (deadline == nil || *deadline > 1) {
		a.do(EndPod, pod.Pod, "its code is not run again")
	}
}

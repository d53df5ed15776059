// Package roster finds the replica of each pod of a job, and says what the pod means. For that it reads the ledger each time it is asked. It changes
// neither pods nor ledger. It does not know what is done about pods, nor what users are told of them.
//
// A replica has at most one pod, because pods are found by their names. Pods that the job does not control are left out.
//
// Begin with Of.
package roster

import (
	"cmp"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Roster holds the pods of a job by replica.
type Roster struct {
	// Types are those of the spec, in its order.
	Types []Type
	// ScaledDown are pods of the job whose type or rank the spec does not have (any more), in the order of their names.
	ScaledDown []ScaledDownPod
	// Unclaimed are pods that the job controls, but which are no replica's by their names and labels, in the order of their names.
	Unclaimed []*corev1.Pod
	// Newer is the name of the first pod that is newer than the ledger; "" if there is none. It shows that the cache of jobs lags.
	Newer string
	// Earlier is the name of the first pod that an earlier build of the operator has made; "" if there is none.
	Earlier string
	// Names makes and recognises the names of the job's pods.
	Names spec.Names

	ledger *ledger.Ledger
	judge  podstate.Judge
}

// Type is a replica type with its pods. It has what these have:
//   - ledger.Account: HasFinished, Streak, Index
//   - in that, spec.ReplicaType: N, Policy, StartsAtOnce
//   - in that, v1beta1.ReplicaSpec: Type, Template, Auxiliary
type Type struct {
	*ledger.Account
	// Pods are the pods by rank; nil for a rank without one. They must not be changed.
	Pods    []*corev1.Pod
	numbers []*podstate.Numbers // by rank; read once from the pods, because a reconcile asks for them many times
}

// none are the Pods of every type that has no pods. They are shared, so that a reconcile needs no memory for them. A job of a few kilobytes may have
// thousands of replicas that never get a pod.
var none [spec.MaxReplicas]*corev1.Pod

// ScaledDownPod is a pod without a replica.
type ScaledDownPod struct {
	Pod  *corev1.Pod
	Type string
	Rank int
	// Attempt is the attempt that the pod was made for, or was last told of.
	Attempt int
}

// Of puts each pod that the job controls at its rank, or among the scaled-down pods.
func Of(job *v1beta1.GenericJob, l *ledger.Ledger, pods []*corev1.Pod, judge podstate.Judge) *Roster {
	r := &Roster{ledger: l, judge: judge, Names: spec.NamesOf(job), Types: make([]Type, 0, len(l.Accounts()))}
	for _, a := range l.Accounts() {
		r.Types = append(r.Types, Type{Account: a, Pods: none[:a.N:a.N]})
	}
	numbers := make([]podstate.Numbers, len(pods))
	for i, pod := range pods {
		if metav1.IsControlledBy(pod, job) {
			r.add(job, pod, &numbers[i])
		}
	}
	slices.SortFunc(r.ScaledDown, func(a, b ScaledDownPod) int { return cmp.Compare(a.Pod.Name, b.Pod.Name) })
	slices.SortFunc(r.Unclaimed, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

func (r *Roster) add(job *v1beta1.GenericJob, pod *corev1.Pod, m *podstate.Numbers) {
	*m = podstate.NumbersOf(pod)
	name, rank, ok := ReplicaOf(r.Names, pod)
	if !ok {
		r.Unclaimed = append(r.Unclaimed, pod)
		return
	}
	a := r.ledger.Account(name)
	attempt := r.ledger.Attempt(a, rank)
	if a == nil || rank >= a.N { // N is 0 for a type that only the ledger has
		r.ScaledDown = append(r.ScaledDown, ScaledDownPod{pod, name, rank, m.CodeAttempt()})
	} else {
		r.Types[a.Index].put(rank, pod, m)
	}
	isNewer := max(m.Attempt, m.CodeAttempt()) > attempt || m.ModeGeneration > r.ledger.ModeGeneration()
	if isNewer && job.Status.CompletionTime == nil && (r.Newer == "" || pod.Name < r.Newer) {
		r.Newer = pod.Name
	}
	if m.IsOfEarlierBuild(pod) && (r.Earlier == "" || pod.Name < r.Earlier) {
		r.Earlier = pod.Name
	}
}

// ReplicaOf returns the replica of a pod that a job controls, if the pod has the name of one. Otherwise the operator did not make the pod, though it
// claims the job as its controller; or somebody has edited its labels. The operator leaves such a pod alone, and only takes its finalizer off at the
// end.
func ReplicaOf(names spec.Names, pod *corev1.Pod) (replicaType string, rank int, ok bool) {
	replicaType, rank = pod.Labels[v1beta1.LabelReplicaType], podstate.Number(pod, v1beta1.LabelReplicaRank)
	ok = rank >= 0 && rank < spec.MaxReplicas && (names.Is(pod.Name, replicaType, rank) || names.Was(pod.Name, replicaType, rank))
	return replicaType, rank, ok
}

// put notes the pod of a replica.
func (t *Type) put(rank int, pod *corev1.Pod, m *podstate.Numbers) {
	if t.numbers == nil {
		t.Pods, t.numbers = make([]*corev1.Pod, t.N), make([]*podstate.Numbers, t.N)
	}
	t.Pods[rank], t.numbers[rank] = pod, m
}

// Replicas yields all replicas of the spec's types, in the order of types and ranks.
func (r *Roster) Replicas() iter.Seq2[*Type, int] {
	return func(yield func(*Type, int) bool) {
		for i := range r.Types {
			for rank := range r.Types[i].Pods {
				if !yield(&r.Types[i], rank) {
					return
				}
			}
		}
	}
}

// Pod returns the pod of a replica that has one. For others its Pod is nil. This and the questions below that take a rank need a pod, and panic
// without one, if they do not say otherwise.
func (t *Type) Pod(rank int) podstate.Pod {
	return podstate.Pod{Pod: t.Pods[rank], Template: &t.Template}
}

// State says what the pod of a replica that has not finished means.
func (r *Roster) State(t *Type, rank int) podstate.State {
	return r.judge.Of(t.Pod(rank), t.numbers[rank], podstate.Replica{
		Attempt: r.ledger.Attempt(t.Account, rank), ModeGeneration: r.ledger.ModeGeneration(), RunsAgain: r.ledger.RunsAgain(t.Account, rank), Always: t.Policy.Allows(0),
		Obsolete: r.IsObsolete(t, rank), Exits: t.Exits(rank, t.Pods[rank].UID), BarrierIsOpen: r.ledger.BarrierIsOpen(), InPlace: r.ledger.RestartsInPlace(),
	})
}

// IsObsolete reports whether the pod of a replica is to be replaced because of when it was made.
func (r *Roster) IsObsolete(t *Type, rank int) bool {
	numbers := t.numbers[rank]
	return r.ledger.IsObsolete(t.Account, rank, numbers.Attempt, numbers.JobAttempt)
}

// Order returns the last order of a replica's pod; nil if the pod does not restart in place.
func (t *Type) Order(rank int) *inplace.Order { return t.numbers[rank].Order }

// PodAttempt returns the attempt that the pod of a replica was made for.
func (t *Type) PodAttempt(rank int) int { return t.numbers[rank].Attempt }

// HasNewExit reports whether the container that restarts in place has failed more often in the pod of a replica than the ledger has counted.
func (t *Type) HasNewExit(rank int) bool {
	pod := t.Pod(rank)
	return pod.Exits() > t.Exits(rank, pod.UID)
}

// NotReadyNode describes a replica whose pod's node is not Ready; see podstate.Judge.NotReadyNode.
func (r *Roster) NotReadyNode(t *Type, rank int) *podstate.NotReadyNode {
	return r.judge.NotReadyNode(t.Pod(rank))
}

// IsOverdue reports whether a pod is Terminating whose node must be dead; see podstate.Judge.IsOverdue.
func (r *Roster) IsOverdue(pod *corev1.Pod) bool { return r.judge.IsOverdue(pod) }

// Waiting says why a pod does not run; see podstate.Judge.Waiting.
func (r *Roster) Waiting(pod *corev1.Pod) (reason, message string) { return r.judge.Waiting(pod) }

// IsToBeReplaced reports whether the ledger has moved past the pod of a replica: it gets another one. In place, a success still counts.
func (r *Roster) IsToBeReplaced(t *Type, rank int) bool {
	switch numbers := t.numbers[rank]; {
	case r.ledger.RestartsInPlace() && t.HasFinished(rank):
		return false // a replica that has finished takes no part in later attempts
	case r.IsObsolete(t, rank):
		return true
	default:
		return numbers.IsBehind(r.ledger.Attempt(t.Account, rank), r.ledger.BarrierIsOpen()) && !podstate.CanGoOn(t.Pods[rank])
	}
}

// LacksPod reports whether an unfinished replica of a type has no pod, or is to have another.
func (r *Roster) LacksPod(t *Type) bool {
	for rank, pod := range t.Pods {
		if !t.HasFinished(rank) && (pod == nil || r.IsToBeReplaced(t, rank)) {
			return true
		}
	}
	return false
}

// IsUnwanted reports whether a replica has a living pod that the operator stops. The pod was made for an earlier mode generation, or is to be
// replaced. That includes such a pod whose state is AwaitingPhase.
func (r *Roster) IsUnwanted(t *Type, rank int) bool {
	pod := t.Pods[rank]
	if pod == nil {
		return false
	}
	mayBe := podstate.IsToStop(pod, t.numbers[rank], r.ledger.ModeGeneration()) || r.ledger.RestartsInPlace() && r.IsObsolete(t, rank)
	if !mayBe { // this is so for almost all pods, and saves the time to look at them
		return false
	}
	state := r.State(t, rank)
	return state == podstate.Unwanted || state == podstate.AwaitingPhase
}

// IsStranded reports whether the container of a replica's pod has ended and is not started again, whatever the ledger says of the pod.
func (r *Roster) IsStranded(t *Type, rank int) bool { return r.judge.IsStranded(t.Pod(rank)) }

// HasPods reports whether any replica has a pod.
func (r *Roster) HasPods() bool {
	return slices.ContainsFunc(r.Types, func(t Type) bool { return slices.ContainsFunc(t.Pods, func(p *corev1.Pod) bool { return p != nil }) })
}

// HasPodsThatMustGo reports whether pods exist that are to be replaced, or were scaled away. Until is the time after which that changes by itself; 0
// if it does not. A pod of an auxiliary type counts only as long as its code may run. The members of the next attempt must not meet there.
func (r *Roster) HasPodsThatMustGo() (has bool, until time.Duration) {
	if slices.ContainsFunc(r.ScaledDown, func(s ScaledDownPod) bool {
		a := r.ledger.Account(s.Type)
		return a == nil || a.Index < 0 || !a.Auxiliary
	}) {
		return true, 0
	}
	for t, rank := range r.Replicas() {
		pod := t.Pods[rank]
		if pod == nil || !r.IsToBeReplaced(t, rank) {
			continue
		}
		if !t.Auxiliary {
			return true, 0
		}
		if clears, after := r.judge.Clears(t.Pod(rank)); !clears {
			has, until = true, max(until, after)
		}
	}
	return has, until
}

// HaveStarted reports whether code has started in a pod of the present mode generation. Auxiliary replicas do not count: they only serve the others.
func (r *Roster) HaveStarted() bool {
	for t, rank := range r.Replicas() {
		pod := t.Pods[rank]
		if pod != nil && !t.Auxiliary && t.numbers[rank].ModeGeneration == r.ledger.ModeGeneration() && t.Pod(rank).HasRun() {
			return true
		}
	}
	return false
}

// UnfinishedWithPods returns how many replicas have a pod and have not finished, auxiliary ones left out.
func (r *Roster) UnfinishedWithPods() (n int) {
	for t, rank := range r.Replicas() {
		pod := t.Pods[rank]
		if pod != nil && !t.Auxiliary && !t.HasFinished(rank) {
			n++
		}
	}
	return n
}

// FirstCreated returns when the first of the pods was created; zero if there is none.
func (r *Roster) FirstCreated() time.Time {
	var first time.Time
	look := func(pod *corev1.Pod) {
		if pod != nil && !pod.CreationTimestamp.IsZero() && (first.IsZero() || pod.CreationTimestamp.Time.Before(first)) {
			first = pod.CreationTimestamp.Time
		}
	}
	for _, t := range r.Types {
		for _, pod := range t.Pods {
			look(pod)
		}
	}
	for _, s := range r.ScaledDown {
		look(s.Pod)
	}
	return first
}

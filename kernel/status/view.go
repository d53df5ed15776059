package status

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// maxRows is the number of replicas up to which each has a row in the status. In larger jobs only replicas that need attention have rows, so that the
// status stays far below the largest size that etcd takes.
const maxRows = 1000

// maxContainerRows is the number of containers that are shown in all rows together.
const maxContainerRows = 2000

// view is what the pods look like as a whole.
type view struct {
	allRun        bool // all replicas that have not finished run
	lost          lostNodes
	still         string // a pod that has ended in part, and what it waits for
	waiting       string // what the first that does not run waits for
	waitingReason string // the reason for that, if its pod cannot start
	waits         waits  // how many cannot start
	byStartPolicy bool   // that one has no pod yet, perhaps by its startPolicy: what keeps the others says more
	unplaced      bool   // that one waits for a node: in a gang that may be because another pod is gated
	problem       string // why a pod cannot start, if one cannot
	problemReason string
}

// derive derives what the status shows of the pods: rows, counts, phase and conditions.
func (w *writer) derive() {
	v := view{allRun: true}
	total, finished, containers := 0, 0, 0
	auxiliary := w.Ledger.AuxiliaryReplicas()
	for _, a := range w.Ledger.Accounts() {
		total, finished = total+a.N, finished+a.SucceededCount()+a.FailedCount()
	}
	w.status.Aggregate = v1beta1.Aggregate{}
	w.status.Tasks = make([]v1beta1.TaskStatus, 0, len(w.Roster.Types))
	for i := range w.Roster.Types {
		t := &w.Roster.Types[i]
		task := v1beta1.TaskStatus{Type: t.Type, RestartCount: t.Restarts()}
		for rank, pod := range t.Pods {
			phase := w.replicaPhase(t, rank, pod)
			if !t.Auxiliary {
				count(&w.status.Aggregate, phase)
			}
			v.add(w.Roster, t, rank, phase)
			if w.status.RowsOmitted || total > maxRows && !needsAttention(phase) {
				continue
			}
			r := w.replicaRow(t, rank, phase)
			if containers += len(r.Containers); containers > maxContainerRows {
				r.Containers = nil
			}
			task.Replicas = append(task.Replicas, r)
		}
		if total > maxRows && len(task.Replicas) > maxRows/len(w.Roster.Types) {
			task.Replicas = task.Replicas[:maxRows/len(w.Roster.Types)]
		}
		w.keepRows(&task)
		w.status.Tasks = append(w.status.Tasks, task)
	}
	w.status.Running = w.runningOf(total - finished - auxiliary)
	w.derivePhase()
	w.reportAvoided(&v)
	w.deriveConditions(v)
}

// runningOf prints how many of the unfinished replicas run. For a job that is over it prints how many were left running, if any were.
func (w *writer) runningOf(unfinished int) string {
	switch running := w.status.Aggregate.Running; {
	case !w.Verdict.IsOver():
		return fmt.Sprintf("%d/%d", running, unfinished)
	case running > 0:
		return fmt.Sprintf("%d left", running)
	default:
		return ""
	}
}

// replicaPhase returns the phase of a replica in the status. The ledger goes before the pod: a replica that has succeeded stays succeeded when its
// pod is gone.
func (w *writer) replicaPhase(t *roster.Type, rank int, pod *corev1.Pod) v1beta1.ReplicaPhase {
	none := w.noPodFollows()
	switch {
	case t.HasSucceeded(rank):
		return v1beta1.ReplicaSucceeded
	case t.HasFailed(rank):
		return v1beta1.ReplicaFailed
	case pod == nil && none:
		return v1beta1.ReplicaDeleted
	case pod == nil || !none && w.Roster.IsToBeReplaced(t, rank):
		return v1beta1.ReplicaCreating
	case pod.Status.Phase == corev1.PodPending && !podstate.IsScheduled(pod), pod.Status.Phase == "":
		return v1beta1.ReplicaCreating
	default:
		return v1beta1.ReplicaPhase(pod.Status.Phase)
	}
}

// noPodFollows reports whether a replica without a pod gets none, as long as the verdict stays.
func (w *writer) noPodFollows() bool {
	blockedInPause := w.Verdict.Course == verdict.Block && w.Job.Status.Phase == v1beta1.JobPaused
	return blockedInPause || w.Verdict.IsOver() || w.Verdict.Course == verdict.Pause
}

func count(a *v1beta1.Aggregate, phase v1beta1.ReplicaPhase) {
	switch phase {
	case v1beta1.ReplicaCreating:
		a.Creating++
	case v1beta1.ReplicaPending:
		a.Pending++
	case v1beta1.ReplicaRunning:
		a.Running++
	case v1beta1.ReplicaSucceeded:
		a.Succeeded++
	case v1beta1.ReplicaFailed:
		a.Failed++
	case v1beta1.ReplicaDeleted:
		a.Deleted++
	default:
		a.Unknown++
	}
}

func needsAttention(phase v1beta1.ReplicaPhase) bool {
	return phase == v1beta1.ReplicaFailed || phase == v1beta1.ReplicaUnknown
}

// add adds one replica to the view.
func (v *view) add(replicas *roster.Roster, t *roster.Type, rank int, phase v1beta1.ReplicaPhase) {
	pod := t.Pods[rank]
	if t.HasFinished(rank) {
		return
	}
	if phase == v1beta1.ReplicaRunning && pod.DeletionTimestamp == nil && !replicas.IsUnwanted(t, rank) {
		v.lost.add(t.Type, rank, replicas.NotReadyNode(t, rank))
		if v.still == "" {
			v.still = t.Pod(rank).StillRunsSentence()
		}
		return
	}
	v.allRun = false
	v.await(replicas, t, rank)
}

// await adds a replica that does not run yet to the view.
func (v *view) await(replicas *roster.Roster, t *roster.Type, rank int) {
	pod := t.Pods[rank]
	byStartPolicy := pod == nil && !t.StartsAtOnce()
	reason, message := waiting(replicas, t, rank, byStartPolicy)
	if v.waiting == "" || v.byStartPolicy && !byStartPolicy || v.unplaced && podstate.IsGated(pod) {
		v.byStartPolicy = byStartPolicy
		v.unplaced = pod != nil && !podstate.IsScheduled(pod) && !podstate.IsGated(pod)
		v.waiting, v.waitingReason = fmt.Sprintf("Waiting for replica %s-%d: %s", t.Type, rank, message), reason
	}
	if reason != "" {
		v.waits.add(reason, fmt.Sprintf("%s-%d", t.Type, rank))
	}
	if v.problem == "" && reason != "" {
		v.problem, v.problemReason = fmt.Sprintf("Pod[%s] cannot start: %s", pod.Name, message), reason
	}
}

// waiting says what a replica waits for, with a reason if its pod cannot start.
func waiting(replicas *roster.Roster, t *roster.Type, rank int, byStartPolicy bool) (reason, message string) {
	switch {
	case byStartPolicy:
		return "", "its pod is not there yet; with its startPolicy it may have to wait until the replicas of other types are Ready"
	case replicas.IsUnwanted(t, rank): // what keeps it from starting does not matter any more
		return "", "its pod is made again"
	default:
		return replicas.Waiting(t.Pods[rank])
	}
}

// lostNodes are the nodes that are not Ready and on which replicas run.
type lostNodes struct {
	first  *podstate.NotReadyNode // of the first such replica
	until  time.Time              // when the first of its node is deleted; zero if all wait without a limit
	forced time.Time              // when the operator deletes the first by force; zero if it never does
	names  []string               // of some replicas of that node
	number int                    // how many it has
	others map[string]bool        // other such nodes
}

// add takes a running replica into account.
func (l *lostNodes) add(replicaType string, rank int, lost *podstate.NotReadyNode) {
	switch {
	case lost == nil:
		return
	case l.first == nil:
		l.first, l.until, l.forced = lost, lost.Until, lost.Forced
	case lost.Node != l.first.Node:
		if l.others == nil {
			l.others = map[string]bool{}
		}
		l.others[lost.Node] = true
		return
	default:
		l.until, l.forced = sooner(l.until, lost.Until), sooner(l.forced, lost.Forced)
	}
	l.number++
	if len(l.names) < maxNamed {
		l.names = append(l.names, fmt.Sprintf("%s-%d", replicaType, rank))
	}
}

// String says which node is not Ready since when, which replicas it has, and what follows; "" if all are Ready.
func (l *lostNodes) String() string {
	if l.first == nil {
		return ""
	}
	who := "replica " + l.names[0] + " runs"
	if l.number > 1 {
		who = "replicas " + strings.Join(l.names, ", ") + " run"
	}
	if more := l.number - len(l.names); more > 0 {
		who = fmt.Sprintf("replicas %s and %d more run", strings.Join(l.names, ", "), more)
	}
	out := fmt.Sprintf("Node %s is not Ready since %s: nobody knows whether %s.", l.first.Node, text.Time(l.first.Since), who)
	out += l.next()
	switch len(l.others) {
	case 0:
		return out
	case 1:
		return out + " Another node with replicas of the job is not Ready, too."
	default:
		return out + fmt.Sprintf(" %d other nodes with replicas of the job are not Ready, too.", len(l.others))
	}
}

// next says what follows if the node stays so.
func (l *lostNodes) next() string {
	switch {
	case l.until.IsZero():
		return " Its pods tolerate that without a limit: if the node does not come back, delete them."
	case l.forced.IsZero():
		return fmt.Sprintf(" If it stays so, Kubernetes deletes its pods from %s on. The operator waits until they are gone, for its flag --force-replace-after is 0.", text.Time(l.until))
	default:
		return fmt.Sprintf(" If it stays so, Kubernetes deletes its pods from %s on, and the operator by force from %s on, which counts as a disruption.",
			text.Time(l.until), text.Time(l.forced))
	}
}

// sooner returns the earlier of two times. Zero stands for no time.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

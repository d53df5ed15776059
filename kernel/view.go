package kernel

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// maxRows is the number of replicas up to which each has a row in the status. Above, rows are kept for those that need
// attention, so that the status stays far below the size that etcd takes.
const maxRows = 1000

// maxContainerRows is the number of containers that are shown in all rows together.
const maxContainerRows = 2000

// view is what the pods look like as a whole.
type view struct {
	total, running int
	allRun         bool   // all replicas that have not finished run
	waiting        string // what the first that does not run waits for
	problem        string // why a pod cannot start, if one cannot
	problemReason  string
}

// observe derives what the status shows of the pods: rows, counts, phase and conditions.
func (p *pass) observe() {
	v := view{allRun: true}
	total, containers := 0, 0
	for _, t := range p.tasks {
		total += t.n
	}
	p.status.Aggregate = v1beta1.Aggregate{}
	p.status.Tasks = make([]v1beta1.TaskStatus, 0, len(p.tasks))
	for _, t := range p.tasks {
		row := v1beta1.TaskStatus{Type: t.name, RestartCount: p.restartsOf(t)}
		for rank, pod := range t.pods {
			phase := p.replicaPhase(t, rank, pod)
			count(&p.status.Aggregate, phase)
			v.add(t, rank, pod, phase)
			if p.status.RowsOmitted || total > maxRows && !needsAttention(phase) {
				continue
			}
			r := p.replicaRow(t, rank, phase)
			if containers += len(r.Containers); containers > maxContainerRows {
				r.Containers = nil
			}
			row.Replicas = append(row.Replicas, r)
		}
		if total > maxRows && len(row.Replicas) > maxRows/len(p.tasks) {
			row.Replicas = row.Replicas[:maxRows/len(p.tasks)]
		}
		p.keepRows(&row)
		p.status.Tasks = append(p.status.Tasks, row)
	}
	p.status.Running = fmt.Sprintf("%d/%d", p.status.Aggregate.Running, total)
	p.observePhase()
	p.observeConditions(v)
}

// replicaPhase is the phase that the status shows of a replica. The ledger wins over the pod: a replica that succeeded
// has done so, whether or not its pod is still there.
func (p *pass) replicaPhase(t *task, rank int, pod *corev1.Pod) v1beta1.ReplicaPhase {
	over := p.status.CompletionTime != nil || p.verdict.course == pause
	switch {
	case t.succeeded.Contains(rank):
		return v1beta1.ReplicaSucceeded
	case t.failed.Contains(rank):
		return v1beta1.ReplicaFailed
	case pod == nil && over:
		return v1beta1.ReplicaDeleted
	case pod == nil || !over && p.isGarbage(t, rank, pod):
		return v1beta1.ReplicaCreating
	case pod.Status.Phase == corev1.PodPending && !scheduled(pod), pod.Status.Phase == "":
		return v1beta1.ReplicaCreating
	default:
		return v1beta1.ReplicaPhase(pod.Status.Phase)
	}
}

func scheduled(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	c := podCondition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
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

// add takes one replica into the view of the whole.
func (v *view) add(t *task, rank int, pod *corev1.Pod, phase v1beta1.ReplicaPhase) {
	v.total++
	if t.finished(rank) {
		return
	}
	if phase == v1beta1.ReplicaRunning && pod.DeletionTimestamp == nil {
		v.running++
		return
	}
	v.allRun = false
	reason, message := whyWaiting(pod)
	if v.waiting == "" {
		v.waiting = fmt.Sprintf("Waiting for replica %s-%d: %s", t.name, rank, message)
	}
	if v.problem == "" && reason != "" {
		v.problem, v.problemReason = fmt.Sprintf("Pod[%s] cannot start: %s", pod.Name, message), reason
	}
}

// harmlessWaits are what containers wait for on their way to running.
var harmlessWaits = []string{"ContainerCreating", "PodInitializing", ""}

// whyWaiting says why a pod does not run. The reason is empty where the pod is just on its way.
func whyWaiting(pod *corev1.Pod) (reason, message string) {
	switch {
	case pod == nil:
		return "", "its pod is not there yet"
	case pod.DeletionTimestamp != nil:
		return "", "its pod is Terminating"
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range statuses {
			if w := c.State.Waiting; w != nil && !slices.Contains(harmlessWaits, w.Reason) {
				return settledReason(w.Reason), fmt.Sprintf("container %s: %s: %s%s", c.Name, w.Reason, w.Message, remedy(w.Reason))
			}
		}
	}
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return c.Reason, fmt.Sprintf("%s: %s", c.Reason, c.Message)
	}
	return "", fmt.Sprintf("its pod is %s", pod.Status.Phase)
}

// settledReason is one reason for the two between which the kubelet goes back and forth: that would be an event each time.
func settledReason(reason string) string {
	if reason == "ErrImagePull" {
		return "ImagePullBackOff"
	}
	return reason
}

// remedy says what to do about the common reasons for which containers wait.
func remedy(reason string) string {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return " (check the image's name in the template, and the pull secret)"
	case "CreateContainerConfigError":
		return " (check that the ConfigMaps and Secrets that the template names exist)"
	default:
		return ""
	}
}

// transitions are the events that a change of the status deserves, beside those that the pass has noted. That a job has
// started goes without saying in a write that says that it runs, or has succeeded.
func (p *pass) transitions() []Event {
	if p.status.Phase == v1beta1.JobRunning || p.status.Phase == v1beta1.JobSucceeded {
		p.events = slices.DeleteFunc(p.events, func(e Event) bool { return e.Reason == v1beta1.ReasonStarted })
	}
	for _, c := range p.status.Conditions {
		before := conditionOf(p.Job.Status.Conditions, c.Type)
		isNew := before == nil || before.Status != c.Status || before.Reason != c.Reason
		if c.Status == metav1.ConditionTrue && isNew {
			p.transition(c)
		}
	}
	return p.events
}

// transition tells of a condition that has become true, or is true for another reason now.
func (p *pass) transition(c v1beta1.JobCondition) {
	switch c.Type {
	case v1beta1.ConditionRunning:
		p.event(false, v1beta1.ReasonRunning, "%s", c.Message)
	case v1beta1.ConditionPaused:
		p.event(false, c.Reason, "%s", c.Message)
	case v1beta1.ConditionFailed, v1beta1.ConditionBlocked:
		p.event(true, c.Reason, "%s", c.Message)
	case v1beta1.ConditionReplicaFailure:
		if len(p.pending) == 0 { // the events of restarts say it already
			p.event(true, c.Reason, "%s", c.Message)
		}
	case v1beta1.ConditionCompleted:
		if p.status.Phase == v1beta1.JobSucceeded {
			p.event(false, c.Reason, "%s", c.Message)
		}
	case v1beta1.ConditionInitialized:
	}
}

// event notes an event; the caller emits it once the status that it speaks of is written.
func (p *pass) event(warning bool, reason, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	p.events = append(p.events, Event{Warning: warning, Reason: Cut(reason, maxReason), Message: Cut(message, MaxText)})
}

package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/roster"
)

// replicaRow makes a replica's row in the status. It keeps what the stored row has of a pod that is gone.
func (w *writer) replicaRow(t *roster.Type, rank int, phase v1beta1.ReplicaPhase) v1beta1.ReplicaStatus {
	pod := t.Pods[rank]
	row := v1beta1.ReplicaStatus{Phase: phase}
	if pod == nil {
		row.Name = w.Roster.Names.Pod(t.Type, rank)
		if before := w.rowsBefore()[row.Name]; before != nil && phase != v1beta1.ReplicaCreating {
			row.UID, row.Containers = before.UID, before.Containers
		}
		return row
	}
	row.Name, row.UID = pod.Name, pod.UID
	if !w.Roster.Names.Is(pod.Name, t.Type, rank) {
		row.Name = w.Roster.Names.Pod(t.Type, rank)
	}
	row.Containers = slices.Grow(row.Containers, len(pod.Status.ContainerStatuses)) // stays nil without any
	for _, c := range t.Pod(rank).AtOwnEnd().Status.ContainerStatuses {
		row.Containers = append(row.Containers, containerRow(c))
	}
	return row
}

func containerRow(c corev1.ContainerStatus) v1beta1.ContainerStatus {
	s := v1beta1.ContainerStatus{Name: c.Name, State: "Waiting"}
	switch {
	case c.State.Terminated != nil:
		s.State, s.ExitCode = "Terminated", ptr.To(c.State.Terminated.ExitCode)
	case c.State.Running != nil:
		s.State = "Running"
	}
	return s
}

// rowsBefore returns the rows of the stored status by name.
func (w *writer) rowsBefore() map[string]*v1beta1.ReplicaStatus {
	if w.before != nil {
		return w.before
	}
	w.before = map[string]*v1beta1.ReplicaStatus{}
	for i := range w.Job.Status.Tasks {
		for j := range w.Job.Status.Tasks[i].Replicas {
			r := &w.Job.Status.Tasks[i].Replicas[j]
			w.before[r.Name] = r
		}
	}
	return w.before
}

// keepRows takes the stored rows of a type if they are equal. So the later comparison with the stored status finds the same memory, and takes no time.
func (w *writer) keepRows(row *v1beta1.TaskStatus) {
	for i := range w.Job.Status.Tasks {
		old := &w.Job.Status.Tasks[i]
		if old.Type == row.Type && slices.EqualFunc(old.Replicas, row.Replicas, sameRow) {
			row.Replicas = old.Replicas
		}
	}
}

func sameRow(a, b v1beta1.ReplicaStatus) bool {
	return a.Name == b.Name && a.UID == b.UID && a.Phase == b.Phase && slices.EqualFunc(a.Containers, b.Containers, sameContainer)
}

func sameContainer(a, b v1beta1.ContainerStatus) bool {
	return a.Name == b.Name && a.State == b.State && ptr.Equal(a.ExitCode, b.ExitCode)
}

// WithoutRows returns a status without the rows of replicas. It is written if the apiserver refuses the status because it is too large together with
// the spec.
func WithoutRows(s *v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	out := *s.DeepCopy()
	out.RowsOmitted = true
	for i := range out.Tasks {
		out.Tasks[i].Replicas = nil
	}
	return out
}

// TooLarge returns the event about a job whose status cannot be stored, not even without rows. Nothing else can be done for it.
func TooLarge(refusal string) Event {
	message := fmt.Sprintf("The status of the job cannot be stored, so nothing more is done for it: together with the spec it is larger than the cluster stores, about 1.5 MB (%s). Make the spec smaller, by a ConfigMap or an image that holds the data.", refusal)
	return NewEvent(true, v1beta1.ReasonStatusTooLarge, message)
}

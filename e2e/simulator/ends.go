package simulator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
)

// This file has how the ends of code look, and what nobody can tell of them.

// codeEnd is how the code of a pod has ended; nil if it has not.
func codeEnd(p *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == p.Spec.Containers[0].Name {
			return c.State.Terminated
		}
	}
	return nil
}

// endedAt reports whether the code of a pod ended in that second, or its init container failed: nobody can tell then what was first.
func (l *Life) endedAt(p *corev1.Pod, at metav1.Time) bool {
	end := codeEnd(p)
	if initHasFailed(p) {
		end = endsOf(p)[0]
	}
	return end != nil && l.tooClose(end.FinishedAt, at)
}

// lastWords are what code says that fails: a cause, what follows from the end of another, and nothing.
var lastWords = []string{
	"Traceback (most recent call last):\n  File \"/train.py\", line 12, in main\nValueError: loss is nan\n",
	"Traceback (most recent call last):\n  File \"/train.py\", line 11, in main\nRuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411\n", "",
}

// runningState is that of the container whose code trains; nil if it does not run.
func runningState(p *corev1.Pod) *corev1.ContainerStateRunning {
	if len(p.Status.ContainerStatuses) == 0 {
		return nil
	}
	return p.Status.ContainerStatuses[0].State.Running
}

func ended(p *corev1.Pod, code int32, at metav1.Time) []corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: p.Spec.Containers[0].Name}
	if len(p.Status.ContainerStatuses) > 0 {
		s.RestartCount, s.LastTerminationState = p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].LastTerminationState
	}
	s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: at}
	if code == oomKilled {
		s.State.Terminated.ExitCode, s.State.Terminated.Reason = 137, "OOMKilled"
	}
	if runs := runningState(p); runs != nil {
		s.State.Terminated.StartedAt = runs.StartedAt
	}
	switch {
	case code == output.HangCode:
		s.State.Terminated.Message = hangsSaid
	case code != 0:
		s.State.Terminated.Message = lastWords[(int(at.Unix())+len(p.Name)+int(code))%len(lastWords)]
	}
	return []corev1.ContainerStatus{s}
}

// phaseOf is the phase of a pod whose containers have all ended.
func phaseOf(p *corev1.Pod) corev1.PodPhase {
	if slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Terminated.ExitCode != 0 }) {
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

// obeys reports whether code has ended as it does when it is told to stop.
func obeys(end *corev1.ContainerStateTerminated) bool {
	return end.ExitCode == 143 || end.ExitCode == 137 && end.Reason != "OOMKilled"
}

// endsOf are those of a pod whose code has ended, or whose init container has failed.
func endsOf(p *corev1.Pod) (list []*corev1.ContainerStateTerminated) {
	for _, c := range p.Status.InitContainerStatuses {
		if end := c.State.Terminated; c.Name == prepare && end != nil && end.ExitCode != 0 {
			list = append(list, end)
		}
	}
	if codeEnd(p) == nil {
		return list
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			list = append(list, c.State.Terminated)
		}
	}
	return list
}

// stripped notes that nothing keeps a pod any more.
func (t *truth) stripped(p *corev1.Pod) {
	job, rec, r := t.of(p)
	r.bare = true
	rec.mayFail = true // when it is gone, nothing may show any more that the API has taken such a pod
	if job == nil || len(endsOf(p)) == 0 || ledgerHas(&job.Status, p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)) {
		return
	}
	r.mayGoUnseen()
	r.hasRun = false
	delete(r.succeededIn, t.madeIn[p.UID])
}

// disrupted notes that something outside the job ended a pod.
func (t *truth) disrupted(p *corev1.Pod) {
	_, rec, r := t.of(p)
	t.noteOnNode(p, metav1.GetControllerOf(p).UID)
	delete(rec.left.by, p.Name)
	r.disruptions++
	if end := codeEnd(p); end != nil && obeys(end) {
		r.doubts++ // as code exits that is told to stop
	}
	if t.life.endedAt(p, t.life.stamp()) { // nobody can tell whether its code had done its work or obeyed
		r.doubts++
		delete(r.succeededIn, t.madeIn[p.UID])
	}
}

// asked notes that the deletion of a pod was asked for. Codes 137 and 143 look as if its code had ended because of that.
func (t *truth) asked(p *corev1.Pod) {
	_, rec, r := t.of(p)
	r.disruptions++
	if t.life.isObedient(p) && !over(p) {
		r.doubts++ // without the phase nobody knows that its kubelet had told the code to stop
	}
	for _, end := range endsOf(p) {
		if t.life.tooClose(end.FinishedAt, t.life.stamp()) || obeys(end) {
			r.doubts++
			delete(rec.left.by, p.Name) // what may be no failure sends nobody elsewhere
			t.mayBeAfter(p, r)
		}
	}
}

// mayBeAfter notes that by the clock of its node the code of a pod may have ended after its deletion: then that was no success.
func (t *truth) mayBeAfter(p *corev1.Pod, r *replica) {
	if len(t.life.skew) > 0 {
		r.hasRun = false
		delete(r.succeededIn, t.madeIn[p.UID])
	}
}

// codeEnds ends the code that runs in a pod, in one of the ways that are drawn.
func (l *Life) codeEnds(p *corev1.Pod, way int) {
	fails := 57
	if l.wraps(p) != nil || tellsSteps(p) {
		fails = 53 // so that it is started over several times
	}
	if tellsSteps(p) && l.stride == stuckStride {
		fails = 51 // and again
	}
	switch {
	case way >= 51 && l.isOnBadNode(p):
		l.exit(p, 17)
	case way >= fails:
		l.exit(p, l.hangsInstead(l.mostlyAlike(p, pickOf(l.tape, int32(1), 137, 143))))
	case way >= 51:
		l.settling[p.UID] = (way == settles || l.starved[p.UID]) && l.beside == alone
		l.exit(p, 0)
	default:
		l.evictForItsLimit(p)
	}
}

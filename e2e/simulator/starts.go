package simulator

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// drawStart draws which types start after the others, and whose pods say themselves when they are Ready.
func drawStart(t *Tape, s *v1beta1.GenericJobSpec) {
	if !t.Chance(2) {
		return
	}
	for i := range s.ReplicaSpecs {
		r := &s.ReplicaSpecs[i]
		r.StartPolicy = startOf(t)
		if t.Chance(2) {
			c := &r.Template.Spec.Containers[0]
			if c.ReadinessProbe = (&corev1.Probe{}); t.spare(2, 3) {
				c.ReadinessProbe, c.StartupProbe = nil, c.ReadinessProbe
			}
		}
	}
}

func startOf(t *Tape) v1beta1.StartPolicy {
	return pickOf(t, "", v1beta1.StartAtOnce, v1beta1.StartAfterOthers, v1beta1.StartRestartAfterOthers)
}

// editStart is a user who changes which types of a GenericJob start after the others.
func (l *Life) editStart(k key, o client.Object) {
	job, plain := o.(*v1beta1.GenericJob)
	if !plain {
		return
	}
	i := l.tape.Pick(len(job.Spec.ReplicaSpecs))
	l.editJob(k, func(o client.Object) { o.(*v1beta1.GenericJob).Spec.ReplicaSpecs[i].StartPolicy = startOf(l.tape) })
}

// isProbed reports whether a pod that runs may not be Ready yet.
func isProbed(p *corev1.Pod) bool {
	c := &p.Spec.Containers[0]
	return c.ReadinessProbe != nil || c.StartupProbe != nil
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// setReady is what a kubelet says of a pod.
func setReady(p *corev1.Pod, is bool) {
	c := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse}
	if is {
		c.Status = corev1.ConditionTrue
	}
	p.Status.Conditions = append(slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady }), c)
}

// containerRuns reports whether the container with the code of a pod runs, so far as its kubelet has told.
func containerRuns(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == p.Spec.Containers[0].Name && s.State.Running != nil
	})
}

// sayReady has a pod that its kubelet tells of be Ready while its container runs, and its probe has succeeded if it has one.
func sayReady(p *corev1.Pod) {
	if p.Status.Phase != corev1.PodPending {
		setReady(p, containerRuns(p) && (!isProbed(p) || isReady(p)))
	}
}

// probe is the readiness probe of a pod: it succeeds while code runs in it, some time after that has begun. A startup probe looks no more once it has
// succeeded.
func (l *Life) probe(p *corev1.Pod) {
	runs := containerRuns(p)
	if w := l.wraps(p); w != nil {
		runs = runs && w.runs
	}
	startsOnly := p.Spec.Containers[0].ReadinessProbe == nil
	if !isProbed(p) || runs == isReady(p) || startsOnly && isReady(p) && containerRuns(p) || l.trouble && !l.tape.Due(4) {
		return
	}
	l.say("kubelet: %s is Ready: %v", keyOf(p), runs)
	l.change(p, func(p *corev1.Pod) { setReady(p, runs) })
}

// moment is when in a job a pod was Ready.
type moment struct{ attempt, modeGeneration int }

// sawReady notes that a replica was Ready in an attempt, if its pod is, or that its code has ended there.
func (t *truth) sawReady(p *corev1.Pod) {
	if !isReady(p) && codeEnd(p) == nil {
		return
	}
	_, rec, _ := t.of(p)
	name := p.Labels[v1beta1.LabelReplicaType] + "-" + p.Labels[v1beta1.LabelReplicaRank]
	now := moment{told(p), number(p, v1beta1.LabelModeGeneration)}
	if !slices.Contains(rec.ready[name], now) {
		rec.ready[name] = append(rec.ready[name], now)
	}
}

// startsAfterOthers reports whether a type's startPolicy keeps a pod back that is made for an attempt.
func startsAfterOthers(r *v1beta1.ReplicaSpec, attempt int) bool {
	return r.StartPolicy == v1beta1.StartAfterOthers || r.StartPolicy == v1beta1.StartRestartAfterOthers && attempt > 0
}

// waitsForOthers reports whether a pod is not to come before those of other types. A gang comes together, and so do those who wait for each other.
func waitsForOthers(p *corev1.Pod, job *v1beta1.GenericJob) bool {
	i := slices.IndexFunc(job.Spec.ReplicaSpecs, func(r v1beta1.ReplicaSpec) bool { return r.Type == p.Labels[v1beta1.LabelReplicaType] })
	gang := job.Spec.Scheduler != nil && job.Spec.Scheduler.Kueue == nil
	return i >= 0 && !gang && barrierIsOpen(job) && startsAfterOthers(&job.Spec.ReplicaSpecs[i], number(p, v1beta1.LabelAttempt))
}

// startsEarly reports whether a pod of a type that starts after the others comes too early. One of them has not been Ready in its present attempt,
// and has not finished. An operator's view may be old, so one that was Ready and is not any more will do. Somebody may have changed the job since the
// fence held, its startPolicy perhaps.
func (t *truth) startsEarly(p *corev1.Pod, job *v1beta1.GenericJob, rec *record) bool {
	if t.life.writer.fenced != job.ResourceVersion || !waitsForOthers(p, job) {
		return false
	}
	for _, r := range job.Spec.ReplicaSpecs {
		if r.Auxiliary || r.StartPolicy != "" && r.StartPolicy != v1beta1.StartAtOnce {
			continue
		}
		for rank := range replicasOf(&r) {
			if !t.wasThere(job, rec, &r, rank) {
				return true
			}
		}
	}
	return false
}

// wasThere reports whether a replica was Ready in the attempt that it is in, or has finished, which the status may say later.
func (t *truth) wasThere(job *v1beta1.GenericJob, rec *record, r *v1beta1.ReplicaSpec, rank int) bool {
	s, name := &job.Status, fmt.Sprintf("%s-%d", r.Type, rank)
	attempt := int(s.JobAttempt + ledgerRecord(s, r.Type, rank).Attempt)
	wasReady := slices.ContainsFunc(rec.ready[name], func(m moment) bool { return m.attempt >= attempt && m.modeGeneration >= int(s.ModeGeneration) })
	if wasReady || ledgerHas(s, r.Type, rank) {
		return true
	}
	code := rec.replicas[name]
	return code != nil && (code.doubts > 0 || code.succeededIn[s.JobAttempt] || len(code.succeededIn) > 0 && job.Spec.RestartStrategy == v1beta1.RestartInPlace)
}

// barrierIsOpen reports whether no replica of a job waits for others to restart in place.
func barrierIsOpen(job *v1beta1.GenericJob) bool {
	s := &job.Status
	return job.Spec.RestartStrategy != v1beta1.RestartInPlace || job.Spec.RestartScope != v1beta1.RestartScopeJob ||
		s.JobAttempt == 0 || s.InPlace != nil && s.InPlace.StartedJobAttempt >= s.JobAttempt
}

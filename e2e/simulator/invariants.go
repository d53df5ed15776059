package simulator

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
)

// created checks what must hold whenever an object is created.
func (t *truth) created(o client.Object) {
	switch o := o.(type) {
	case *corev1.Pod:
		t.createdPod(o)
	case *unstructured.Unstructured:
		if kindOf(o) == kindWorkload {
			t.createdWorkload(o)
		}
	case *v1beta1.GenericJob:
		t.recordOf(o.UID)
		ref := metav1.GetControllerOf(o)
		parent := t.parent()
		if ref == nil || parent == nil || parent.GetUID() != ref.UID || !t.phaseOf(parent).IsFinal() {
			return
		}
		// As with pods (see createdPod), the fence may have held when it was asked. But the newcomer must not stay.
		if t.overtaken(parent.GetResourceVersion(), t.writers[ref.UID]) {
			t.life.say("the create of %s comes too late", keyOf(o))
		} else {
			t.violated("trainer#2981 a finished parent creates", "%s in phase %s creates its GenericJob again", keyOf(parent), t.phaseOf(parent))
		}
	}
}

// parent is the training job, nil if there is none.
func (t *truth) parent() client.Object {
	if t.life.framework == nil {
		return nil
	}
	return t.life.api.get(key{t.life.framework.kind, jobName})
}

func (t *truth) phaseOf(parent client.Object) v1beta1.JobPhase {
	return t.life.framework.registration.Phase(parent)
}

func (t *truth) createdPod(p *corev1.Pod) {
	t.pods++
	job, rec, r := t.of(p)
	if job == nil {
		t.raced[p.UID] = true // against a deletion: the sweep and the garbage collector remove the pod
		return
	}
	t.madeIn[p.UID] = job.Status.JobAttempt
	t.placed(p, job)
	t.keepsOff(p, job, rec)
	rec.taken[p.Labels[v1beta1.LabelReplicaType]] = true
	if c := p.Spec.Containers[0]; c.Image != "image" || p.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.violated("trainer#2200 the template was edited", "%s has image %s and restart policy %s", p.Name, c.Image, p.Spec.RestartPolicy)
	}
	t.findable(p)
	for _, other := range t.life.api.pods() {
		if other.UID != p.UID && sameReplica(p, other) && !over(other) {
			t.violated("kuberay#715 too many pods", "%s and %s", p.Name, other.Name)
		}
	}
	invariant := t.mayNotCreate(p, job, rec, r)
	switch {
	case invariant == "":
	case t.overtaken(job.ResourceVersion, rec.writer):
		// The fence held when it was asked, and then somebody else went ahead while the call was under way. Nothing on
		// this side of the apiserver can prevent that; but the pod must not count, and must not stay (see settled).
		t.late[p.UID] = true
		t.life.say("the create of %s comes too late: %s", p.Name, invariant)
	default:
		t.violated(invariant, "%s in attempt %d", p.Name, job.Status.JobAttempt)
	}
}

// findable checks that a pod finds the master by a full name in the domain of its Service. One query must be enough for that.
func (t *truth) findable(p *corev1.Pod) {
	for _, e := range p.Spec.Containers[0].Env {
		if e.Name == "MASTER_ADDR" && !strings.HasSuffix(e.Value, "."+p.Spec.Subdomain+"."+p.Namespace+".svc.cluster.local") {
			t.violated("kubeflow#1482 a name is not found", "%s looks for %s", p.Name, e.Value)
		}
	}
}

// overtaken reports whether somebody went ahead of the reconcile that creates, after its fence had held. Then a job has another version now, by
// another's write.
func (t *truth) overtaken(version string, author *operator) bool {
	w := t.life.writer
	return w.fenced != "" && (t.life.tooLate || w.fenced != version && author != w.operator)
}

// mayNotCreate is the invariant that the creation of a pod violates, if it does.
func (t *truth) mayNotCreate(p *corev1.Pod, job *v1beta1.GenericJob, rec *record, r *replica) string {
	s := &job.Status
	entry := ledgerRecord(s, p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank))
	clock := t.life.writer.latest.Add(time.Second)
	switch {
	case s.CompletionTime != nil:
		return "trainer#2981 created after the end"
	case r.succeededIn[s.JobAttempt], job.Spec.RestartStrategy == v1beta1.RestartInPlace && r.hasFinished(rec):
		return "trainer#2454 finished work is run again"
	case number(p, v1beta1.LabelAttempt) < int(s.JobAttempt+entry.Attempt):
		return "kuberay#715 a pod of an earlier attempt is created"
	case r.ranIn(s.JobAttempt, rec) && policyIn(job, p) == v1beta1.RestartNever:
		return "policy Never is run again"
	case t.startsEarly(p, job, rec):
		return "a launcher comes before its workers"
	case number(p, v1beta1.LabelAttempt) == int(s.JobAttempt+entry.Attempt) && entry.NotBefore != nil && entry.NotBefore.After(clock):
		return "kubernetes Job back-off was reset"
	default:
		return ""
	}
}

// hasFinished reports whether a replica has certainly done its work, in whichever attempt.
func (r *replica) hasFinished(rec *record) bool {
	return len(r.succeededIn) > 0 && r.doubts+r.reruns == 0 && !rec.unsettled
}

// lateEnd notes that code of a pod that was created too late has ended. Where replicas restart in place, a success while others are
// waited for is one, whichever attempt the pod was made for.
func (r *replica) lateEnd(job *v1beta1.GenericJob) {
	if job.Spec.RestartStrategy == v1beta1.RestartInPlace {
		r.doubts++
	}
}

// ranIn reports whether its code has certainly run in a job attempt.
func (r *replica) ranIn(attempt int32, rec *record) bool {
	return r.hasRun && r.runIn == attempt && !rec.unsettled && !rec.evicted
}

func sameReplica(a, b *corev1.Pod) bool {
	x, y := metav1.GetControllerOf(a), metav1.GetControllerOf(b)
	return x.UID == y.UID && a.Labels[v1beta1.LabelReplicaType] == b.Labels[v1beta1.LabelReplicaType] &&
		a.Labels[v1beta1.LabelReplicaRank] == b.Labels[v1beta1.LabelReplicaRank]
}

// patched checks that a pod is let go only when its outcome is known or does not matter.
func (t *truth) patched(o client.Object, body patched) {
	p, ok := o.(*corev1.Pod)
	if ok && body.Spec.ActiveDeadlineSeconds != nil {
		t.besideEnded(p)
	}
	if !ok || len(body.Metadata.Finalizers) == 0 || len(p.Finalizers) == 0 {
		return
	}
	job, _, _ := t.of(p)
	_, stopped := p.Annotations[v1beta1.AnnotationStopped]
	if job == nil || job.Status.CompletionTime != nil || stopped {
		return
	}
	s := &job.Status
	replicaType, rank := p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)
	current := isCurrent(job, p) &&
		number(p, v1beta1.LabelModeGeneration) == int(s.ModeGeneration)
	if current && !ledgerHas(s, replicaType, rank) {
		t.violated("KEP-2307 a pod was let go before its outcome was known", "%s is %s", p.Name, p.Status.Phase)
	}
}

// event counts what users are told of restarts.
func (t *truth) event(o client.Object, reason, note string) {
	t.life.say("event %s of %s: %s", reason, keyOf(o), note)
	if _, ok := o.(*v1beta1.GenericJob); ok && reason == v1beta1.ReasonRestarted {
		t.recordOf(o.GetUID()).restarted++
	}
}

// statusWritten checks every transition of a status.
func (t *truth) statusWritten(old, next client.Object) {
	if w := t.life.writer; w.kind != kindOf(next) {
		t.violated("rbg#324 two controllers write one status", "%s is written in a reconcile of %s", keyOf(next), w.kind)
	}
	was, ok := old.(*v1beta1.GenericJob)
	if !ok {
		if phase := t.phaseOf(old); phase.IsFinal() && t.phaseOf(next) != phase {
			t.violated("trainer#3779 a finished job changed", "%s: %s to %s", keyOf(next), phase, t.phaseOf(next))
		}
		t.shownStand(next)
		t.writers[next.GetUID()] = t.author()
		return
	}
	is := next.(*v1beta1.GenericJob)
	t.written.add(gained(was, is))
	t.recordOf(is.UID).writer = t.author()
	if was.Status.CompletionTime != nil && (is.Status.CompletionTime == nil || is.Status.Phase != was.Status.Phase) {
		t.violated("trainer#3779 a finished job changed", "%s to %s", was.Status.Phase, is.Status.Phase)
	}
	if was.Status.CompletionTime == nil {
		t.failed(is)
	}
	if is.Status.Phase == v1beta1.JobRunning && is.Status.UnstartedSpec != "" {
		t.violated("code that runs is edited away", "%s says that no code has started", keyOf(is))
	}
	t.countersWritten(&was.Status, &is.Status)
	t.standWritten(is, is.Status.Conditions, is.Status.Phase)
	t.timeWritten(was, is)
	t.historyWritten(was, is)
	t.recoveryWritten(was, is)
	t.restartsOverFinals(was, is)
	t.rulesWritten(was, is)
	t.namedWritten(was, is)
	t.nodesWritten(was, is)
	t.noProgressWritten(was, is)
	t.strayWritten(was, is)
	t.evictionsWritten(was, is)
	t.streaksWritten(was, is)
	t.livesWritten(was, is)
	t.restartsWritten(is)
	t.countedBesideReboot(was, is)
	t.firstWritten(&was.Status, &is.Status)
	t.outcomesWritten(is, &was.Status)
}

func (t *truth) countersWritten(old, next *v1beta1.GenericJobStatus) {
	for _, c := range []struct {
		name    string
		was, is int32
	}{
		{"backoffCount", old.BackoffCount, next.BackoffCount}, {"disruptionCount", old.DisruptionCount, next.DisruptionCount},
		{"exceptedCount", old.ExceptedCount, next.ExceptedCount},
		{"attempt", old.JobAttempt, next.JobAttempt}, {"modeGeneration", old.ModeGeneration, next.ModeGeneration}, {"pauseCount", old.PauseCount, next.PauseCount},
		{"pausedSeconds", int32(old.PausedSeconds), int32(next.PausedSeconds)},
	} {
		if c.is < c.was {
			t.violated("trainer#3737 a counter decreased", "%s from %d to %d", c.name, c.was, c.is)
		}
	}
	if n := next.JobAttempt - old.JobAttempt; n > next.BackoffCount-old.BackoffCount+next.DisruptionCount-old.DisruptionCount+next.ExceptedCount-old.ExceptedCount {
		t.violated("the whole job starts anew for nothing that is counted", "attempt %d to %d", old.JobAttempt, next.JobAttempt)
	}
	for _, l := range old.Ledger {
		for _, r := range l.Replicas {
			if n := ledgerRecord(next, l.Type, int(r.Rank)); n.Attempt < r.Attempt || n.Restarts < r.Restarts {
				t.violated("trainer#3737 a counter decreased", "%s-%d from %+v to %+v", l.Type, r.Rank, r, n)
			}
		}
	}
}

// outcomesWritten checks that the ledger gains only outcomes that there were.
func (t *truth) outcomesWritten(job *v1beta1.GenericJob, old *v1beta1.GenericJobStatus) {
	replicas := t.recordOf(job.UID).replicas
	for _, l := range job.Status.Ledger {
		ok, _ := ledger.ParseRanks(l.Succeeded)
		bad, _ := ledger.ParseRanks(l.Failed)
		if l.Type == "store" && l.Succeeded+l.Failed != "" {
			t.violated("an auxiliary replica has an outcome", "succeeded %q, failed %q", l.Succeeded, l.Failed)
		}
		for rank := range 8 {
			r := replicas[fmt.Sprintf("%s-%d", l.Type, rank)]
			if r == nil {
				continue
			}
			if ok.Contains(rank) {
				t.successWritten(job, r, fmt.Sprintf("%s-%d", l.Type, rank))
			}
			if bad.Contains(rank) && !ledgerHas(old, l.Type, rank) && r.failures == 0 && r.disruptions == 0 {
				t.violated("trainer#2124 a failure was made up", "%s-%d", l.Type, rank)
			}
		}
	}
}

func (t *truth) successWritten(job *v1beta1.GenericJob, r *replica, name string) {
	switch {
	case r.doubts+r.reruns > 0:
	case len(r.succeededIn) == 0:
		t.violated("a stopped replica passed for finished", "%s", name)
	case job.Spec.RestartStrategy == v1beta1.RestartInPlace:
	case job.Spec.RestartScope == v1beta1.RestartScopeJob && !r.succeededIn[job.Status.JobAttempt]:
		t.violated("a success of an earlier attempt counts", "%s in attempt %d", name, job.Status.JobAttempt)
	}
}

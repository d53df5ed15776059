package simulator

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
)

// rested checks what must hold of modes once everything has come to rest in them: only pods that were made for them live.
func (t *truth) rested() {
	t.evictionsHeard()
	t.checkOutside()
	for _, p := range t.life.api.pods() {
		job, _, _ := t.of(p)
		if over(p) || job == nil || job.Status.CompletionTime != nil || cannotRun(job) {
			continue
		}
		mode := job.Spec.RunMode
		debug := p.Labels[v1beta1.LabelDebug] == "true"
		if mode.Pauses() || mode.Debugs() != debug {
			t.violated("kubeflow B13 an edit was ignored", "pause is %v and debug %v, but %s lives, made for debug %v", mode.Pauses(), mode.Debugs(), p.Name, debug)
		}
		if !debug && isOutdated(job, p) {
			t.violated("kubeflow B13 an edit was ignored", "%s runs %v", p.Name, p.Spec.Containers[0].Args)
		}
	}
}

// isOutdated reports whether a pod was made from another template than the job has now.
func isOutdated(job *v1beta1.GenericJob, p *corev1.Pod) bool {
	for _, r := range job.Spec.ReplicaSpecs {
		if r.Type == p.Labels[v1beta1.LabelReplicaType] {
			return !slices.Equal(r.Template.Spec.Containers[0].Args, p.Spec.Containers[0].Args)
		}
	}
	return false
}

// settled checks what must hold once everything has come to rest.
func (t *truth) settled() {
	var job *v1beta1.GenericJob
	if o := t.life.api.get(key{v1beta1.KindGenericJob, jobName}); o != nil {
		job = o.(*v1beta1.GenericJob)
	}
	t.checkOwners()
	t.checkOutside()
	t.checkParent(job)
	if job == nil {
		return
	}
	s := &job.Status
	t.restarts, t.disruptions = int(s.BackoffCount), int(s.DisruptionCount)
	t.checkCounts(job)
	if n := t.recordOf(job.UID).restarted; n > int(s.BackoffCount+s.ExceptedCount) {
		t.violated("kubeflow B15 one exit, many events", "%d events for %d restarts", n, s.BackoffCount+s.ExceptedCount)
	}
	if blocked(job) {
		t.violated("a refusal is not told, or told when it is over", "nothing is refused; conditions %+v", s.Conditions)
	}
	if s.CompletionTime == nil {
		t.violated("trainer#1306 a job is stuck", "phase %s, ledger %+v, %d pods", s.Phase, s.Ledger, len(t.life.api.pods()))
		return
	}
	t.finished++
	for _, p := range t.life.api.pods() {
		t.checkLeftover(job, p)
	}
	t.checkGroups()
	t.checkQuota(job)
}

// checkOwners: nothing is left of what is gone.
func (t *truth) checkOwners() {
	uids := map[string]bool{}
	all := t.life.api.sorted()
	for _, o := range all {
		uids[string(o.GetUID())] = true
	}
	for _, o := range all {
		if ref := metav1.GetControllerOf(o); ref != nil && !uids[string(ref.UID)] {
			t.violated("an object leaked", "%s outlives its %s, finalizers %v", keyOf(o), ref.Kind, o.GetFinalizers())
		}
		if o.GetDeletionTimestamp() != nil && !t.isKeptByLate(o) {
			t.violated("an object leaked", "%s is being deleted for ever, finalizers %v", keyOf(o), o.GetFinalizers())
		}
	}
}

// checkParent: the training job shows what its GenericJob does.
func (t *truth) checkParent(job *v1beta1.GenericJob) {
	parent := t.parent()
	if parent == nil {
		return
	}
	switch phase := t.phaseOf(parent); {
	case phase == "":
		t.violated("kubeflow B5 a blank status", "%s", keyOf(parent))
	case job == nil && !phase.IsFinal():
		t.violated("trainer#1306 a job is stuck", "%s is %s and has no GenericJob", keyOf(parent), phase)
	case job != nil && metav1.IsControlledBy(job, parent) && job.Status.Phase != phase && !phase.IsFinal():
		t.violated("the mirror lags", "%s is %s, its GenericJob %s", keyOf(parent), phase, job.Status.Phase)
	}
}

func (t *truth) checkLeftover(job *v1beta1.GenericJob, p *corev1.Pod) {
	s := &job.Status
	replicaType, rank := p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)
	switch {
	case codeEnd(p) != nil && !over(p):
		t.violated("a sidecar keeps a pod for ever", "%s", p.Name)
	case len(p.Finalizers) > 0:
		t.violated("a finalizer leaked", "%s keeps %v", p.Name, p.Finalizers)
	case !t.mayRemain(job, p):
		t.violated("trainer#3833 a pod leaked", "%s is %s and the clean-up policy is %s", p.Name, p.Status.Phase, job.Spec.CleanUpPolicy)
	case t.unserved[job.UID] && !auxiliary(job, p) && t.staysAlive(p):
		t.violated("a replica waits for ever for one that served it", "%s", p.Name)
	case t.isLateFor(s, p): // else policy None keeps it
		t.violated("a pod of a late create runs on", "%s", p.Name)
	case told(p) < int(s.JobAttempt+ledgerRecord(s, replicaType, rank).Attempt) && !t.mayStay(job, p):
		t.violated("trainer#3833 a pod leaked", "%s is of an earlier attempt", p.Name)
	}
}

// isLateFor reports whether a pod of a late create runs on, whose replica has finished.
func (t *truth) isLateFor(s *v1beta1.GenericJobStatus, p *corev1.Pod) bool {
	return t.late[p.UID] && !over(p) && ledgerHas(s, p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank))
}

// staysAlive reports whether a pod that the operator knows of has not ended, and is not asked to.
func (t *truth) staysAlive(p *corev1.Pod) bool {
	return !over(p) && !t.late[p.UID] && p.DeletionTimestamp == nil
}

// mayRemain reports whether the clean-up policy leaves a pod of a job that has finished.
func (t *truth) mayRemain(job *v1beta1.GenericJob, p *corev1.Pod) bool {
	switch policy := job.Spec.CleanUpPolicy; {
	case policy == v1beta1.CleanUpAll:
		return false
	case over(p):
		return true
	default:
		return policy != v1beta1.CleanUpUnfinished && (!auxiliary(job, p) || t.anyIsServed(job))
	}
}

// mayStay reports whether a pod may be of an earlier attempt, where replicas restart in place. One that has finished is a member of no later one. One
// that waits when the job finishes is ended.
func (t *truth) mayStay(job *v1beta1.GenericJob, p *corev1.Pod) bool {
	replicaType, rank := p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)
	return job.Spec.RestartStrategy == v1beta1.RestartInPlace && (over(p) || ledgerHas(&job.Status, replicaType, rank))
}

// checkCounts compares the restarts that were counted with the failures that there were.
func (t *truth) checkCounts(job *v1beta1.GenericJob) {
	spec, s, rec := &job.Spec, &job.Status, t.recordOf(job.UID)
	t.checkRules(job)
	if b := spec.BackoffLimit; b != nil && s.BackoffCount > *b {
		t.violated("kubeflow B16 backoffLimit exceeded", "%d of %d", s.BackoffCount, *b)
	}
	if spec.RestartScope == v1beta1.RestartScopeJob {
		doubts := 0 // pods that failed while they were scaled away count, if they came back before the operator looked
		for _, r := range rec.replicas {
			doubts += r.doubts
		}
		if int(s.BackoffCount) > len(rec.failedIn)+doubts {
			t.violated("a restart was counted twice", "%d restarts, failures in %d attempts", s.BackoffCount, len(rec.failedIn))
		}
		return
	}
	t.checkLimits(job)
	if rec.unsettled {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(rec.replicas)) {
		t.checkReplica(s, name, rec.replicas[name], rec.evicted)
	}
}

func (t *truth) checkLimits(job *v1beta1.GenericJob) {
	for _, r := range job.Spec.ReplicaSpecs {
		if r.RestartPolicy == nil || r.RestartPolicy.Limit == nil {
			continue
		}
		for rank := range replicasOf(&r) {
			if n := ledgerRecord(&job.Status, r.Type, rank).Restarts; n > *r.RestartPolicy.Limit {
				t.violated("trainer#2342 a limit was exceeded", "%s-%d: %d restarts of %d", r.Type, rank, n, *r.RestartPolicy.Limit)
			}
		}
	}
}

// checkReplica: every failure of a replica's code was counted once, as a restart or as its last one. Failures at the end of the job, which nothing
// follows, need not be counted. Nor need those of a job that was being stopped for its queue.
func (t *truth) checkReplica(s *v1beta1.GenericJobStatus, name string, r *replica, evicted bool) {
	i := strings.LastIndex(name, "-")
	rank, _ := strconv.Atoi(name[i+1:])
	restarts := int(ledgerRecord(s, name[:i], rank).Restarts)
	ends := r.failures + r.reruns
	if restarts > ends+r.doubts {
		t.violated("a restart was counted twice", "%s: %d restarts for %d ends of its code", name, restarts, ends)
	}
	last := 0
	if ledgerHas(s, name[:i], rank) {
		last = 1
	}
	if succeeded(s, name[:i], rank) {
		last = 0 // each failure came before
	} else if s.CompletionTime != nil {
		return
	}
	if !evicted && restarts+last+r.doubts+int(s.ExceptedCount) < r.failures {
		t.violated("kubeflow B2 a failure was not counted", "%s: %d restarts for %d failures", name, restarts, r.failures)
	}
}

// ledgerRecord is what the ledger records of a replica.
func ledgerRecord(s *v1beta1.GenericJobStatus, replicaType string, rank int) v1beta1.RankRecord {
	for _, l := range s.Ledger {
		for _, r := range l.Replicas {
			if l.Type == replicaType && int(r.Rank) == rank {
				return r
			}
		}
	}
	return v1beta1.RankRecord{}
}

// succeeded reports whether the ledger holds the success of a replica.
func succeeded(s *v1beta1.GenericJobStatus, replicaType string, rank int) bool {
	i := slices.IndexFunc(s.Ledger, func(l v1beta1.TaskLedger) bool { return l.Type == replicaType })
	if i < 0 {
		return false
	}
	ok, _ := ledger.ParseRanks(s.Ledger[i].Succeeded)
	return ok.Contains(rank)
}

// ledgerHas reports whether the ledger holds the outcome of a replica.
func ledgerHas(s *v1beta1.GenericJobStatus, replicaType string, rank int) bool {
	for _, l := range s.Ledger {
		ok, _ := ledger.ParseRanks(l.Succeeded)
		bad, _ := ledger.ParseRanks(l.Failed)
		if l.Type == replicaType && (ok.Contains(rank) || bad.Contains(rank)) {
			return true
		}
	}
	return false
}

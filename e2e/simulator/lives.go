package simulator

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// This file checks what ends a streak of short lives. A replica must have run for ten minutes; where all restart together, as many as are needed. The
// file adds up for how long that really was so. It leaves a margin, because clocks of operators differ by so much.
const (
	longLife = 10 * time.Minute
	margin   = 7 * time.Minute
)

// lived is for how long code has run in attempts.
type lived struct {
	alone    map[string]time.Duration // of replicas, by type, rank and attempt
	together map[int32]time.Duration  // in which enough replicas ran, by job attempt
	need     map[int32]int            // how many are enough: the fewest that were in the attempt
	unknown  map[int32]bool           // job attempts in which nobody tells the operator when code has begun or ended
}

func newLived() lived {
	return lived{map[string]time.Duration{}, map[int32]time.Duration{}, map[int32]int{}, map[int32]bool{}}
}

// pass lets time pass.
func (l *Life) pass(d time.Duration) {
	if d > 0 {
		for uid, r := range l.truth.records {
			if job := l.api.jobByUID(uid); job != nil {
				l.truth.passes(job, &r.lived, d)
			}
		}
	}
	l.now = l.now.Add(d)
}

// passes adds a time to the lives of a job's code that runs.
func (t *truth) passes(job *v1beta1.GenericJob, all *lived, d time.Duration) {
	running := map[int32]int{}
	for _, p := range t.life.api.pods() {
		if !metav1.IsControlledBy(p, job) || auxiliary(job, p) {
			continue
		}
		if attempt, runs := t.jobAttemptOf(p); runs {
			running[attempt]++
			all.alone[lifeOf(p)] += d
		}
	}
	for attempt, n := range running {
		need := t.needed(job)
		if fewest, known := all.need[attempt]; known {
			need = min(need, fewest)
		}
		if all.need[attempt] = need; n >= need {
			all.together[attempt] += d
		}
	}
}

// lifeOf names the life of a replica that a pod was made for.
func lifeOf(p *corev1.Pod) string {
	return lifeIn(p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank), number(p, v1beta1.LabelAttempt))
}

func lifeIn(replicaType string, rank, attempt int) string {
	return fmt.Sprintf("%s-%d@%d", replicaType, rank, attempt)
}

// needed is how many replicas of a job must run so that it trains: all that have not finished, or its minMember.
func (t *truth) needed(job *v1beta1.GenericJob) (n int) {
	rec := t.recordOf(job.UID)
	for _, r := range job.Spec.ReplicaSpecs {
		for rank := range replicasOf(&r) {
			code := rec.replicas[fmt.Sprintf("%s-%d", r.Type, rank)]
			if !r.Auxiliary && !ledgerHas(&job.Status, r.Type, rank) && (code == nil || len(code.succeededIn) == 0) {
				n++
			}
		}
	}
	if s := job.Spec.Scheduler; s != nil && s.MinMember != nil {
		n = min(n, int(*s.MinMember))
	}
	return n
}

// livesWritten checks that a streak which a status ends had a long life, and that one which goes on had none. Where a user has edited the job, or took
// finalizers away, nobody else can tell for how long it has trained.
func (t *truth) livesWritten(was, is *v1beta1.GenericJob) {
	if len(t.late)+len(t.raced) > 0 || t.life.strips || is.Status.ModeGeneration > 0 {
		return
	}
	if is.Spec.RestartScope == v1beta1.RestartScopeJob {
		t.lifeOfAllWritten(was, is)
		return
	}
	rec := t.recordOf(is.UID)
	for _, l := range is.Status.Ledger {
		for _, r := range l.Replicas {
			before := ledgerRecord(&was.Status, l.Type, int(r.Rank))
			ran := rec.lived.alone[lifeIn(l.Type, int(r.Rank), int(was.Status.JobAttempt+before.Attempt))]
			if before.Streak > 1 && r.Streak == 1 && ran < longLife-margin && l.Type != "store" && is.Spec.RestartStrategy != v1beta1.RestartInPlace {
				t.violated("a short life ends a streak", "%s-%d had %d short lives, and now ran for %s", l.Type, r.Rank, before.Streak, ran)
			}
		}
	}
}

// lifeOfAllWritten does that where all replicas restart together.
func (t *truth) lifeOfAllWritten(was, is *v1beta1.GenericJob) {
	attempt, rec := was.Status.JobAttempt, t.recordOf(is.UID)
	before, after := longestStreak(&was.Status), longestStreak(&is.Status)
	if is.Status.JobAttempt != attempt+1 || before == 0 || rec.lived.unknown[attempt] {
		return
	}
	ran := rec.lived.together[attempt]
	switch {
	case after == 1 && ran < longLife-margin:
		t.violated("a short life ends a streak", "there were %d short lives, and %d replicas now ran together for %s", before, rec.lived.need[attempt], ran)
	case after > 1 && ran > longLife+margin && !rec.unsettled:
		t.violated("a long life ends no streak", "%d replicas ran together for %s, and that is the %d. short life", rec.lived.need[attempt], ran, after)
	}
}

// longestStreak is that of a replica that is not auxiliary.
func longestStreak(s *v1beta1.GenericJobStatus) (longest int32) {
	for _, l := range s.Ledger {
		for _, r := range l.Replicas {
			if l.Type != "store" {
				longest = max(longest, r.Streak)
			}
		}
	}
	return longest
}

// neverBegins notes that a pod ends whose order has come too late. Nothing shows the operator that its code never began.
func (t *truth) neverBegins(p *corev1.Pod) {
	_, rec, _ := t.of(p)
	rec.lived.unknown[int32(orderOf(p).JobAttempt)] = true
}

// endsUnknown notes that no kubelet tells when the code of a pod has ended.
func (t *truth) endsUnknown(p *corev1.Pod) {
	_, rec, _ := t.of(p)
	rec.lived.unknown[t.madeIn[p.UID]] = true
}

package ledger

import (
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// RestartsInPlace reports whether replicas are restarted in their pods, if they can be.
func (l *Ledger) RestartsInPlace() bool { return l.job.Spec.RestartStrategy == v1beta1.RestartInPlace }

// StopsTogether reports whether all replicas stop as soon as one is being ended from outside.
func (l *Ledger) StopsTogether() bool { return l.job.Spec.StopTogether && l.RestartsTogether() }

// IsObsolete reports whether a pod of a replica is to be replaced, by the attempt and the job attempt for which it was made. The account a may be nil.
func (l *Ledger) IsObsolete(a *Account, rank, attempt, jobAttempt int) bool {
	if !l.RestartsInPlace() || a == nil || jobAttempt < 0 {
		return attempt < l.Attempt(a, rank)
	}
	r := a.records[rank]
	return jobAttempt < int(l.inPlace.MinPodJobAttempt) || r != nil && attempt < int(r.MinPodAttempt)
}

// BarrierIsOpen reports whether replicas need not wait for each other. If all restart together in place, an open barrier means that none runs, or
// ever will run, code of an earlier job attempt.
func (l *Ledger) BarrierIsOpen() bool {
	return !l.RestartsInPlace() || !l.RestartsTogether() || l.inPlace.StartedJobAttempt >= l.jobAttempt
}

// BarrierTime returns when replicas were last told to stop; zero if never.
func (l *Ledger) BarrierTime() time.Time {
	if t := l.inPlace.BarrierTime; t != nil {
		return t.Time
	}
	return time.Time{}
}

// RestartTime returns when replicas that waited for each other were last told to go on; zero if never.
func (l *Ledger) RestartTime() time.Time {
	if t := l.inPlace.RestartTime; t != nil {
		return t.Time
	}
	return time.Time{}
}

// Exits returns how many ends of the container that restarts in place have been counted, in this pod of the replica.
func (a *Account) Exits(rank int, pod types.UID) int {
	if r := a.records[rank]; r != nil && r.Exits > 0 && r.ExitsOfPod == shortHash(pod) {
		return int(r.Exits)
	}
	return 0
}

// NoteExits records how many ends of a pod's container are counted.
func (d Draft) NoteExits(a *Account, rank int, pod types.UID, exits int) {
	if exits > a.Exits(rank, pod) {
		r := a.record(rank)
		r.Exits, r.ExitsOfPod = int32(exits), shortHash(pod)
	}
}

// hashLength is the length of a shortHash.
const hashLength = 6

// shortHash returns a hash of a UID in six characters. It need only tell a pod from the pods that had its name before, so its 69 billion values are
// enough.
func shortHash(uid types.UID) string {
	h := fnv.New64a()
	h.Write([]byte(uid))
	sum := h.Sum64()
	sum ^= sum >> 36
	text := make([]byte, hashLength)
	for i := range text {
		text[i] = hashAlphabet[sum>>(6*i)&63]
	}
	return string(text)
}

const hashAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// OpenBarrier notes that all replicas have arrived in the present job attempt, and may go on.
func (d Draft) OpenBarrier(now time.Time) {
	d.inPlace.StartedJobAttempt = d.jobAttempt
	if d.inPlace.BarrierTime != nil {
		d.inPlace.RestartTime = &metav1.MicroTime{Time: now}
	}
}

// ReplacePod has the pod of a replica replaced, without counting anything.
func (d Draft) ReplacePod(a *Account, rank int) {
	r := a.record(rank)
	r.Attempt++
	r.MinPodAttempt = int32(d.Attempt(a, rank))
}

// BegunTogether returns when the replicas of a type were last told to go on together, though their containers and pods may be older. It is zero if
// they never were, and now if they wait for that.
func (l *Ledger) BegunTogether(a *Account, now time.Time) time.Time {
	switch t := l.RestartTime(); {
	case !l.RestartsInPlace() || !l.RestartsTogether() || a.Auxiliary || l.inPlace.BarrierTime == nil:
		return time.Time{}
	case t.IsZero() || t.After(now):
		return now
	default:
		return t
	}
}

// failuresInARow returns how many of the short lives in a row have ended by a failure, in the streak of a replica.
func failuresInARow(r *v1beta1.RankRecord) int32 { return r.Streak - r.StreakDisruptions }

// inPlaceLimit returns how often in a row a replica is restarted in place, or all members if they restart together.
func (l *Ledger) inPlaceLimit() int32 {
	if n := l.job.Spec.InPlaceLimit; n != nil {
		return *n
	}
	return spec.InPlaceLimit
}

// restartWholeJob begins a job attempt in place. Replicas that have succeeded stay succeeded. The members share a streak. If more of its short
// lives ended by a failure than the limit allows, the pod that failed last is replaced. If that does not help, all pods are.
func (d Draft) restartWholeJob(a *Account, rank int, as Count, now time.Time) {
	d.jobAttempt++
	d.inPlace.BarrierTime, d.inPlace.RestartTime = &metav1.MicroTime{Time: now}, nil
	switch beyond := failuresInARow(a.record(rank)) - d.inPlaceLimit(); {
	case as != Restart && as != Excepted:
	case beyond == 1:
		d.ReplacePod(a, rank)
	case beyond > 1:
		d.inPlace.MinPodJobAttempt = d.jobAttempt
	}
}

// restartAlone begins an attempt of one replica, in its pod if that is possible.
func (d Draft) restartAlone(a *Account, rank int, inPlace bool) {
	r := a.record(rank)
	r.Attempt++
	if d.RestartsInPlace() && (!inPlace || failuresInARow(r) > d.inPlaceLimit()) {
		r.MinPodAttempt = int32(d.Attempt(a, rank))
	}
}

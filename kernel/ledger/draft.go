package ledger

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Draft is a ledger that is being written. The caller stores it before it does what the draft justifies.
type Draft struct{ *Ledger }

// account returns the account of a type, made if there is none yet.
func (d Draft) account(replicaType string) *Account {
	a := d.accounts[replicaType]
	if a == nil {
		a = &Account{Index: -1, records: map[int]*v1beta1.RankRecord{}}
		d.accounts[replicaType] = a
	}
	return a
}

// record returns the ledger's record of a replica, made if there is none yet.
func (a *Account) record(rank int) *v1beta1.RankRecord {
	r := a.records[rank]
	if r == nil {
		r = &v1beta1.RankRecord{Rank: int32(rank)}
		a.records[rank] = r
	}
	return r
}

// Succeed notes that a replica has done its work.
func (d Draft) Succeed(a *Account, rank int) { a.succeeded.Add(rank) }

// Fail notes that a replica has failed for good.
func (d Draft) Fail(a *Account, rank int) { a.failed.Add(rank) }

// ForgetScaledDown forgets the outcomes of replicas that were scaled away, so that they run again if they come back. Their attempt grows: a late view
// of an old pod must not be taken for a pod of their second life.
func (d Draft) ForgetScaledDown() {
	for _, a := range d.accounts {
		for _, rank := range slices.Concat(a.succeeded.CutFrom(a.N), a.failed.CutFrom(a.N)) {
			d.startAnew(a, rank)
		}
	}
}

// StartScaledDownAnew begins a new attempt of a replica that was scaled away, if it still has a pod of the present one.
func (d Draft) StartScaledDownAnew(replicaType string, rank, attempt int) {
	if a := d.account(replicaType); attempt >= d.Attempt(a, rank) {
		d.startAnew(a, rank)
	}
}

// startAnew begins an attempt of a replica in a new pod.
func (d Draft) startAnew(a *Account, rank int) { d.restartAlone(a, rank, false) }

// Count is what a new start of a replica counts as.
type Count int

// The counts.
const (
	Restart    Count = iota // after a failure of its own, or after a success under policy Always: limits count it
	Disruption              // after something outside the job ended it: no limit counts it, status.disruptionCount does
	Uncounted               // nothing counts it
	Excepted                // after a failure that a rule of spec.failurePolicy does not count: status.exceptedCount counts it
)

// StartOver starts a replica anew, or the whole job if the restart scope is Job, and counts that. The pods so far become superseded. An auxiliary
// replica is always replaced alone.
//
// Lived is for how long the replica has lived, or all together: short lives in a row delay the next pod. InPlace says that the pod can be used again. If the job
// restarts in place, such a pod is not superseded.
func (d Draft) StartOver(a *Account, rank int, as Count, lived time.Duration, inPlace bool, now time.Time) {
	r := a.record(rank)
	d.delayNext(a, r, as, lived, now)
	switch as {
	case Restart:
		r.Restarts++
		d.countedRestarts++
	case Disruption:
		d.disruptions++
	case Excepted:
		d.excepted++
	case Uncounted:
	}
	switch {
	case !d.RestartsTogether() || a.Auxiliary:
		d.restartAlone(a, rank, inPlace)
		return
	case d.RestartsInPlace():
		d.restartWholeJob(a, rank, as, now)
		return
	}
	d.jobAttempt++
	for _, t := range d.accounts { // replicas that had succeeded must run again
		t.succeeded = Ranks{}
	}
}

// The first replacement of a replica has no delay. While its lives are shorter than steadyLife, the delay before the next one doubles, from firstDelay to
// maxDelay. The kubelet, too, forgets crashes after ten minutes.
const (
	steadyLife = 10 * time.Minute
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
)

// restartDelay returns the delay before a replica's next pod, after a streak of short lives.
func restartDelay(streak int) time.Duration {
	if streak <= 1 {
		return 0
	}
	if streak > 10 {
		return maxDelay
	}
	return min(firstDelay<<(streak-2), maxDelay)
}

// DelayedUntil returns the time before which the code of a replica did not start in its present attempt. That is the end of its delay, or when the
// operator gave the order to go on in its pod. It is zero if the start of the container is all that is known.
func (a *Account) DelayedUntil(rank int) (at time.Time) {
	if r := a.records[rank]; r != nil && r.NotBefore != nil {
		at = r.NotBefore.Time
	}
	return at
}

// delayNext lengthens a replica's streak of short lives, or begins a new one, and sets the delay before its next pod.
func (d Draft) delayNext(a *Account, r *v1beta1.RankRecord, as Count, lived time.Duration, now time.Time) {
	members := d.streakOf(a, r)
	for _, other := range members {
		r.Streak, r.StreakDisruptions = max(r.Streak, other.Streak), max(r.StreakDisruptions, other.StreakDisruptions)
	}
	if lived >= steadyLife {
		for _, other := range members {
			other.Streak, other.StreakDisruptions = 0, 0
		}
	}
	r.Streak++
	if as != Restart && as != Excepted && d.RestartsInPlace() {
		r.StreakDisruptions++
	}
	r.NotBefore = nil
	if delay := restartDelay(int(r.Streak)); delay > 0 {
		at := metav1.NewTime(now.Add(delay + time.Second - 1).Truncate(time.Second)) // stored in whole seconds: round up
		r.NotBefore = &at
	} else if d.RestartsInPlace() && !d.RestartsTogether() { // its container may have started already, and waits for the operator: see DelayedUntil
		at := metav1.NewTime(now.Truncate(time.Second))
		r.NotBefore = &at
	}
}

// streakOf returns the records of all replicas whose short lives are in one streak with those of a record. If all replicas restart together, that is
// all of them, because they fail in turns, and live together. An auxiliary replica has a streak of its own.
func (d Draft) streakOf(a *Account, r *v1beta1.RankRecord) []*v1beta1.RankRecord {
	if !d.RestartsTogether() || a.Auxiliary {
		return []*v1beta1.RankRecord{r}
	}
	var list []*v1beta1.RankRecord
	for _, a := range d.accountsOfSpec {
		if a.Auxiliary {
			continue
		}
		for _, other := range a.records {
			list = append(list, other)
		}
	}
	return list
}

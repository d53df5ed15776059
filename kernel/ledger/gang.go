package ledger

import "github.com/genericjob/genericjob/apis/batch/v1beta1"

// Gang returns the group in which pods that have no node yet are placed together; see v1beta1.GangStatus.
func (l *Ledger) Gang() v1beta1.GangStatus { return l.gang }

// Regroup begins a new group, of which at least this number of pods is placed together. HasPods says that some replica has a pod.
func (d Draft) Regroup(least int, hasPods bool) {
	d.gang = v1beta1.GangStatus{Group: d.gang.Group + 1, MinMember: int32(least), HadPods: d.gang.HadPods || hasPods}
}

// NotePodOutside notes that a pod was made that is in no group.
func (d Draft) NotePodOutside() { d.gang.HadPods = true }

// Kueue returns the Kueue queue in which the job waits, or which has admitted it; nil if it needs none.
func (l *Ledger) Kueue() *v1beta1.KueueScheduler { return l.kueue }

// Unfinished returns the number of replicas that have not finished.
func (l *Ledger) Unfinished() int {
	n := 0
	for _, a := range l.accountsOfSpec {
		n += a.Unfinished()
	}
	return n
}

// AuxiliaryReplicas returns the number of replicas that only serve the others.
func (l *Ledger) AuxiliaryReplicas() int {
	n := 0
	for _, a := range l.accountsOfSpec {
		if a.Auxiliary {
			n += a.N
		}
	}
	return n
}

// Unfinished returns the number of a type's replicas that have not finished.
func (a *Account) Unfinished() int { return a.N - a.SucceededCount() - a.FailedCount() }

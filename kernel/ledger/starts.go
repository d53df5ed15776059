package ledger

import "github.com/genericjob/genericjob/apis/batch/v1beta1"

// Starts are how often a replica was started again, as far as the status tells.
type Starts struct {
	// Restarts are those that a limit counts.
	Restarts int32
	// WithJob are starts of the whole job that are not among Restarts.
	WithJob int32
	// Uncounted are starts of the replica alone that no limit counts.
	Uncounted int32
	// More are starts beyond Restarts of which the status does not tell what they were: of the whole job, or of the replica alone.
	More int32
	// PerhapsMore says that there may have been others: the status does not tell.
	PerhapsMore bool
}

// All returns how many starts are known.
func (s Starts) All() int32 { return s.Restarts + s.WithJob + s.Uncounted + s.More }

// Starts returns how often a replica was started again. The account a may be nil.
//
// A start of the whole job raises the job attempt. A start of the replica alone raises its own attempt. Two things keep the status from telling more:
//
//   - A limit may count either, and the record does not say which of its restarts were of the replica alone. Those are rare where the whole job
//     restarts: in debug mode, or before a pause in which the scope was edited.
//   - While replicas wait at the barrier, a pod that is replaced raises the replica's own attempt, too: one start has both.
func (l *Ledger) Starts(a *Account, rank int) Starts {
	r := &v1beta1.RankRecord{}
	if a == nil {
		a = &Account{Index: -1}
	} else if a.records[rank] != nil {
		r = a.records[rank]
	}
	s := Starts{Restarts: r.Restarts}
	least, most := l.restartsAlone(a, r)
	switch {
	case l.jobAttempt > 0 && l.RestartsInPlace() && a.succeeded.Contains(rank): // it is a member of no later job attempt
		s.PerhapsMore = l.jobAttempt > r.Restarts || r.Attempt > least
	case least == most:
		s.WithJob, s.Uncounted = max(0, l.jobAttempt-r.Restarts+least), max(0, r.Attempt-least)
		if l.mayReplacePods(a) && s.Uncounted > 0 {
			s.Uncounted, s.PerhapsMore = 0, true
		}
	case l.mayReplacePods(a):
		s.More, s.PerhapsMore = max(0, l.jobAttempt-r.Restarts), true
	default:
		s.More = max(0, l.jobAttempt+r.Attempt-r.Restarts)
	}
	return s
}

// mayReplacePods reports whether replicas of a type have waited at the barrier, so that pods may have been replaced there.
func (l *Ledger) mayReplacePods(a *Account) bool {
	return l.inPlace.BarrierTime != nil && !isAuxiliary(a)
}

// isAuxiliary reports whether replicas of a type are auxiliary: these are always replaced alone, and wait at no barrier.
func isAuxiliary(a *Account) bool { return a.Index >= 0 && a.Auxiliary }

// restartsAlone returns how many of the restarts that a limit counts were of the replica alone, at least and at most.
func (l *Ledger) restartsAlone(a *Account, r *v1beta1.RankRecord) (least, most int32) {
	least, most = max(0, r.Restarts-l.jobAttempt), min(r.Attempt, r.Restarts)
	switch {
	case isAuxiliary(a):
		least = most
	case l.modeGeneration == 0 && l.RestartsTogether(): // there was neither debug mode nor a pause
		most = least
	}
	return min(least, most), most
}

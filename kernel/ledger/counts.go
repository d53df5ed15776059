package ledger

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

// SucceededCount returns the number of ranks that have succeeded.
func (a *Account) SucceededCount() int { return a.succeeded.Len() }

// FailedCount returns the number of ranks that have failed for good.
func (a *Account) FailedCount() int { return a.failed.Len() }

// Restarts returns the number of restarts of a type that a limit counted.
func (a *Account) Restarts() int32 {
	n := a.forgotten
	for _, r := range a.records {
		n += r.Restarts
	}
	return n
}

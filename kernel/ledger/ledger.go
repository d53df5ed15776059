// Package ledger keeps, in the status, what a job must not forget:
//
//   - which ranks have succeeded or failed for good, how often each was replaced, and what the limits leave
//   - in which mode the job runs, since when, and how long it was paused
//
// It knows the job's spec, but neither pods nor conditions nor the words in which all this is reported.
//
// A Ledger can only be read; a Draft can be written. Counts and attempts never go down. Outcomes stay, unless the replica is scaled away or the whole
// job starts over.
//
// Begin with Ledger and Account, then draft.go (what can happen to them) and mode.go (the job's clock).
package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Ledger is the job's accounts, to be read.
type Ledger struct {
	job            *v1beta1.GenericJob
	replicaTypes   []spec.ReplicaType  // in the order of spec.replicaSpecs
	accountsOfSpec []*Account          // of replicaTypes, in their order
	accounts       map[string]*Account // of all types that the ledger or the spec has
	run                                // what the job as a whole has done
	gang           v1beta1.GangStatus  // the group in which pods are placed now
	inPlace        v1beta1.InPlaceStatus
	nodes          // on which the job has failed, or that were lost
	kueue          *v1beta1.KueueScheduler
	time           *v1beta1.JobTime     // what its time was spent on; replaced, and never changed
	history        *v1beta1.History     // what came between its work; likewise
	recovery       *v1beta1.Recovery    // from its last loss; likewise
	why            v1beta1.HistoryEntry // what is known of the loss that this draft has found
	noStatus       bool                 // the job has none yet
	edited         bool                 // see IsEdited
	resumed        bool                 // this draft has ended a pause of a job that had begun
}

// run is what the status says of the job as a whole, beside its phase and its end. There the counts are jobAttempt, backoffCount, disruptionCount and
// exceptedCount; clock has the rest.
type run struct {
	jobAttempt, countedRestarts, disruptions, excepted int32
	clock
}

// Account is what the ledger holds of a replica type.
type Account struct {
	spec.ReplicaType
	// Index is the index of the type in spec.replicaSpecs. It is -1 if the spec does not have the type; then ReplicaType is empty.
	Index             int
	succeeded, failed Ranks
	records           map[int]*v1beta1.RankRecord
	forgotten         int32 // restarts of records that were dropped
}

// Load reads the ledger from the status of a job. The error says which field cannot be read. Nothing can be done for such a job.
func Load(job *v1beta1.GenericJob) (Draft, error) {
	s := &job.Status
	l := &Ledger{job: job, accounts: map[string]*Account{}, noStatus: isBlank(*s)}
	l.time, l.history, l.recovery = timeOf(s), historyOf(s), recoveryOf(s)
	l.run = run{s.JobAttempt, s.BackoffCount, s.DisruptionCount, s.ExceptedCount, clockOf(s)}
	l.nodes = nodesOf(s)
	if s.Gang != nil {
		l.gang = *s.Gang
	}
	if s.InPlace != nil {
		l.inPlace = *s.InPlace
	}
	l.kueue = spec.Kueue(job)
	if l.startTime != nil && !stops(l.mode) {
		l.kueue = s.Queue // an edit of a label counts once no pod runs
	}
	l.edited = l.findsEdit()
	d := Draft{l}
	broken := d.loadAccounts(s.Ledger)
	l.replicaTypes = spec.ReplicaTypes(job, l.IsSettled() && !job.Spec.RunMode.Pauses())
	for i, t := range l.replicaTypes {
		a := d.account(t.Type)
		a.ReplicaType, a.Index = t, i
		l.accountsOfSpec = append(l.accountsOfSpec, a)
	}
	if s.CompletionTime != nil { // records may have been dropped at the end
		for _, t := range s.Tasks {
			if a := l.accounts[t.Type]; a != nil {
				a.forgotten = max(0, t.RestartCount-a.Restarts())
			}
		}
	}
	return d, broken
}

func (a *Account) load(l *v1beta1.TaskLedger) (err error) {
	if a.succeeded, err = ParseRanks(l.Succeeded); err != nil {
		return fmt.Errorf("succeeded %q: %w", l.Succeeded, err)
	}
	if a.failed, err = ParseRanks(l.Failed); err != nil {
		return fmt.Errorf("failed %q: %w", l.Failed, err)
	}
	if err := a.loadRecords(l.Replicas); err != nil {
		return fmt.Errorf("replicas: %w", err)
	}
	return nil
}

// Save writes the ledger into a status, types in alphabetical order and ranks ascending, so that equal ledgers are equal
// bytes. Types that are no longer in the spec keep their records: their pods may still be around.
func (l *Ledger) Save(s *v1beta1.GenericJobStatus, now time.Time) {
	s.JobAttempt, s.BackoffCount, s.DisruptionCount, s.ExceptedCount = l.jobAttempt, l.countedRestarts, l.disruptions, l.excepted
	l.save(s)
	s.Gang = nil
	if l.gang != (v1beta1.GangStatus{}) {
		s.Gang = new(l.gang)
	}
	s.InPlace = nil
	if l.inPlace != (v1beta1.InPlaceStatus{}) {
		s.InPlace = new(l.inPlace)
	}
	s.Queue, s.Time, s.History, s.Recovery = l.kueue.DeepCopy(), l.time, l.history, l.recovery
	l.saveNodes(s)
	s.Ledger = nil
	many := l.countRecords() > manyRecords
	for name, a := range l.accounts {
		t := v1beta1.TaskLedger{Type: name, Succeeded: a.succeeded.String(), Failed: a.failed.String(), Replicas: a.saveRecords(many, now)}
		if t.Succeeded != "" || t.Failed != "" || len(t.Replicas) > 0 {
			s.Ledger = append(s.Ledger, t)
		}
	}
	slices.SortFunc(s.Ledger, func(a, b v1beta1.TaskLedger) int { return cmp.Compare(a.Type, b.Type) })
}

// isBlank reports whether a status is that of a job which nobody has looked at.
func isBlank(s v1beta1.GenericJobStatus) bool {
	if s.ObservedGeneration == v1beta1.Unobserved {
		s.ObservedGeneration = 0
	}
	return equality.Semantic.DeepEqual(s, v1beta1.GenericJobStatus{})
}

// HasNoStatus reports whether the job has no status yet.
func (l *Ledger) HasNoStatus() bool { return l.noStatus }

// IsEdited reports whether existing pods may have been made from another spec, because of an edit that this draft answers: see
// BeginModeGenerationIfEdited.
func (l *Ledger) IsEdited() bool { return l.edited }

// findsEdit reports whether existing pods may have been made from another spec, because of an edit. The CRD lets users edit everything as long as
// there is no phase, and templates as long as no code has started.
func (l *Ledger) findsEdit() bool {
	if l.noStatus {
		return l.job.Generation > 1
	}
	return l.IsUnstarted() && l.job.Generation != l.job.Status.ObservedGeneration && l.unstarted != spec.PodsHash(l.job)
}

// IsUnstarted reports whether no code has started in pods that were made from this spec. As long as that is so, the CRD lets users edit templates.
func (l *Ledger) IsUnstarted() bool { return l.unstarted != "" }

// IsSettled reports whether the job has started, from a spec that the status knows, with pods of the mode that the spec asks for. A paused or queued
// job needs no pods for that.
func (l *Ledger) IsSettled() bool {
	return l.startTime != nil && !l.IsEdited() && (l.mode == l.wantedMode() || l.job.Spec.RunMode.Pauses() || l.mode == spec.ModeQueued)
}

// ReplicaTypes returns the types in the spec, in its order.
func (l *Ledger) ReplicaTypes() []spec.ReplicaType { return l.replicaTypes }

// Accounts returns the accounts of the types in the spec, in its order.
func (l *Ledger) Accounts() []*Account { return l.accountsOfSpec }

// Account returns the account of a type; nil if neither the spec nor the ledger knows it.
func (l *Ledger) Account(replicaType string) *Account { return l.accounts[replicaType] }

// Attempt returns the attempt that a replica is in: the job attempt plus the replica's own restarts and replacements. Both only grow. The account a
// may be nil.
func (l *Ledger) Attempt(a *Account, rank int) int {
	n := int(l.jobAttempt)
	if a != nil && a.records[rank] != nil {
		n += int(a.records[rank].Attempt)
	}
	return n
}

// JobAttempt returns how often the whole job was started over.
func (l *Ledger) JobAttempt() int32 { return l.jobAttempt }

// RestartsTogether reports whether a restart is one of all replicas. In debug mode it never is, because pods end independently there.
func (l *Ledger) RestartsTogether() bool {
	return l.job.Spec.RestartScope == v1beta1.RestartScopeJob && !strings.HasPrefix(l.mode, spec.ModeDebug)
}

// SharedRestartsLeft returns how many are left of the restarts that all replicas share; spec.Unlimited if they share no limit.
func (l *Ledger) SharedRestartsLeft() int {
	if b := l.job.Spec.BackoffLimit; b != nil {
		return max(0, int(*b-l.countedRestarts))
	}
	return spec.Unlimited
}

// IsWithinLimit reports whether the limit of a replica, and the one that all share, leave another restart.
func (l *Ledger) IsWithinLimit(a *Account, rank int) bool {
	if a.Index >= 0 && a.Auxiliary {
		return true
	}
	if l.SharedRestartsLeft() == 0 {
		return false
	}
	done := 0
	if r := a.records[rank]; r != nil {
		done = int(r.Restarts)
	}
	return a.Policy.Limit == spec.Unlimited || done < a.Policy.Limit
}

// Spent returns how many restarts are spent of a replica's limit, and that limit. It is the limit that all replicas share, if there is one, or else
// its own, which may be spec.Unlimited.
func (l *Ledger) Spent(a *Account, rank int) (spent, limit int) {
	if b := l.job.Spec.BackoffLimit; b != nil {
		return int(l.countedRestarts), int(*b)
	}
	if r := a.records[rank]; r != nil {
		spent = int(r.Restarts)
	}
	return spent, a.Policy.Limit
}

// RunsAgain reports whether a replica is run again even if it succeeds.
func (l *Ledger) RunsAgain(a *Account, rank int) bool {
	return a.Policy.Allows(0) && l.IsWithinLimit(a, rank)
}

// Delay returns how long a replica still has to wait for its next pod; zero or less if it need not wait. Replaced reports whether it had a pod before.
func (l *Ledger) Delay(a *Account, rank int, now time.Time) (wait time.Duration, replaced bool) {
	r := a.records[rank]
	if r == nil || r.NotBefore == nil {
		return 0, r != nil
	}
	return r.NotBefore.Sub(now), true
}

// Streak returns the number of short lives in a row of a replica's pods. Members of a job may share a streak (see streakOf).
func (a *Account) Streak(rank int) int {
	if r := a.records[rank]; r != nil {
		return int(r.Streak)
	}
	return 0
}

// NextDelay returns the shortest time that a replica still has to wait for its next pod; 0 if none has to. Auxiliary replicas are left out: nobody
// waits for their delays.
func (l *Ledger) NextDelay(now time.Time) time.Duration {
	var next time.Duration
	for _, a := range l.accountsOfSpec {
		if a.Auxiliary {
			continue
		}
		for rank := range a.records {
			if wait, _ := l.Delay(a, rank, now); wait > 0 && (next == 0 || wait < next) {
				next = wait
			}
		}
	}
	return next
}

// HasSucceeded reports whether a rank has succeeded.
func (a *Account) HasSucceeded(rank int) bool { return a.succeeded.Contains(rank) }

// HasFailed reports whether a rank has failed for good.
func (a *Account) HasFailed(rank int) bool { return a.failed.Contains(rank) }

// HasFinished reports whether the ledger holds the outcome of a replica.
func (a *Account) HasFinished(rank int) bool { return a.HasSucceeded(rank) || a.HasFailed(rank) }

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

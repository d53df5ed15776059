package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The apiserver stores objects of 1.5 MiB at most, and the spec needs room, too. So the ledger is bounded. Up to
// manyRecords replaced replicas each has a record of its own, easy to read; above, neighbours share one. What is over
// maxLedger bytes even then fails the job: accounts that cannot be kept cannot be exact.
const (
	manyRecords = 1000
	maxLedger   = 950_000
)

func (p *pass) countRecords() int {
	n := 0
	for _, t := range p.ledger {
		n += len(t.records)
	}
	return n
}

// loadRecords reads the records of a type's replicas. What they say of ranks that no job has is an error.
func (t *task) loadRecords(list []v1beta1.RankRecord) error {
	for _, l := range list {
		last := max(l.Rank, l.To)
		if l.Rank < 0 || last > maxRank || l.To < 0 {
			return fmt.Errorf("rank %d to %d: want ranks from 0 to %d", l.Rank, l.To, maxRank)
		}
		for rank := l.Rank; rank <= last; rank++ {
			r := l.DeepCopy()
			r.Rank, r.To = rank, 0
			t.records[int(rank)] = r
		}
	}
	return nil
}

// saveRecords lists the records in the order of ranks; if there are many, those that are equal share one, and delays that
// are over are left out.
func (t *task) saveRecords(many bool, now time.Time) []v1beta1.RankRecord {
	var list []v1beta1.RankRecord
	for _, r := range t.records {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b v1beta1.RankRecord) int { return cmp.Compare(a.Rank, b.Rank) })
	if !many {
		return list
	}
	n := 0
	for _, r := range list {
		if r.NotBefore != nil && !r.NotBefore.After(now) {
			r.NotBefore = nil
		}
		if n > 0 && continues(list[n-1], r) {
			list[n-1].To = r.Rank
			continue
		}
		list[n] = r
		n++
	}
	return list[:n]
}

// continues says whether a record says of the next rank what another says of those before.
func continues(before, r v1beta1.RankRecord) bool {
	return max(before.Rank, before.To) == r.Rank-1 && before.Attempt == r.Attempt && before.Restarts == r.Restarts &&
		before.Streak == r.Streak && before.NotBefore.Equal(r.NotBefore)
}

// failIfFull fails a job whose ledger has become too large to be stored, and says whether it did.
func (p *pass) failIfFull() bool {
	records := p.countRecords()
	if records <= manyRecords {
		return false
	}
	size := 0
	for _, t := range p.ledger {
		size += len(t.succeeded.String()) + len(t.failed.String())
		for _, r := range t.saveRecords(true, p.Now) {
			size += sizeOf(r)
		}
	}
	if size <= maxLedger {
		return false
	}
	p.verdict = verdict{fail, v1beta1.ReasonLedgerFull, fmt.Sprintf("%d replicas were replaced, each in its own way: to account for that takes %d bytes of status, of which there are %d. Run fewer replicas in one job; or set spec.restartScope to Job, which keeps one account for all.",
		records, size, maxLedger)}
	for _, t := range p.ledger { // the accounts are closed
		t.forgotten = p.restartsOf(t)
		t.records = map[int]*v1beta1.RankRecord{}
	}
	p.finish(v1beta1.JobFailed)
	return true
}

// sizeOf is about how many bytes a record takes as JSON.
func sizeOf(r v1beta1.RankRecord) int {
	n := len(`{"rank":},`) + len(fmt.Sprint(r.Rank))
	for field, value := range map[string]int32{`,"to":`: r.To, `,"attempt":`: r.Attempt, `,"restarts":`: r.Restarts, `,"streak":`: r.Streak} {
		if value != 0 {
			n += len(field) + len(fmt.Sprint(value))
		}
	}
	if r.NotBefore != nil {
		n += len(`,"notBefore":""`) + len(time.RFC3339)
	}
	return n
}

// restartsOf is the number of restarts of a type that a limit counted.
func (p *pass) restartsOf(t *task) int32 {
	n := t.forgotten
	for _, r := range t.records {
		n += r.Restarts
	}
	if p.Job.Status.CompletionTime == nil {
		return n
	}
	for _, before := range p.Job.Status.Tasks {
		if before.Type == t.name {
			n = max(n, before.RestartCount)
		}
	}
	return n
}

// WithoutRows is a status without what stands there for each replica: what is left when the apiserver finds it too
// large together with the spec.
func WithoutRows(s *v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	out := *s.DeepCopy()
	out.RowsOmitted = true
	for i := range out.Tasks {
		out.Tasks[i].Replicas = nil
	}
	return out
}

// TooLarge is the event about a job whose status cannot be stored, not even without rows: all that can be done is to tell.
func TooLarge(refusal string) Event {
	message := fmt.Sprintf("The status of the job cannot be stored, so nothing more is done for it: together with the spec it is larger than the cluster stores, about 1.5 MB (%s). Make the spec smaller, by a ConfigMap or an image that holds the data.", refusal)
	return Event{Warning: true, Reason: v1beta1.ReasonStatusTooLarge, Message: Cut(message, MaxText)}
}

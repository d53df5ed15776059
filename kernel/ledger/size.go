package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The apiserver stores objects of 1.5 MiB at most, and the spec needs room, too. Therefore the ledger is bounded. Up to
// manyRecords replaced replicas each has a record of its own, easy to read; above, neighbours share one. What is over
// maxLedger bytes even then fails the job: accounts that cannot be kept cannot be exact.
const (
	manyRecords = 1000
	maxLedger   = 950_000
)

func (l *Ledger) countRecords() int {
	n := 0
	for _, a := range l.accounts {
		n += len(a.records)
	}
	return n
}

// loadRecords reads the records of a type's replicas. Ranks that no job has are an error, and so is a rank that is not above those of the record
// before.
func (a *Account) loadRecords(list []v1beta1.RankRecord) error {
	before := int32(-1)
	for _, l := range list {
		last := max(l.Rank, l.LastRank)
		if l.Rank < 0 || last > maxRank || l.LastRank < 0 {
			return fmt.Errorf("rank %d to %d: want ranks from 0 to %d", l.Rank, l.LastRank, maxRank)
		}
		if l.Rank <= before {
			return fmt.Errorf("rank %d after rank %d: want ascending ranks, each in one record", l.Rank, before)
		}
		before = last
		hashes := l.ExitsOfPod
		if hashes != "" && len(hashes) != hashLength*int(last-l.Rank+1) {
			return fmt.Errorf("rank %d to %d: exitsOfPod has %d characters: want %d for each rank", l.Rank, l.LastRank, len(hashes), hashLength)
		}
		for rank := l.Rank; rank <= last; rank++ {
			r := l.DeepCopy()
			r.Rank, r.LastRank = rank, 0
			if hashes != "" {
				r.ExitsOfPod, hashes = hashes[:hashLength], hashes[hashLength:]
			}
			a.records[int(rank)] = r
		}
	}
	return nil
}

// saveRecords lists the records in the order of ranks. If there are many, equal ones share one record, and delays that are over are left
// out.
func (a *Account) saveRecords(many bool, now time.Time) []v1beta1.RankRecord {
	var list []v1beta1.RankRecord
	for _, r := range a.records {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b v1beta1.RankRecord) int { return cmp.Compare(a.Rank, b.Rank) })
	if !many {
		return list
	}
	n := 0
	var hashes strings.Builder // of the last record that was listed
	for _, r := range list {
		if r.NotBefore != nil && !r.NotBefore.After(now) {
			r.NotBefore = nil
		}
		if n > 0 && continues(list[n-1], r) {
			list[n-1].LastRank = r.Rank
			hashes.WriteString(r.ExitsOfPod)
			continue
		}
		if n > 0 {
			list[n-1].ExitsOfPod = hashes.String()
		}
		list[n] = r
		n++
		hashes.Reset()
		hashes.WriteString(r.ExitsOfPod)
	}
	if n > 0 {
		list[n-1].ExitsOfPod = hashes.String()
	}
	return list[:n]
}

// continues reports whether a record says of the next rank what another says of those before.
func continues(before, r v1beta1.RankRecord) bool {
	return max(before.Rank, before.LastRank) == r.Rank-1 && before.Attempt == r.Attempt && before.Restarts == r.Restarts &&
		before.Streak == r.Streak && before.StreakDisruptions == r.StreakDisruptions && before.NotBefore.Equal(r.NotBefore) &&
		before.MinPodAttempt == r.MinPodAttempt && before.Exits == r.Exits && (before.ExitsOfPod == "") == (r.ExitsOfPod == "")
}

// Full says how much of a ledger is too much: it would take Size, and has room for Most. That is in bytes, or InRanks.
type Full struct {
	Records    int // how many there were
	Size, Most int
	InRanks    bool
}

// CloseIfFull drops the records, but for their sums, if they have become too large to be stored, or too many to be read back. It returns nil if there
// is room.
func (d Draft) CloseIfFull(now time.Time) *Full {
	full := d.full(now)
	if full == nil {
		return nil
	}
	for _, a := range d.accounts {
		a.forgotten = a.Restarts()
		a.records = map[int]*v1beta1.RankRecord{}
	}
	return full
}

// full returns how much of the ledger is too much; nil if there is room.
func (l *Ledger) full(now time.Time) *Full {
	records := l.countRecords()
	if records <= manyRecords {
		return nil
	}
	if named := l.countNamed(); named > fullAt {
		return &Full{records, named, fullAt, true}
	}
	var s v1beta1.GenericJobStatus
	l.Save(&s, now)
	text, err := json.Marshal(s.Ledger)
	if err != nil || len(text) <= maxLedger {
		return nil
	}
	return &Full{records, len(text), maxLedger, false}
}

package ledger

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// A record, or an interval of ranks, takes a few bytes in a status and may name 10,000 ranks. Each of these may get a record of its own in memory. So
// the ranks that a ledger names are bounded over all its types, and counted before any is read.
const (
	// maxNamed is how many ranks Load reads, those that have succeeded or failed among them. It is far above what a job needs. One of MaxAllReplicas
	// whose replicas were all replaced, and have all finished, names each twice. Ranks that were scaled away, and types that have gone, come on top.
	maxNamed = 10 * spec.MaxAllReplicas
	// fullAt is how many ranks are too many for CloseIfFull. A record and an outcome of each replica can come on top before it is asked again, and that
	// must be readable. There are twice MaxAllReplicas at most: as many as the spec asks for, and those that rules keep.
	fullAt = maxNamed - 2*2*spec.MaxAllReplicas
)

// loadAccounts reads the accounts, up to the first that cannot be read.
func (d Draft) loadAccounts(list []v1beta1.TaskLedger) error {
	if err := checkNamed(list); err != nil {
		return err
	}
	for i := range list {
		if err := d.account(list[i].Type).load(&list[i]); err != nil {
			return fmt.Errorf("status.ledger[%s].%w", list[i].Type, err)
		}
	}
	return nil
}

// checkNamed returns an error if a ledger names more ranks than can be read.
func checkNamed(list []v1beta1.TaskLedger) error {
	named := 0
	for i := range list {
		l := &list[i]
		named += ranksFrom(l.Succeeded, 0) + ranksFrom(l.Failed, 0) + recordedRanks(l.Replicas)
	}
	if named > maxNamed {
		return fmt.Errorf("status.ledger names %d ranks in succeeded, failed and replicas, and %d are allowed over all types", named, maxNamed)
	}
	return nil
}

// countNamed returns how many ranks the ledger names when it is saved.
func (l *Ledger) countNamed() int {
	n := l.countRecords()
	for _, a := range l.accounts {
		n += a.succeeded.Len() + a.failed.Len()
	}
	return n
}

// ranksFrom returns how many ranks from n on intervals name. It counts up to what ParseRanks would refuse.
func ranksFrom(intervals string, n int) (ranks int) {
	if intervals == "" {
		return 0
	}
	for part := range strings.SplitSeq(intervals, ",") {
		from, to, err := parseSpan(part)
		if err != nil {
			break
		}
		ranks += max(0, to-max(from, n)+1)
	}
	return ranks
}

// recordedRanks returns how many ranks records name. It leaves out those that loadRecords refuses.
func recordedRanks(list []v1beta1.RankRecord) (ranks int) {
	for i := range list {
		if last := max(list[i].Rank, list[i].LastRank); list[i].Rank >= 0 && last <= maxRank {
			ranks += int(last-list[i].Rank) + 1
		}
	}
	return ranks
}

// The bytes of an account, and of a record, each with its place in a map.
const (
	perAccount = int(unsafe.Sizeof(Account{})) + perEntry
	perRecord  = int(unsafe.Sizeof(v1beta1.RankRecord{})) + perEntry
	perEntry   = 48
)

// Weight estimates how many bytes the ledger of a job takes in memory. It counts the records that ForgetScaledDown makes, too.
func Weight(job *v1beta1.GenericJob) (bytes int) {
	if checkNamed(job.Status.Ledger) != nil {
		return 0 // nothing is read
	}
	replicas := map[string]int{}
	for _, t := range spec.ReplicaTypes(job, false) {
		replicas[t.Type] = t.N
	}
	for i := range job.Status.Ledger {
		l := &job.Status.Ledger[i]
		n := replicas[l.Type]
		bytes += perAccount + perRecord*(recordedRanks(l.Replicas)+ranksFrom(l.Succeeded, n)+ranksFrom(l.Failed, n))
	}
	return bytes
}

package incident

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// belongsWithin is how long after the first failure another one still belongs to the same incident, though it names a cause of its own.
const belongsWithin = time.Minute

// Inputs are what incidents are found in.
type Inputs struct {
	Job *v1beta1.GenericJob
	Now time.Time
	// Reports are the wrappers' reports, by the UID of the pod.
	Reports map[types.UID]inplace.Report
	Ledger  *ledger.Ledger
	Roster  *roster.Roster
}

// Failure is how the code of a replica has failed. If a disruption is final, it is one, too.
type Failure struct {
	v1beta1.ReplicaFailure
	pod     podstate.Pod
	why     func() string
	beganAt time.Time // when the container began; zero if unknown
	isFinal bool      // the ledger says that the replica has failed for good
	// OthersGoOn says that this failure neither restarts all replicas nor fails the job. So a later one may begin another incident.
	OthersGoOn bool
}

// FailureOf returns how code has failed, by its pod. Why says what happened. It is called for the first failure only, because it takes time to read
// last words.
func FailureOf(pod podstate.Pod, why func() string) Failure {
	return Failure{ReplicaFailure: pod.Failure(), pod: pod, why: why, beganAt: pod.BeganAt()}
}

// Incident is a group of failures that belong together. One came first. The others are of code that ran at that time.
type Incident struct {
	Inputs
	recorded   []Failure             // its failures that this reconcile has recorded, in the order in which they came
	newFirsts  []string              // by number: see NewFirst
	numbers    map[string]int        // by pod: the number of the incident to which its recorded failure belongs
	stored     *v1beta1.FirstFailure // the first failure, by the status; nil if the incident begins in this reconcile
	jobAttempt int32                 // in which the code failed
	runsSince  time.Time             // when the replica that failed first began to run again; zero if it has not
	// newFailures is how many failures this reconcile adds to the stored number, if replicas restart one by one. The pods of the stored ones may be gone.
	newFailures int32
}

// Of returns the incident of the stored first failure. But if a failure that this reconcile has recorded does not belong to that, it returns a new
// one. If the operator was down, there may be several new ones. Then it returns the last. The result is as if each failure had been recorded when it
// came.
func Of(in Inputs, recorded []Failure) Incident {
	i := Incident{Inputs: in, stored: in.Job.Status.FirstFailure, jobAttempt: in.Job.Status.JobAttempt}
	if len(recorded) > 0 { // else nobody asks
		i.runsSince = runsAgainSince(in.Roster, i.stored)
	}
	byTime := func(a, b Failure) int { return cmp.Compare(second(&a.ReplicaFailure), second(&b.ReplicaFailure)) }
	i.recorded = slices.SortedStableFunc(slices.Values(recorded), byTime)
	i.findIncidents()
	if i.Number() > 0 {
		i.stored = nil
		i.recorded = slices.DeleteFunc(i.recorded, func(f Failure) bool { return i.numbers[f.Pod] != i.Number() })
	}
	for _, f := range i.recorded {
		// Code that began later may be of a replica that is counted already, and has started anew since.
		if !i.restartsTogether() && i.stored != nil && !f.beganAt.IsZero() && f.beganAt.Before(i.stored.Time.Time) {
			i.newFailures++
		}
	}
	return i
}

// findIncidents numbers the incidents to which the recorded failures belong. Where one failure stops the other replicas, what comes later is of code
// that has lost them.
func (i *Incident) findIncidents() {
	i.newFirsts, i.numbers = make([]string, 1), make(map[string]int, len(i.recorded))
	soFar, othersGoOn := *i, true // its stored failure is the first one of the failures so far
	for _, f := range i.recorded {
		if !soFar.includes(&f) && (i.Number() == 0 || othersGoOn && soFar.stored.Time != nil) {
			soFar.stored, i.newFirsts = nil, append(i.newFirsts, "")
		}
		if soFar.isPrecededBy(&f) {
			soFar.stored, i.newFirsts[i.Number()] = &v1beta1.FirstFailure{ReplicaFailure: f.ReplicaFailure, JobAttempt: i.jobAttempt}, f.Pod
			soFar.runsSince = runsAgainSince(i.Roster, soFar.stored)
		}
		i.numbers[f.Pod] = i.Number()
		othersGoOn = othersGoOn && f.OthersGoOn
	}
}

// isPrecededBy reports whether a failure is the first one of the incident, and not the stored one.
func (i Incident) isPrecededBy(f *Failure) bool {
	if i.stored == nil {
		return true
	}
	first, _ := FirstOf([]v1beta1.ReplicaFailure{i.stored.ReplicaFailure, f.ReplicaFailure}, 1)
	return first == 1
}

// Number numbers the incidents that begin in this reconcile, from 1, in the order in which they began. That of the stored first failure has 0.
func (i Incident) Number() int { return len(i.newFirsts) - 1 }

// NumberOf returns the number of the incident to which the failure belongs that this reconcile has recorded of a pod.
func (i Incident) NumberOf(pod string) int { return i.numbers[pod] }

// NewFirst returns the pod whose failure is the first one of the incident with this number. It is "" if that failure is the stored one.
func (i Incident) NewFirst(number int) (pod string) { return i.newFirsts[number] }

// restartsTogether reports whether all replicas restart together. The answer may change between Of and First, with the run mode.
func (i Incident) restartsTogether() bool { return i.Ledger.RestartsTogether() }

// includes reports whether a failure belongs to the incident. Either it follows from another replica's end. Or it came within belongsWithin, in code that
// ran when the first failure came. If replicas restart one by one, a failure that follows stops to belong when the first replica has run again for
// belongsWithin.
func (i Incident) includes(f *Failure) bool {
	if i.stored == nil || i.stored.Time == nil || !i.isSameStart(f) {
		return false
	}
	switch {
	case f.Follows != "" && (i.runsSince.IsZero() || i.restartsTogether()):
		return true
	case f.Time == nil:
		return true
	case f.Follows != "":
		return f.Time.Sub(i.runsSince) <= belongsWithin
	default:
		return f.Time.Sub(i.stored.Time.Time).Abs() <= belongsWithin
	}
}

// isSameStart reports whether code that has failed was running when the first failure came. Where replicas restart one by one, code that follows may
// have begun later: the replica that failed first was not back yet.
func (i Incident) isSameStart(f *Failure) bool {
	if i.restartsTogether() {
		return i.stored.JobAttempt == i.jobAttempt
	}
	return f.Pod != i.stored.Pod && (f.Follows != "" || !f.beganAt.After(i.stored.Time.Time))
}

// isRestarted reports whether all replicas begin anew after the job attempt in which the incident began.
func (i Incident) isRestarted() bool {
	attempt := i.jobAttempt
	if i.stored != nil {
		attempt = i.stored.JobAttempt
	}
	return i.restartsTogether() && attempt < i.Ledger.JobAttempt()
}

// belonging returns the failures that belong to the incident. If all replicas restart together, all failures of the attempt do. But a replica may
// have failed for good long before: for such a failure the time decides. It was decided about when it was recorded, so it cannot become the first one any
// more.
func (i Incident) belonging(failures []Failure) (list []Failure) {
	for _, f := range failures {
		if (!i.restartsTogether() || f.isFinal) && !i.includes(&f) {
			continue
		}
		if f.isFinal {
			f.Follows = cmp.Or(f.Follows, failedBefore)
		}
		list = append(list, f)
	}
	return list
}

// failedBefore stands in Follows of a failure that was recorded earlier, so that nobody takes it for the first one.
const failedBefore = "it is known already"

// runsAgainSince returns when the replica of a failure began to run again; zero if it has not, or nobody knows.
func runsAgainSince(replicas *roster.Roster, f *v1beta1.FirstFailure) time.Time {
	if f == nil || f.Time == nil {
		return time.Time{}
	}
	for t, rank := range replicas.Replicas() {
		if pod := t.Pods[rank]; pod == nil || pod.Name != f.Pod {
			continue
		}
		if at := t.Pod(rank).RunsSince(); !at.Before(f.Time.Time) {
			return at
		}
	}
	return time.Time{}
}

// isRecent reports whether kubelets may still report ends that belong to the incident: it is of this job attempt or of the one before.
func (i Incident) isRecent() bool {
	return i.stored == nil || i.stored.JobAttempt == i.jobAttempt || i.stored.JobAttempt == i.Ledger.JobAttempt()-1
}

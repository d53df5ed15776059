package kernel

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

// A hang of several replicas is counted once. If one replica hangs, all that wait for it hang, too, and each wrapper finds its own. A replica that
// has shown no sign of life since the first one was found belongs to the same hang. Its restart is not counted. But a replica that a rule excepts from
// the limits excuses none that they count. The time at which the first one was found is kept in status.failures, which holds no end that nothing counts.
// With restartScope Job none of this is needed: one restart covers all.

// hang is the last hang whose first replica is run again.
type hang struct {
	// within is how long after the first replica another one may be found, and still belong to the same hang. A replica that has started or shown a sign
	// of life since is found later than that. It is 0 if every hang counts on its own.
	within time.Duration
	// counted is when the first replica that counts was found to hang, excepted that for the first that a rule excepts; zero if none was.
	counted, excepted time.Time
}

// lastHang returns the hang that the status knows. It looks at the first failure, too: so many may have followed from a hang that status.failures does
// not hold the hang any more.
func lastHang(job *v1beta1.GenericJob, l *ledger.Ledger) (h hang) {
	beat := job.Spec.Heartbeat
	if beat == nil || l.RestartsTogether() {
		return h
	}
	h.within = ledger.Seconds(int64(min(ptr.Deref(beat.SteadySeconds, spec.HeartbeatSteady), ptr.Deref(beat.StartupSeconds, spec.HeartbeatStartup))))
	if first := job.Status.FirstFailure; first != nil {
		h.noteStored(job, l, &first.ReplicaFailure)
	}
	for i := range job.Status.Failures {
		h.noteStored(job, l, &job.Status.Failures[i])
	}
	return h
}

// noteStored notes when a hang was found that the status knows, if its replica is run again.
func (h *hang) noteStored(job *v1beta1.GenericJob, l *ledger.Ledger, f *v1beta1.ReplicaFailure) {
	if f.Time == nil || !podstate.IsHang(f) {
		return
	}
	switch a, rank := replicaOf(job, l, f.Pod); {
	case a == nil || a.HasFailed(rank):
	case isExcepted(job, a.Type, f):
		h.excepted = f.Time.Time
	default:
		h.counted = f.Time.Time
	}
}

// replicaOf returns the replica with this pod that has ended before; nil if there is none, because it was scaled away. To make names takes time, so
// it leaves out all others.
func replicaOf(job *v1beta1.GenericJob, l *ledger.Ledger, pod string) (*ledger.Account, int) {
	for _, a := range l.Accounts() {
		for rank := range a.N {
			if (l.Attempt(a, rank) > 0 || a.HasFailed(rank)) && spec.PodName(job, a.Type, rank) == pod {
				return a, rank
			}
		}
	}
	return nil, 0
}

// isExcepted reports whether a rule of failurePolicy restarts a failure of the status, and does not count it. If the rules were edited meanwhile, that
// may be wrong: then one hang may be counted twice, or not at all.
func isExcepted(job *v1beta1.GenericJob, replicaType string, f *v1beta1.ReplicaFailure) bool {
	if job.Spec.FailurePolicy == nil {
		return false
	}
	rule, _ := FailureRule(job.Spec.FailurePolicy.Rules, replicaType, f)
	return rule != nil && rule.Action == v1beta1.FailureActionRestart && !ptr.Deref(rule.Counts, true)
}

// putFirstHangFirst puts the hang that came first before the other hangs, because the first of them is counted. Other ends keep their places. Hangs
// that a rule excepts are put in order by themselves.
func (h *hang) putFirstHangFirst(ended []*end) {
	for _, as := range []ledger.Count{ledger.Restart, ledger.Excepted} {
		if h.within > 0 {
			putFirst(ended, as)
		}
	}
}

// putFirst does that with the hangs that count as the same.
func putFirst(ended []*end, as ledger.Count) {
	var hangs []*end
	var places []int // of the hangs, in ended
	for i, e := range ended {
		if e.countsAs == as && isHang(e) {
			hangs, places = append(hangs, e), append(places, i)
		}
	}
	if len(hangs) < 2 {
		return
	}
	n := slices.Index(hangs, firstRecorded(hangs))
	for i, e := range slices.Concat(hangs[n:n+1], hangs[:n], hangs[n+1:]) {
		ended[places[i]] = e
	}
}

// includes reports whether an end belongs to the hang. It does if its code ran already when the first replica was found, and was found soon after. An
// end by which a rule fails the job never does.
func (h *hang) includes(e *end) bool {
	if h.within == 0 || !isHang(e) || e.failsJob() {
		return false
	}
	follows := func(foundAt time.Time) bool {
		return e.pod.BeganAt().Before(foundAt) && e.pod.DecidedAt().Sub(foundAt).Abs() < h.within
	}
	return follows(h.counted) || e.countsAs == ledger.Excepted && follows(h.excepted)
}

// noteIfHang notes when a hang that is counted or excepted was found.
func (h *hang) noteIfHang(e *end) {
	switch {
	case !isHang(e):
	case e.isCounted():
		h.counted = e.pod.DecidedAt()
	default:
		h.excepted = e.pod.DecidedAt()
	}
}

func isHang(e *end) bool {
	if !isFailure(e) {
		return false
	}
	f := e.pod.Failure()
	return podstate.IsHang(&f)
}

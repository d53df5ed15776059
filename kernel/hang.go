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
// has shown no sign of life since the first one was found belongs to the same hang. Its restart is not counted. The time at which the first one was
// found is kept in status.failures, which holds no end that is not counted. With restartScope Job none of this is needed: one restart covers all.

// hang is the last hang whose first replica is run again.
type hang struct {
	// within is how long after the first replica another one may be found, and still belong to the same hang. A replica that has started or shown a sign
	// of life since is found later than that. It is 0 if every hang counts on its own.
	within  time.Duration
	foundAt time.Time // when the first replica was found to hang; zero if none was
}

// lastHang returns the hang that the status knows.
func lastHang(job *v1beta1.GenericJob, l *ledger.Ledger) (h hang) {
	beat := job.Spec.Heartbeat
	if beat == nil || l.RestartsTogether() {
		return h
	}
	h.within = ledger.Seconds(int64(min(ptr.Deref(beat.SteadySeconds, spec.HeartbeatSteady), ptr.Deref(beat.StartupSeconds, spec.HeartbeatStartup))))
	if counted := lastCountedHang(job, l); counted != nil {
		h.foundAt = counted.Time.Time
	}
	return h
}

// lastCountedHang returns the last hang that the status knows of a replica that is run again; nil if it knows none. After a hang, more failures may
// have come than status.failures holds. Most of these follow from it, so it is the first failure.
func lastCountedHang(job *v1beta1.GenericJob, l *ledger.Ledger) *v1beta1.ReplicaFailure {
	isIt := func(f *v1beta1.ReplicaFailure) bool {
		return f.Time != nil && podstate.IsHang(f) && !hasFailedForGood(job, l, f.Pod)
	}
	failures := job.Status.Failures
	for i := len(failures) - 1; i >= 0; i-- {
		if isIt(&failures[i]) {
			return &failures[i]
		}
	}
	if first := job.Status.FirstFailure; first != nil && isIt(&first.ReplicaFailure) {
		return &first.ReplicaFailure
	}
	return nil
}

// hasFailedForGood reports whether the replica of a pod has failed for good.
func hasFailedForGood(job *v1beta1.GenericJob, l *ledger.Ledger, pod string) bool {
	for _, a := range l.Accounts() {
		for rank := range a.N {
			if a.HasFailed(rank) && spec.PodName(job, a.Type, rank) == pod {
				return true
			}
		}
	}
	return false
}

// putFirstHangFirst puts the hang that came first before the other hangs, because the first of them is counted. Other ends keep their places.
func (h *hang) putFirstHangFirst(ended []*end) {
	if h.within == 0 {
		return
	}
	var hangs []*end
	var places []int // of the hangs, in ended
	for i, e := range ended {
		if isHang(e) {
			hangs, places = append(hangs, e), append(places, i)
		}
	}
	if len(hangs) < 2 {
		return
	}
	n := slices.Index(hangs, firstOf(hangs))
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
	return e.pod.BeganAt().Before(h.foundAt) && e.pod.DecidedAt().Sub(h.foundAt).Abs() < h.within
}

// noteIfHang stores when a hang that is counted was found.
func (h *hang) noteIfHang(e *end) {
	if isHang(e) {
		h.foundAt = e.pod.DecidedAt()
	}
}

func isHang(e *end) bool {
	if !isFailure(e) {
		return false
	}
	f := e.pod.Failure()
	return podstate.IsHang(&f)
}

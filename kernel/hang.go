package kernel

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
)

// A hang is counted once. Where one rank hangs, all hang that wait for it, and the wrapper of each finds that by itself. A replica that has
// shown no sign of life since the first was found to hang is part of the same hang. Its restart is not counted. When the first was
// found is known by status.firstFailure. With restartScope Job one restart is for all anyway.

// hang is the last hang that was found whose replica is run again.
type hang struct {
	// within is how much later than the first hang another replica's hang is still part of it. A replica that was started since, or has shown a sign
	// of life, is found later than that. within is 0 where each hang is counted.
	within time.Duration
	found  time.Time // when the first was; zero if none
}

// lastHang returns the hang that the status knows.
func lastHang(job *v1beta1.GenericJob, l *ledger.Ledger) (h hang) {
	beat := job.Spec.Heartbeat
	if beat == nil || l.WholeJob() {
		return h
	}
	h.within = ledger.Seconds(int64(min(ptr.Deref(beat.SteadySeconds, spec.HeartbeatSteady), ptr.Deref(beat.StartupSeconds, spec.HeartbeatStartup))))
	first := job.Status.FirstFailure
	if first != nil && first.Time != nil && ending.Hung(&first.ReplicaFailure) && !hasFailed(job, l, first.Pod) {
		h.found = first.Time.Time
	}
	return h
}

// hasFailed reports whether the replica of a pod has failed for good: nobody is to wait for it.
func hasFailed(job *v1beta1.GenericJob, l *ledger.Ledger, pod string) bool {
	for _, a := range l.Types() {
		for rank := range a.N {
			if a.HasFailed(rank) && spec.PodName(job, a.Type, rank) == pod {
				return true
			}
		}
	}
	return false
}

// putFirstHangFirst puts the hang that came first before the others, so it is counted.
func (h *hang) putFirstHangFirst(ended []end) {
	var list []v1beta1.ReplicaFailure
	var of []int
	for i := range ended {
		if e := &ended[i]; h.within > 0 && isHang(e) {
			list, of = append(list, e.pod.Record()), append(of, i)
		}
	}
	if len(list) < 2 {
		return
	}
	n, _ := ending.First(list, 0)
	first := ended[of[n]]
	for ; n > 0; n-- {
		ended[of[n]] = ended[of[n-1]]
	}
	ended[of[0]] = first
}

// join leaves the restart of a replica uncounted, if that is part of the hang. A rule that restarts it does so still.
func (h *hang) join(e *end) {
	if h.within == 0 || !isHang(e) || e.fails || !e.pod.BeganAt().Before(h.found) || e.pod.EndedAt().Sub(h.found).Abs() >= h.within {
		return
	}
	e.countsAs, e.hangsToo, e.allowed, e.rule = ledger.Uncounted, true, e.rule != "" || e.account.Policy.Allows(e.pod.Code()), ""
	e.why += ", in a hang that is counted"
}

// note stores when a hang was found that is counted.
func (h *hang) note(e *end) {
	if isHang(e) {
		h.found = e.pod.EndedAt()
	}
}

func isHang(e *end) bool {
	if !isFailure(e) {
		return false
	}
	f := e.pod.Record()
	return ending.Hung(&f)
}

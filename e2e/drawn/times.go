package drawn

import (
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// lossOf is what time is lost to by the fault, and which kind of entry the history has of it; "" where nothing is lost.
func (j *Job) lossOf(e Expected) (v1beta1.TimeCause, v1beta1.HistoryKind) {
	switch {
	case j.Fault.Kind == Delete:
		return v1beta1.TimeLostToDisruption, v1beta1.HistoryDisruption
	case e.Failures == 0:
		return "", ""
	case j.isHang():
		return v1beta1.TimeLostToHang, v1beta1.HistoryHang
	default:
		return v1beta1.TimeLostToRestart, v1beta1.HistoryFailure
	}
}

// judgeTime looks at the time spent. That must be closed, and add up to the wall clock. No cause may have time that the job never had.
func (j *Job) judgeTime(d *disagreements, e Expected, s *Seen) {
	t, done := s.Status.Time, s.Status.CompletionTime
	if t == nil || done == nil {
		d.add("time", "there is none of a job that is over")
		return
	}
	if t.Open != nil {
		d.add("time.open", "it is %s, and the job is over", t.Open.Cause)
	}
	if !near(t.Since.Time, s.Created) {
		d.add("time.since", "it is %s, and the job was created at %s", clock(t.Since.Time), clock(s.Created))
	}
	if life := int64(done.Sub(s.Created).Seconds()); t.Total < life-1 || t.Total > life+1 {
		d.add("time.total", "it is %d, and from creation to end the wall clock has %d", t.Total, life)
	}
	want(d, "sum of time", sum(&t.TimeShares), t.Total)
	if w := t.ReplicaSeconds; w == nil {
		d.add("time.replicaSeconds", "there is none")
	} else {
		j.judgeWeighted(d, &t.TimeShares, w)
	}
	j.judgeShares(d, e, t)
	want(d, "time.basis", t.Basis, j.basis())
}

// judgeShares looks at what the time was spent on.
func (j *Job) judgeShares(d *disagreements, e Expected, t *v1beta1.JobTime) {
	loss, _ := j.lossOf(e)
	for _, cause := range v1beta1.TimeCauses {
		if n := *t.Of(cause); n > 0 && cause != loss && cause != v1beta1.TimeStarting && cause != v1beta1.TimeProductive {
			d.add("time of "+string(cause), "it is %d, and the job had none", n)
		}
	}
	if j.isHang() {
		if n := int64(e.Failures) * int64(SteadySeconds); t.Lost.Hang < n {
			d.add("time of hang", "it is %d, and %d hangs were not found before %d", t.Lost.Hang, e.Failures, n)
		}
	}
	if j.Victim() != "" && t.Productive == 0 {
		d.add("time of productive", "it is 0, and all ran for seconds before the fault")
	}
}

// judgeWeighted looks at the sums by replicas.
func (j *Job) judgeWeighted(d *disagreements, t, w *v1beta1.TimeShares) {
	want(d, "sum of time.replicaSeconds", sum(w), w.Total)
	if j.Fault.Kind == Scale {
		return
	}
	for _, cause := range v1beta1.TimeCauses {
		want(d, "time.replicaSeconds of "+string(cause), *w.Of(cause), *t.Of(cause)*int64(j.Size()))
	}
}

func (j *Job) basis() v1beta1.TimeBasis {
	if j.Signs == "" {
		return v1beta1.TimeBasisRunning
	}
	return v1beta1.TimeBasisSteps
}

func sum(t *v1beta1.TimeShares) (n int64) {
	for _, cause := range v1beta1.TimeCauses {
		n += *t.Of(cause)
	}
	return n
}

// near reports whether two times are the same, as stored times are: in whole seconds.
func near(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Second }

func clock(t time.Time) string { return t.UTC().Format("15:04:05") }

// judgeHistory looks at what came between the work: its seconds are those of the time spent, and each loss tells what came.
func (j *Job) judgeHistory(d *disagreements, e Expected, s *Seen) {
	h, t := s.Status.History, s.Status.Time
	if h == nil || t == nil {
		d.add("history", "there is none")
		return
	}
	seconds := map[v1beta1.HistoryKind]int64{}
	for _, sum := range h.Earlier {
		seconds[sum.Kind] += sum.Seconds
	}
	losses, restarts := 0, int64(0)
	_, kind := j.lossOf(e)
	for i := range h.Entries {
		entry := &h.Entries[i]
		seconds[entry.Kind] += entry.Seconds
		if entry.End == nil {
			d.add("history", "an entry of kind %s goes on, and the job is over", entry.Kind)
		}
		if entry.Kind.IsLoss() {
			losses++
			restarts += entry.Restarts
			j.judgeLoss(d, e, entry, kind, s)
		}
	}
	for _, kind := range v1beta1.HistoryKinds {
		if cause := kind.TimeCause(); cause != "" {
			want(d, "seconds of history of "+string(kind), seconds[kind], *t.Of(cause))
		}
	}
	j.judgeLosses(d, e, losses, restarts)
	j.judgeScale(d, h)
}

// judgeLoss looks at one loss in the history.
func (j *Job) judgeLoss(d *disagreements, e Expected, entry *v1beta1.HistoryEntry, kind v1beta1.HistoryKind, s *Seen) {
	want(d, "kind of a loss in history", entry.Kind, kind)
	want(d, "pod of a loss in history", entry.Pod, s.Pods[j.Victim()])
	if entry.Node == "" {
		d.add("node of a loss in history", "there is none")
	}
	if e.Failures > 0 && j.Torchrun == "" {
		if entry.ExitCode == nil || *entry.ExitCode != e.Code {
			d.add("exitCode of a loss in history", "it is %s, and must be %d", show(entry.ExitCode), e.Code)
		}
		want(d, "cause of a loss in history", entry.Cause, e.Kind)
	}
}

// judgeLosses looks at how many losses the history has, and at their restarts. A failure while a loss goes on has no entry of its own. Restarts of
// code that has succeeded lose no time, but may be written with one that does.
func (j *Job) judgeLosses(d *disagreements, e Expected, losses int, restarts int64) {
	most := e.Failures + int(e.Disruptions)
	if j.Fault.Kind == Delete {
		most = 1
	}
	if losses > most || losses == 0 && most > 0 {
		d.add("losses in history", "there are %d, and there were %d", losses, most)
	}
	all := int64(e.Restarts) + int64(e.Disruptions) + int64(e.Excepted)
	if least := int64(j.Fault.Times); restarts != all && (!j.isAlways() || restarts < least || restarts > all) {
		d.add("restarts in history", "there are %d, and there were %d", restarts, all)
	}
}

// judgeScale looks at the change of the number of replicas.
func (j *Job) judgeScale(d *disagreements, h *v1beta1.History) {
	n := 0
	for i := range h.Entries {
		e := &h.Entries[i]
		if e.Kind != v1beta1.HistoryScale {
			continue
		}
		n++
		if e.From == nil || e.To == nil || int(*e.From) != j.Size() || int(*e.To) != j.sizeAtEnd() {
			d.add("scale in history", "it is from %s to %s, and must be from %d to %d", show(e.From), show(e.To), j.Size(), j.sizeAtEnd())
		}
	}
	is := map[bool]int{true: 1}[j.Fault.Kind == Scale]
	want(d, "number of scales in history", n, is)
}

// judgeRecovery looks at how the job came back from its last loss.
func (j *Job) judgeRecovery(d *disagreements, e Expected, s *v1beta1.GenericJobStatus) {
	r := s.Recovery
	cause, _ := j.lossOf(e)
	if r == nil {
		if cause != "" && e.Phase == v1beta1.JobSucceeded && j.SuccessOf == "" && j.Torchrun == "" {
			d.add("recovery", "there is none, and the job came back from a loss")
		}
		return
	}
	want(d, "recovery.cause", r.Cause, cause)
	if r.Detected.Before(&r.Began) || r.Replaced != nil && r.Replaced.Before(&r.Detected) || r.Stepped != nil && r.Replaced != nil && r.Stepped.Before(r.Replaced) {
		d.add("recovery", "its times are not in order: %v", r)
	}
}

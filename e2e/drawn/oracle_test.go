package drawn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/drawn"
)

var born = time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)

func at(seconds int64) metav1.Time {
	return metav1.NewTime(born.Add(time.Duration(seconds) * time.Second))
}

// told is what is seen of a job of which all is told as it was.
func told(j *drawn.Job) *drawn.Seen {
	e := j.Expect()
	s := &drawn.Seen{Created: born, Ended: true, Pods: map[string]string{}, Written: map[string][]string{}}
	for _, t := range j.Types {
		for rank := range t.Replicas + 1 { // one more, for a job that is scaled
			s.Pods[drawn.Replica(t.Name, rank)] = fmt.Sprintf("%s-4f1c2-%s-%d", j.Name, t.Name, rank)
		}
	}
	live(j, e, s)
	tell(j, e, s)
	spend(j, e, s)
	s.Kept = j.MustKeep(e)
	return s
}

// live has each replica write what it says.
func live(j *drawn.Job, e drawn.Expected, s *drawn.Seen) {
	say := func(replica string, attempt int, said ...string) {
		for n, text := range said {
			line := fmt.Sprintf("drawn %s attempt %d line %d: %s", replica, attempt, n+1, text)
			s.Written[replica] = append(s.Written[replica], line)
			s.Logs = append(s.Logs, drawn.Line{Replica: replica, Text: line})
		}
	}
	all := []string{"begins"}
	for n := range j.Steps {
		all = append(all, fmt.Sprintf("step %d of %d", n+1, j.Steps))
	}
	all = append(all, "done")
	stopped := []string{}
	for n := range j.Saves {
		stopped = append(stopped, fmt.Sprintf("saves %d of %d", n+1, j.Saves))
	}
	stopped = append(stopped, "saved")
	faults := e.Failures
	if j.Fault.Kind == drawn.Delete {
		faults = 1
	}
	for _, t := range j.Types {
		n := t.Replicas
		if j.Fault.Kind == drawn.Scale && j.Fault.Type == t.Name {
			n = max(n, j.Fault.To)
		}
		for rank := range n {
			replica := drawn.Replica(t.Name, rank)
			switch {
			case t.Auxiliary:
				say(replica, 0, append([]string{"begins"}, stopped...)...)
			case replica == j.Victim():
				for a := range faults {
					said := append(slices.Clone(all[:j.Fault.At+1]), j.FaultLine())
					if j.Fault.Kind == drawn.Delete {
						said = append(said, stopped...)
					}
					say(replica, a, said...)
				}
				if !e.Final {
					say(replica, faults, all...)
				}
			case j.Fault.Kind == drawn.Scale && j.Fault.Type == t.Name && rank >= j.Fault.To:
				say(replica, 0, append([]string{"begins"}, stopped...)...)
			case j.WholeJob:
				for a := range int(e.JobAttempt) {
					say(replica, a, append(slices.Clone(all[:2]), stopped...)...)
				}
				say(replica, int(e.JobAttempt), all...)
			default:
				say(replica, 0, all...)
				if p := t.Policy; p != nil && p.Policy == v1beta1.RestartAlways {
					say(replica, 1, all...)
				}
			}
		}
	}
}

// tell writes what the status tells, without times.
func tell(j *drawn.Job, e drawn.Expected, s *drawn.Seen) {
	status := &s.Status
	status.Phase, status.BackoffCount, status.DisruptionCount, status.ExceptedCount = e.Phase, e.Restarts, e.Disruptions, e.Excepted
	status.JobAttempt = e.JobAttempt
	size := 0
	for _, t := range j.Types {
		task := v1beta1.TaskStatus{Type: t.Name}
		if t.Name == j.Fault.Type {
			task.RestartCount = e.Restarts
			if j.Fault.Kind == drawn.Scale {
				size += j.Fault.To - t.Replicas
			}
		}
		status.Tasks = append(status.Tasks, task)
	}
	status.Aggregate.Succeeded = int32(j.Size() + size)
	succeeded := e.Phase == v1beta1.JobSucceeded
	if !succeeded {
		status.Aggregate.Failed = 1
	}
	for t, is := range map[v1beta1.JobConditionType]bool{
		v1beta1.ConditionInitialized: true, v1beta1.ConditionCompleted: true, v1beta1.ConditionSucceeded: succeeded, v1beta1.ConditionFailed: !succeeded,
		v1beta1.ConditionReady: succeeded, v1beta1.ConditionStalled: !succeeded, v1beta1.ConditionReplicaFailure: !succeeded, v1beta1.ConditionRunning: false,
	} {
		c := v1beta1.JobCondition{Type: t, Status: metav1.ConditionFalse, Reason: e.Reason}
		if is {
			c.Status = metav1.ConditionTrue
		}
		status.Conditions = append(status.Conditions, c)
	}
	if e.Failures == 0 {
		return
	}
	f := v1beta1.ReplicaFailure{Pod: s.Pods[j.Victim()], ExitCode: ptr.To(e.Code), Cause: &v1beta1.Cause{Kind: e.Kind, Role: v1beta1.CauseRoot}}
	if j.Torchrun != "" {
		f.ExitCode, f.WorkerExitCode = ptr.To[int32](1), ptr.To(e.Code)
	}
	status.FirstFailure = &v1beta1.FirstFailure{ReplicaFailure: f}
	if j.WholeJob {
		status.FirstFailure.JobAttempt = int32(e.Failures - 1)
	}
	for range min(5, e.Failures) {
		status.Failures = append(status.Failures, f)
	}
}

// spend writes what the time was spent on. That is 5 s until all run, 7 s between losses, and 3 s for each loss beside what a hang is
// silent.
func spend(j *drawn.Job, e drawn.Expected, s *drawn.Seen) {
	losses := e.Failures
	cause, kind := v1beta1.TimeLostToRestart, v1beta1.HistoryFailure
	each := int64(3)
	switch j.Fault.Kind {
	case drawn.Hang:
		cause, kind, each = v1beta1.TimeLostToHang, v1beta1.HistoryHang, 3+int64(drawn.SteadySeconds)
	case drawn.Delete:
		cause, kind, losses = v1beta1.TimeLostToDisruption, v1beta1.HistoryDisruption, 1
	}
	t := &v1beta1.JobTime{Since: at(0), Basis: v1beta1.TimeBasisRunning}
	if j.Signs != "" {
		t.Basis = v1beta1.TimeBasisSteps
	}
	h := &v1beta1.History{Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryStart, Begin: at(0), End: ptr.To(at(5)), Seconds: 5}}}
	now := int64(5 + 7)
	t.Starting, t.Productive = 5, 7
	all := int64(e.Restarts + e.Disruptions + e.Excepted)
	for n := range losses {
		entry := v1beta1.HistoryEntry{Kind: kind, Begin: at(now), End: ptr.To(at(now + each)), Seconds: each, Pod: s.Pods[j.Victim()], Node: "local"}
		if e.Failures > 0 {
			entry.ExitCode, entry.Cause = ptr.To(e.Code), e.Kind
		}
		if entry.Restarts = min(1, all); n == losses-1 {
			entry.Restarts = all
		}
		all -= entry.Restarts
		h.Entries = append(h.Entries, entry)
		*t.Of(cause) += each
		t.Productive += 7
		s.Status.Recovery = &v1beta1.Recovery{Cause: cause, Began: at(now), Detected: at(now + 1), Replaced: ptr.To(at(now + each))}
		now += each + 7
	}
	if j.Fault.Kind == drawn.Scale {
		size := int32(j.Size())
		to := size + int32(j.Fault.To)
		for _, typ := range j.Types {
			if typ.Name == j.Fault.Type {
				to -= int32(typ.Replicas)
			}
		}
		h.Entries = append(h.Entries, v1beta1.HistoryEntry{Kind: v1beta1.HistoryScale, Begin: at(6), End: ptr.To(at(6)), From: &size, To: &to})
	}
	t.Total = now
	t.ReplicaSeconds = &v1beta1.TimeShares{Total: now * int64(j.Size())}
	for _, c := range v1beta1.TimeCauses {
		*t.ReplicaSeconds.Of(c) = *t.Of(c) * int64(j.Size())
	}
	s.Status.Time, s.Status.History, s.Status.CompletionTime = t, h, ptr.To(at(now))
}

func TestAJobThatIsToldAsItWasIsRight(t *testing.T) {
	for n := range 1000 {
		j := drawn.Draw(5, n)
		require.Empty(t, j.Judge(told(j)), "%d: %s", n, j)
	}
}

func setCondition(s *v1beta1.GenericJobStatus, t v1beta1.JobConditionType, is metav1.ConditionStatus, reason string) {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			s.Conditions[i].Status, s.Conditions[i].Reason = is, reason
			return
		}
	}
	s.Conditions = append(s.Conditions, v1beta1.JobCondition{Type: t, Status: is, Reason: reason})
}

func toggle(s *v1beta1.GenericJobStatus, t v1beta1.JobConditionType) {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == t && c.Status == metav1.ConditionTrue {
			c.Status = metav1.ConditionFalse
			return
		}
	}
	setCondition(s, t, metav1.ConditionTrue, "Any")
}

// lies are wrong in one thing each. A lie that a job cannot tell returns false.
var lies = []struct {
	name, found string // what the oracle must say
	tell        func(*drawn.Job, *drawn.Seen) bool
}{
	{"another phase", "phase:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Phase = v1beta1.JobRunning; return true }},
	{"a restart too many", "backoffCount:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.BackoffCount++; return true }},
	{"a disruption too many", "disruptionCount:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.DisruptionCount++; return true }},
	{"an excepted restart too many", "exceptedCount:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.ExceptedCount++; return true }},
	{"another job attempt", "jobAttempt:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.JobAttempt++; return true }},
	{"a restart of another type", "restartCount:", func(_ *drawn.Job, s *drawn.Seen) bool {
		s.Status.Tasks[len(s.Status.Tasks)-1].RestartCount++
		return true
	}},
	{"a success too few", "aggregate.succeeded:", func(j *drawn.Job, s *drawn.Seen) bool {
		s.Status.Aggregate.Succeeded--
		return s.Status.Phase == v1beta1.JobSucceeded && j.SuccessOf == ""
	}},
	{"no failed replica", "aggregate.failed:", func(_ *drawn.Job, s *drawn.Seen) bool {
		s.Status.Aggregate.Failed = 0
		return s.Status.Phase == v1beta1.JobFailed
	}},
	{"another reason", "reason of", func(_ *drawn.Job, s *drawn.Seen) bool {
		for i := range s.Status.Conditions {
			s.Status.Conditions[i].Reason = "Any"
		}
		return true
	}},
	{"Succeeded", "condition Succeeded:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionSucceeded); return true }},
	{"Failed", "condition Failed:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionFailed); return true }},
	{"Completed", "condition Completed:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionCompleted); return true }},
	{"Initialized", "condition Initialized:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionInitialized); return true }},
	{"Running", "condition Running:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionRunning); return true }},
	{"Ready", "condition Ready:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionReady); return true }},
	{"Stalled", "condition Stalled:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionStalled); return true }},
	{"Reconciling", "condition Reconciling:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionReconciling); return true }},
	{"Blocked", "condition Blocked:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionBlocked); return true }},
	{"Paused", "condition Paused:", func(_ *drawn.Job, s *drawn.Seen) bool { toggle(&s.Status, v1beta1.ConditionPaused); return true }},
	{"ReplicaFailure", "condition ReplicaFailure:", func(_ *drawn.Job, s *drawn.Seen) bool {
		toggle(&s.Status, v1beta1.ConditionReplicaFailure)
		return true
	}},
	{"no first failure", "firstFailure:", func(j *drawn.Job, s *drawn.Seen) bool { s.Status.FirstFailure = nil; return j.Expect().Failures > 0 }},
	{"a first failure that never was", "firstFailure:", func(j *drawn.Job, s *drawn.Seen) bool {
		s.Status.FirstFailure = &v1beta1.FirstFailure{}
		return j.Expect().Failures == 0 && !j.Expect().Final
	}},
	{"the first failure is another's", "firstFailure.pod:", func(j *drawn.Job, s *drawn.Seen) bool {
		if j.Expect().Final && s.Status.FirstFailure == nil { // of a disruption
			s.Status.FirstFailure = &v1beta1.FirstFailure{}
		}
		if s.Status.FirstFailure != nil {
			s.Status.FirstFailure.Pod = "other"
		}
		return j.Expect().Failures > 0 || j.Expect().Final
	}},
	{"another code", "firstFailure.exitCode:", func(_ *drawn.Job, s *drawn.Seen) bool {
		if s.Status.FirstFailure != nil {
			s.Status.FirstFailure.ExitCode, s.Status.FirstFailure.WorkerExitCode = ptr.To[int32](99), nil
		}
		return s.Status.FirstFailure != nil
	}},
	{"another cause", "firstFailure.cause.kind:", func(j *drawn.Job, s *drawn.Seen) bool {
		if s.Status.FirstFailure != nil {
			s.Status.FirstFailure.Cause = &v1beta1.Cause{Kind: v1beta1.CauseNetwork, Role: v1beta1.CauseRoot}
		}
		return s.Status.FirstFailure != nil && j.Torchrun == ""
	}},
	{"no cause", "firstFailure.cause:", func(j *drawn.Job, s *drawn.Seen) bool {
		if s.Status.FirstFailure != nil {
			s.Status.FirstFailure.Cause = nil
		}
		return s.Status.FirstFailure != nil && j.Torchrun == ""
	}},
	{"a cause that follows", "firstFailure.cause.role:", func(j *drawn.Job, s *drawn.Seen) bool {
		if f := s.Status.FirstFailure; f != nil {
			f.Cause = &v1beta1.Cause{Kind: f.Cause.Kind, Role: v1beta1.CauseCascade}
		}
		return s.Status.FirstFailure != nil && j.Torchrun == ""
	}},
	{"a first failure that is only probable", "firstFailure.probable:", func(_ *drawn.Job, s *drawn.Seen) bool {
		if s.Status.FirstFailure != nil {
			s.Status.FirstFailure.Probable = true
		}
		return s.Status.FirstFailure != nil
	}},
	{"a first failure of another attempt", "firstFailure.jobAttempt:", func(_ *drawn.Job, s *drawn.Seen) bool {
		if s.Status.FirstFailure != nil {
			s.Status.FirstFailure.JobAttempt++
		}
		return s.Status.FirstFailure != nil
	}},
	{"a failure too few", "number of failures:", func(j *drawn.Job, s *drawn.Seen) bool {
		if n := len(s.Status.Failures); n > 0 && j.Torchrun == "" {
			s.Status.Failures = s.Status.Failures[1:]
			return true
		}
		return false
	}},
	{"a failure that never was", "failures:", func(j *drawn.Job, s *drawn.Seen) bool {
		s.Status.Failures = append(s.Status.Failures, v1beta1.ReplicaFailure{})
		return (!j.Expect().Final || j.Expect().Failures > 0) && j.Torchrun == ""
	}},
	{"a failure of another", "failures[0].pod:", func(j *drawn.Job, s *drawn.Seen) bool {
		if len(s.Status.Failures) > 0 {
			s.Status.Failures[0].Pod = "other"
		}
		return len(s.Status.Failures) > 0 && j.Torchrun == ""
	}},
	{"no time spent", "time:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time = nil; return true }},
	{"time that is open", "time.open:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Open = &v1beta1.OpenTime{}; return true }},
	{"time that begins late", "time.since:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Since = at(3); return true }},
	{"time that the clock had not", "time.total:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Total += 2; return true }},
	{"shares that do not add up", "sum of time:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Productive--; return true }},
	{"a share of a cause that never was", "time of paused:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Paused++; return true }},
	{"a loss by a node", "time of node:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Lost.Node++; return true }},
	{"a hang that was found too soon", "time of hang:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Lost.Hang = 1; return true }},
	{"no work before the fault", "time of productive:", func(j *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Productive = 0; return j.Victim() != "" }},
	{"another basis", "time.basis:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.Basis = v1beta1.TimeBasisHeartbeat; return true }},
	{"no weighted time", "time.replicaSeconds:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.ReplicaSeconds = nil; return true }},
	{"weighted shares that do not add up", "sum of time.replicaSeconds:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.Time.ReplicaSeconds.Total++; return true }},
	{"a weight of another size", "time.replicaSeconds of starting:", func(j *drawn.Job, s *drawn.Seen) bool {
		s.Status.Time.ReplicaSeconds.Starting++
		return j.Fault.Kind != drawn.Scale
	}},
	{"no history", "history:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.History = nil; return true }},
	{"a history that goes on", "history:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.History.Entries[0].End = nil; return true }},
	{"a history with other seconds", "seconds of history of Start:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Status.History.Entries[0].Seconds++; return true }},
	{"a loss of another kind", "kind of a loss in history:", ofLoss(func(e *v1beta1.HistoryEntry) { e.Kind = v1beta1.HistoryNodeLost })},
	{"a loss by another", "pod of a loss in history:", ofLoss(func(e *v1beta1.HistoryEntry) { e.Pod = "other" })},
	{"a loss without a node", "node of a loss in history:", ofLoss(func(e *v1beta1.HistoryEntry) { e.Node = "" })},
	{"a loss with another code", "exitCode of a loss in history:", func(j *drawn.Job, s *drawn.Seen) bool {
		return ofLoss(func(e *v1beta1.HistoryEntry) { e.ExitCode = nil })(j, s) && j.Expect().Failures > 0 && j.Torchrun == ""
	}},
	{"a loss with another cause", "cause of a loss in history:", func(j *drawn.Job, s *drawn.Seen) bool {
		return ofLoss(func(e *v1beta1.HistoryEntry) { e.Cause = v1beta1.CauseNetwork })(j, s) && j.Expect().Failures > 0 && j.Torchrun == ""
	}},
	{"a loss that never was", "losses in history:", func(_ *drawn.Job, s *drawn.Seen) bool {
		for range 5 {
			s.Status.History.Entries = append(s.Status.History.Entries, v1beta1.HistoryEntry{Kind: v1beta1.HistoryFailure, End: &metav1.Time{}})
		}
		return true
	}},
	{"a loss that is not told", "losses in history:", func(_ *drawn.Job, s *drawn.Seen) bool {
		n := len(s.Status.History.Entries)
		s.Status.History.Entries = slices.DeleteFunc(s.Status.History.Entries, func(e v1beta1.HistoryEntry) bool { return e.Kind.IsLoss() })
		return len(s.Status.History.Entries) < n
	}},
	{"restarts that the history has not", "restarts in history:", ofLoss(func(e *v1beta1.HistoryEntry) { e.Restarts += 9 })},
	{"a scale to another size", "scale in history:", func(_ *drawn.Job, s *drawn.Seen) bool {
		for i := range s.Status.History.Entries {
			if e := &s.Status.History.Entries[i]; e.Kind == v1beta1.HistoryScale {
				e.To = ptr.To[int32](77)
				return true
			}
		}
		return false
	}},
	{"a scale that never was", "number of scales in history:", func(_ *drawn.Job, s *drawn.Seen) bool {
		s.Status.History.Entries = append(s.Status.History.Entries, v1beta1.HistoryEntry{Kind: v1beta1.HistoryScale, End: &metav1.Time{}})
		return true
	}},
	{"no recovery", "recovery:", func(j *drawn.Job, s *drawn.Seen) bool {
		had := s.Status.Recovery != nil
		s.Status.Recovery = nil
		return had && s.Status.Phase == v1beta1.JobSucceeded && j.SuccessOf == "" && j.Torchrun == ""
	}},
	{"a recovery from something else", "recovery.cause:", func(_ *drawn.Job, s *drawn.Seen) bool {
		s.Status.Recovery = &v1beta1.Recovery{Cause: v1beta1.TimeLostToNode}
		return true
	}},
	{"a recovery out of order", "recovery:", func(_ *drawn.Job, s *drawn.Seen) bool {
		if s.Status.Recovery != nil {
			s.Status.Recovery.Detected = at(0)
		}
		return s.Status.Recovery != nil
	}},
	{"a line that is lost", "logs of", func(_ *drawn.Job, s *drawn.Seen) bool { s.Logs = s.Logs[1:]; return len(s.Logs) > 0 }},
	{"a line that comes twice", "logs of", func(_ *drawn.Job, s *drawn.Seen) bool { s.Logs = append(s.Logs, s.Logs[0]); return true }},
	{"logs that do not end", "logs -f ends:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Ended = false; return true }},
	{"a victim that does not run again", "lives of", func(j *drawn.Job, s *drawn.Seen) bool {
		lines := s.Written[j.Victim()]
		s.Written[j.Victim()] = slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.Contains(line, " attempt 0 ") })
		return len(s.Written[j.Victim()]) < len(lines) && j.Torchrun == ""
	}},
	{"a victim that runs on", "lives of", func(j *drawn.Job, s *drawn.Seen) bool {
		s.Written[j.Victim()] = append(s.Written[j.Victim()], fmt.Sprintf("drawn %s attempt 9 line 1: begins", j.Victim()))
		return j.Victim() != "" && j.Torchrun == ""
	}},
	{"a rank that is never done", "lives of", func(_ *drawn.Job, s *drawn.Seen) bool {
		for replica, lines := range s.Written {
			if strings.HasSuffix(lines[len(lines)-1], "done") {
				s.Written[replica] = lines[:len(lines)-1]
			}
		}
		return s.Status.Phase == v1beta1.JobSucceeded
	}},
	{"success that runs again", "lives of", func(j *drawn.Job, s *drawn.Seen) bool {
		for replica, lines := range s.Written {
			if replica != j.Victim() && strings.HasSuffix(lines[len(lines)-1], "done") {
				s.Written[replica] = append(lines, fmt.Sprintf("drawn %s attempt 9 line 1: begins", replica))
				return j.Torchrun != drawn.Elastic
			}
		}
		return false
	}},
	{"a step that is missing", "lives of", func(_ *drawn.Job, s *drawn.Seen) bool {
		for replica, lines := range s.Written {
			s.Written[replica] = slices.Delete(slices.Clone(lines), 0, 1)
			return true
		}
		return false
	}},
	{"a finalizer", "finalizer:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Held = []string{"pod"}; return true }},
	{"something that remains", "remains:", func(_ *drawn.Job, s *drawn.Seen) bool { s.Remains = []string{"Service drawn"}; return true }},
	{"pods that are gone, or stay", "cleanUpPolicy:", func(j *drawn.Job, s *drawn.Seen) bool {
		s.Kept = append(slices.Clone(s.Kept), "other-0")
		return j.MustKeep(j.Expect()) != nil
	}},
}

// ofLoss changes the first loss of a history.
func ofLoss(change func(*v1beta1.HistoryEntry)) func(*drawn.Job, *drawn.Seen) bool {
	return func(_ *drawn.Job, s *drawn.Seen) bool {
		for i := range s.Status.History.Entries {
			if e := &s.Status.History.Entries[i]; e.Kind.IsLoss() {
				change(e)
				return true
			}
		}
		return false
	}
}

// TestEachLieIsFound has each thing that the oracle looks at be wrong, in all drawn jobs in which it can be.
func TestEachLieIsFound(t *testing.T) {
	for _, lie := range lies {
		t.Run(lie.name, func(t *testing.T) {
			could := 0
			for n := range 120 {
				j := drawn.Draw(5, n)
				s := told(j)
				if !lie.tell(j, s) {
					continue
				}
				could++
				found := j.Judge(s)
				require.True(t, slices.ContainsFunc(found, func(v string) bool { return strings.Contains(v, lie.found) }), "%s: it must say %q, and says %q", j, lie.found, found)
			}
			require.Positive(t, could, "no drawn job can tell it")
		})
	}
}

func TestLogsAreRead(t *testing.T) {
	text := "[chief-0] drawn chief-0 attempt 0 line 1: begins\n[worker-1] genericjob wrapper: waits\n[node-1] [node1]:drawn node-1 attempt 1 line 2: step 1 of 4\n"
	require.Equal(t, []drawn.Line{
		{"chief-0", "drawn chief-0 attempt 0 line 1: begins"}, {"node-1", "drawn node-1 attempt 1 line 2: step 1 of 4"},
	}, drawn.ReadLogs(text))
}

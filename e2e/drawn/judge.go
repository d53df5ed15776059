package drawn

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Seen is what was seen of a job that is over.
type Seen struct {
	Status  v1beta1.GenericJobStatus
	Created time.Time
	Pods    map[string]string // the names of pods, by replica

	Logs    []Line              // of `kubectl gj logs -f`, without what is not the code's
	Ended   bool                // that has ended by itself
	Written map[string][]string // what each replica has written, to its end

	Kept    []string // the replicas whose pods are there when the clean-up is over
	Held    []string // pods of these that have a finalizer
	Remains []string // what is there of the job when it has been deleted
}

// Line is a line of a log.
type Line struct{ Replica, Text string }

// disagreements says where the oracle and a job differ. Each begins with what is wrong.
type disagreements []string

func (d *disagreements) add(what, format string, args ...any) {
	*d = append(*d, what+": "+fmt.Sprintf(format, args...))
}

func want[T comparable](d *disagreements, what string, is, want T) {
	if is != want {
		d.add(what, "it is %v, and must be %v", is, want)
	}
}

// Judge compares what was seen of a job with what must become of it, and says each disagreement.
func (j *Job) Judge(s *Seen) []string {
	var d disagreements
	e := j.Expect()
	j.judgeCounts(&d, e, &s.Status)
	j.judgeConditions(&d, e, &s.Status)
	j.judgeFirst(&d, e, s)
	j.judgeTime(&d, e, s)
	j.judgeHistory(&d, e, s)
	j.judgeRecovery(&d, e, &s.Status)
	j.judgeLives(&d, e, s)
	j.judgeLogs(&d, e, s)
	j.judgeRemains(&d, e, s)
	return d
}

// judgeCounts looks at what is counted.
func (j *Job) judgeCounts(d *disagreements, e Expected, s *v1beta1.GenericJobStatus) {
	want(d, "phase", s.Phase, e.Phase)
	want(d, "backoffCount", s.BackoffCount, e.Restarts)
	want(d, "disruptionCount", s.DisruptionCount, e.Disruptions)
	want(d, "exceptedCount", s.ExceptedCount, e.Excepted)
	want(d, "jobAttempt", s.JobAttempt, e.JobAttempt)
	for _, task := range s.Tasks {
		n := int32(0)
		if task.Type == j.Fault.Type {
			n = e.Restarts
		}
		want(d, "tasks["+task.Type+"].restartCount", task.RestartCount, n)
	}
	if e.Phase == v1beta1.JobSucceeded && j.SuccessOf == "" {
		want(d, "aggregate.succeeded", int(s.Aggregate.Succeeded), j.sizeAtEnd())
	}
	if e.Final && s.Aggregate.Failed == 0 {
		d.add("aggregate.failed", "it is 0, and %s has failed for good", j.Victim())
	}
}

// sizeAtEnd is the number of replicas at the end, without auxiliary ones.
func (j *Job) sizeAtEnd() int {
	if j.Fault.Kind == Scale {
		return j.Size() - j.typeOf(j.Fault.Type).Replicas + j.Fault.To
	}
	return j.Size()
}

// judgeConditions looks at the conditions of a job that is over.
func (j *Job) judgeConditions(d *disagreements, e Expected, s *v1beta1.GenericJobStatus) {
	succeeded := e.Phase == v1beta1.JobSucceeded
	for t, is := range map[v1beta1.JobConditionType]bool{
		v1beta1.ConditionInitialized: true, v1beta1.ConditionCompleted: true, v1beta1.ConditionSucceeded: succeeded, v1beta1.ConditionReady: succeeded,
		v1beta1.ConditionFailed: !succeeded, v1beta1.ConditionStalled: !succeeded, v1beta1.ConditionReplicaFailure: !succeeded,
		v1beta1.ConditionRunning: false, v1beta1.ConditionReconciling: false, v1beta1.ConditionBlocked: false, v1beta1.ConditionPaused: false,
	} {
		c := conditionOf(s, t)
		want(d, "condition "+string(t), c.Status == metav1.ConditionTrue, is)
		if is && (t == v1beta1.ConditionSucceeded || t == v1beta1.ConditionFailed) {
			want(d, "reason of "+string(t), c.Reason, e.Reason)
		}
	}
}

func conditionOf(s *v1beta1.GenericJobStatus, t v1beta1.JobConditionType) v1beta1.JobCondition {
	i := slices.IndexFunc(s.Conditions, func(c v1beta1.JobCondition) bool { return c.Type == t })
	if i < 0 {
		return v1beta1.JobCondition{}
	}
	return s.Conditions[i]
}

// judgeFirst looks at the failures that are told.
func (j *Job) judgeFirst(d *disagreements, e Expected, s *Seen) {
	first, list := s.Status.FirstFailure, s.Status.Failures
	if e.Failures == 0 {
		j.judgeNone(d, e, s)
		return
	}
	if j.Torchrun == "" { // the other torchrun may fail, too, before it is stopped
		want(d, "number of failures", len(list), min(5, e.Failures))
		for i := range list {
			j.judgeFailure(d, fmt.Sprintf("failures[%d]", i), e, &list[i], s)
		}
	}
	if first == nil {
		d.add("firstFailure", "there is none, and %s has failed", j.Victim())
		return
	}
	j.judgeFailure(d, "firstFailure", e, &first.ReplicaFailure, s)
	want(d, "firstFailure.probable", first.Probable, false)
	attempt := int32(0)
	if j.WholeJob {
		attempt = int32(e.Failures - 1)
	}
	want(d, "firstFailure.jobAttempt", first.JobAttempt, attempt)
}

// judgeNone looks at what is told where no code has failed. A disruption may be final, and then it is told as a failure.
func (j *Job) judgeNone(d *disagreements, e Expected, s *Seen) {
	first, list := s.Status.FirstFailure, s.Status.Failures
	switch {
	case first != nil && e.Final:
		want(d, "firstFailure.pod", first.Pod, s.Pods[j.Victim()])
	case first != nil:
		d.add("firstFailure", "it tells of %s, and no code has failed: %s", first.Pod, first.Summary)
	}
	if len(list) > 0 && !e.Final {
		d.add("failures", "there are %d, and no code has failed", len(list))
	}
}

// judgeFailure looks at one failure of the victim's.
func (j *Job) judgeFailure(d *disagreements, what string, e Expected, f *v1beta1.ReplicaFailure, s *Seen) {
	want(d, what+".pod", f.Pod, s.Pods[j.Victim()])
	code := f.ExitCode
	if j.Torchrun != "" { // itself ends with 1
		code = f.WorkerExitCode
	}
	if code == nil || *code != e.Code {
		d.add(what+".exitCode", "it is %v, and must be %d", show(code), e.Code)
	}
	if j.Torchrun != "" { // its words are PyTorch's own: see TestCrashes
		return
	}
	if f.Cause == nil {
		d.add(what+".cause", "there is none, and it must be %s", e.Kind)
		return
	}
	want(d, what+".cause.kind", f.Cause.Kind, e.Kind)
	want(d, what+".cause.role", f.Cause.Role, v1beta1.CauseRoot)
}

func show(code *int32) string {
	if code == nil {
		return "absent"
	}
	return fmt.Sprint(*code)
}

// judgeRemains looks at what is left of the job: at its end, and after its deletion.
func (j *Job) judgeRemains(d *disagreements, e Expected, s *Seen) {
	for _, pod := range s.Held {
		d.add("finalizer", "pod %s has one when the job is over", pod)
	}
	for _, o := range s.Remains {
		d.add("remains", "%s is there when the job is deleted", o)
	}
	kept := slices.Sorted(slices.Values(s.Kept))
	if must := j.MustKeep(e); must != nil && !slices.Equal(kept, must) {
		d.add("cleanUpPolicy", "with %q pods of %v are there, and must be of %v", j.CleanUp, kept, must)
	}
}

// MustKeep are the replicas whose pods stay at the end, in order; nil where it depends on who has ended by then.
func (j *Job) MustKeep(e Expected) []string {
	switch {
	case j.CleanUp == v1beta1.CleanUpAll:
		return []string{}
	case j.Torchrun != "" || e.Phase != v1beta1.JobSucceeded || j.SuccessOf != "" || j.Fault.Kind == Scale || len(j.members()) < len(j.Types):
		return nil
	default:
		return slices.Sorted(slices.Values(j.Replicas()))
	}
}

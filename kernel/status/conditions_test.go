package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/verdict"
)

func TestConditionsStandInOneOrderWhateverCameFirst(t *testing.T) {
	for from := range conditionTypes {
		var s v1beta1.GenericJobStatus
		for i := range conditionTypes {
			Set(&s, start, conditionTypes[(from+i*3)%len(conditionTypes)], true, "R", "M.") // there are eleven, so each comes once
		}
		var got []v1beta1.JobConditionType
		for _, c := range s.Conditions {
			got = append(got, c.Type)
		}
		require.Equal(t, conditionTypes, got)
	}
}

func TestSet(t *testing.T) {
	stored := v1beta1.JobCondition{Type: v1beta1.ConditionRunning, Status: metav1.ConditionTrue, Reason: "A", Message: "a.", LastTransitionTime: metav1.NewTime(start)}
	later := after(time.Minute)
	tests := map[string]struct {
		value           bool
		reason, message string
		want            v1beta1.JobCondition
	}{
		"the same is the same":          {true, "A", "a.", stored},
		"other words are no transition": {true, "B", "b.", v1beta1.JobCondition{Type: stored.Type, Status: metav1.ConditionTrue, Reason: "B", Message: "b.", LastTransitionTime: metav1.NewTime(start)}},
		"another status is":             {false, "A", "a.", v1beta1.JobCondition{Type: stored.Type, Status: metav1.ConditionFalse, Reason: "A", Message: "a.", LastTransitionTime: metav1.NewTime(later)}},
		"texts are cut to what is stored": {true, strings.Repeat("r", 500), strings.Repeat("m", 5000), v1beta1.JobCondition{Type: stored.Type, Status: metav1.ConditionTrue,
			Reason: text.Cut(strings.Repeat("r", 500), text.MaxReason), Message: text.Cut(strings.Repeat("m", 5000), text.Max), LastTransitionTime: metav1.NewTime(start)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := v1beta1.GenericJobStatus{Conditions: []v1beta1.JobCondition{stored}}
			Set(&s, later, v1beta1.ConditionRunning, tc.value, tc.reason, tc.message)
			require.Equal(t, []v1beta1.JobCondition{tc.want}, s.Conditions)
			require.Nil(t, Condition(s.Conditions, v1beta1.ConditionFailed))
		})
	}
}

// told prints events.
func told(events []Event) []string {
	var list []string
	for _, e := range events {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		list = append(list, fmt.Sprintf("%s %s %s", kind, e.Reason, e.Message))
	}
	return list
}

func TestEvents(t *testing.T) {
	begin := func(d ledger.Draft) { d.SwitchMode(start, false); d.SetStartTime(start) }
	blocked := verdict.Verdict{Course: verdict.Block, Reason: "Why", Message: "What to do."}
	restart := RestartEvent{Event: NewEvent(true, v1beta1.ReasonRestarted, ""), Why: "Pod[x] failed"}
	tests := map[string]struct {
		job  *v1beta1.GenericJob
		edit func(*Findings)
		do   func(ledger.Draft)
		pods []*corev1.Pod
		want []string
	}{
		"a job begins": {job: fresh(2), do: begin, want: []string{"Normal Started The job has been initialized successfully."}},
		"one that runs by the first write has begun, which goes without saying": {job: fresh(2), do: begin, pods: running(),
			want: []string{"Normal Running All pods are running normally or have completed successfully."}},
		"all run":     {job: begun(t), pods: running(), want: []string{"Normal Running All pods are running normally or have completed successfully."}},
		"not all run": {job: begun(t), pods: running()[:1], want: nil},
		"a restart": {job: begun(t), edit: func(p *Findings) {
			p.Restarts = []RestartEvent{restart}
			p.Failures = []Failure{{Why: "Pod[x] failed"}}
		}, want: []string{"Warning Restarted Pod[x] failed"}},
		"a final failure": {job: begun(t), edit: func(p *Findings) {
			p.Failures = []Failure{{Why: "Pod[x] failed", Then: "it ends"}, {Why: "Pod[y] failed"}}
		}, want: []string{"Warning ErrorInPod Pod[x] failed; it ends (and 1 more)"}},
		"what blocks a job": {job: begun(t), edit: func(p *Findings) { p.Verdict = blocked }, want: []string{"Warning Why What to do."}},
		"is not told again": {job: begun(t, func(job *v1beta1.GenericJob) {
			Set(&job.Status, start, v1beta1.ConditionBlocked, true, "Why", "In other words.")
		}),
			edit: func(p *Findings) { p.Verdict = blocked }, want: nil},
		"unless it is another reason": {job: begun(t, func(job *v1beta1.GenericJob) {
			Set(&job.Status, start, v1beta1.ConditionBlocked, true, "Else", "What to do.")
		}),
			edit: func(p *Findings) { p.Verdict = blocked }, want: []string{"Warning Why What to do."}},
		"a pause": {job: begun(t), edit: func(p *Findings) {
			p.Verdict = verdict.Verdict{Course: verdict.Pause, Reason: v1beta1.ReasonPaused, Message: "The job is paused."}
		}, want: []string{"Normal Paused " + pausedMessage}},
		"a success is one event": {job: begun(t), edit: func(p *Findings) {
			p.Verdict = verdict.Verdict{Course: verdict.Succeed, Reason: v1beta1.ReasonSucceeded, Message: "Done."}
		}, want: []string{"Normal Succeeded Done."}},
		"so is a failure": {job: begun(t), edit: func(p *Findings) {
			p.Verdict = verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonDeadlineExceeded, Message: "Late."}
		}, want: []string{"Warning DeadlineExceeded Late."}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := findingsOf(t, tc.job, tc.do, tc.pods...)
			if tc.edit != nil {
				tc.edit(&p)
			}
			_, events, news := Of(p)
			require.True(t, news)
			require.Equal(t, tc.want, told(events))
		})
	}
}

func TestBlockedGoesAwayByItself(t *testing.T) {
	blocked := func(job *v1beta1.GenericJob) {
		Set(&job.Status, start, v1beta1.ConditionBlocked, true, "Why", "What to do.")
	}
	tests := map[string]struct {
		course  verdict.Course
		creates bool // what is refused is told after the reconcile: until then nobody knows
		want    bool
	}{
		"a job that runs":             {verdict.Run, false, false},
		"one that is about to create": {verdict.Run, true, true},
		"one that is blocked":         {verdict.Block, false, true},
		"one that is paused":          {verdict.Pause, false, false},
		"one that succeeds":           {verdict.Succeed, false, false},
		"one that fails":              {verdict.Fail, false, false},
		"one that has ended before":   {verdict.AlreadyFinished, false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := findingsOf(t, begun(t, blocked), nil, running()...)
			p.Verdict, p.Creates = verdict.Verdict{Course: tc.course, Reason: "Why", Message: "What to do."}, tc.creates
			s, _, _ := Of(p)
			require.Equal(t, tc.want, Condition(s.Conditions, v1beta1.ConditionBlocked) != nil)
		})
	}
}

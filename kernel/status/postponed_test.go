package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// The last write is 0.4 seconds old in all of these, so what may wait has 0.6 to go. What must not wait is what a restart of
// the operator must not forget, or what somebody waits for.
func TestPostponedFor(t *testing.T) {
	wait := 600 * time.Millisecond
	stored := func(job *v1beta1.GenericJob) {
		job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 1, Attempt: 1}}}}
		Set(&job.Status, start, v1beta1.ConditionPaused, false, "R", "M.")
		Set(&job.Status, start, v1beta1.ConditionBlocked, true, "R", "M.")
	}
	tests := map[string]struct {
		edit func(*v1beta1.GenericJobStatus)
		want time.Duration
	}{
		"counts of pods": {func(s *v1beta1.GenericJobStatus) { s.Aggregate.Running, s.Running = 1, "1/2" }, wait},
		"rows of pods": {func(s *v1beta1.GenericJobStatus) {
			s.Tasks = []v1beta1.TaskStatus{{Type: "worker", Replicas: make([]v1beta1.ReplicaStatus, 2)}}
		}, wait},
		"whether all run":                {func(s *v1beta1.GenericJobStatus) { Set(s, start, v1beta1.ConditionRunning, true, "-", "All.") }, wait},
		"that a pod cannot start":        {func(s *v1beta1.GenericJobStatus) { Set(s, start, v1beta1.ConditionReplicaFailure, true, "R", "M.") }, wait},
		"a success that decides nothing": {func(s *v1beta1.GenericJobStatus) { s.Ledger[0].Succeeded = "0" }, wait},
		"one of a type of which nothing was known": {func(s *v1beta1.GenericJobStatus) {
			s.Ledger = append(s.Ledger, v1beta1.TaskLedger{Type: "x", Succeeded: "0"})
		}, wait},
		"a failure for good": {func(s *v1beta1.GenericJobStatus) { s.Ledger[0].Failed = "0" }, 0},
		"a success beside a failure": {func(s *v1beta1.GenericJobStatus) {
			s.Ledger = append(s.Ledger, v1beta1.TaskLedger{Type: "x", Succeeded: "0", Failed: "1"})
		}, 0},
		"a replacement": {func(s *v1beta1.GenericJobStatus) {
			s.Ledger[0].Replicas = append(s.Ledger[0].Replicas, v1beta1.RankRecord{Rank: 2, Attempt: 1})
		}, 0},
		"a restart of all":         {func(s *v1beta1.GenericJobStatus) { s.JobAttempt++ }, 0},
		"a counted restart":        {func(s *v1beta1.GenericJobStatus) { s.BackoffCount++ }, 0},
		"a disruption":             {func(s *v1beta1.GenericJobStatus) { s.DisruptionCount++ }, 0},
		"restarts of a type":       {func(s *v1beta1.GenericJobStatus) { s.Tasks = []v1beta1.TaskStatus{{Type: "worker", RestartCount: 1}} }, 0},
		"another phase":            {func(s *v1beta1.GenericJobStatus) { s.Phase = v1beta1.JobRunning }, 0},
		"another mode":             {func(s *v1beta1.GenericJobStatus) { s.Mode = spec.ModePaused }, 0},
		"another mode generation":  {func(s *v1beta1.GenericJobStatus) { s.ModeGeneration++ }, 0},
		"a pause":                  {func(s *v1beta1.GenericJobStatus) { s.PauseTime = &metav1.Time{Time: start} }, 0},
		"an end":                   {func(s *v1beta1.GenericJobStatus) { s.CompletionTime = &metav1.Time{Time: start} }, 0},
		"an edit that was seen":    {func(s *v1beta1.GenericJobStatus) { s.ObservedGeneration++ }, 0},
		"what else blocks the job": {func(s *v1beta1.GenericJobStatus) { Set(s, start, v1beta1.ConditionBlocked, true, "Else", "M.") }, 0},
		"that all is paused":       {func(s *v1beta1.GenericJobStatus) { Set(s, start, v1beta1.ConditionPaused, true, "R", "M.") }, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := findingsOf(t, begun(t, stored), nil)
			p.Now = after(400 * time.Millisecond)
			s := *p.Job.Status.DeepCopy()
			tc.edit(&s)
			before, was := s.DeepCopy(), p.Job.DeepCopy()
			require.Equal(t, tc.want, PostponedFor(p, &s))
			require.Equal(t, before, &s, "to ask changes nothing")
			require.Equal(t, was, p.Job, "to ask changes nothing")
		})
	}
}

func TestHowLongAViewWaits(t *testing.T) {
	rows := func(n int) func(*v1beta1.GenericJob) {
		return func(job *v1beta1.GenericJob) {
			job.Status.Tasks = []v1beta1.TaskStatus{{Type: "worker", Replicas: make([]v1beta1.ReplicaStatus, n)}}
		}
	}
	as := func(*Findings) {}
	tests := map[string]struct {
		job  *v1beta1.GenericJob
		now  time.Duration // since the last write
		edit func(*Findings)
		want time.Duration
	}{
		"just written":                                 {begun(t), 0, as, time.Second},
		"a second is over":                             {begun(t), time.Second, as, 0},
		"a long time is over":                          {begun(t), time.Hour, as, 0},
		"many rows are written less often":             {begun(t, rows(1000)), time.Second, as, 4 * time.Second},
		"few are not written more often":               {begun(t, rows(3)), 400 * time.Millisecond, as, 600 * time.Millisecond},
		"a clock that was set back does not wait":      {begun(t), -time.Millisecond, as, 0},
		"a status that nobody has dated":               {begun(t, func(job *v1beta1.GenericJob) { job.Status.LastUpdateTime = nil }), 0, as, 0},
		"somebody waits for a pod to go":               {begun(t), 0, func(p *Findings) { p.SuccessMayVanish = true }, 0},
		"a ledger that cannot be read is told at once": {begun(t), 0, func(p *Findings) { p.Ledger = nil }, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := findingsOf(t, tc.job, nil)
			p.Now = after(tc.now)
			tc.edit(&p)
			s := *p.Job.Status.DeepCopy()
			s.Aggregate.Pending++
			require.Equal(t, tc.want, PostponedFor(p, &s))
		})
	}
}

// A job is half a second old in all of these, so its first status may wait for one and a half.
func TestWhichFirstStatusIsPostponed(t *testing.T) {
	wait := 1500 * time.Millisecond
	mode := func(m v1beta1.RunMode) func(*v1beta1.GenericJob) {
		return func(job *v1beta1.GenericJob) { job.Spec.RunMode = &m }
	}
	created := func(at time.Time) func(*v1beta1.GenericJob) {
		return func(job *v1beta1.GenericJob) { job.CreationTimestamp = metav1.NewTime(at) }
	}
	as := func(*v1beta1.GenericJob) {}
	tests := map[string]struct {
		workers   int32
		job       func(*v1beta1.GenericJob)
		do        func(ledger.Draft)
		reconcile func(*Findings)
		pods      []*corev1.Pod
		want      time.Duration
	}{
		"it says that the job begins":                  {workers: 2, job: as, want: wait},
		"pods that run already are told with the rest": {workers: 2, job: as, pods: running(), want: wait},
		"a success that decides nothing":               {workers: 2, job: as, do: func(d ledger.Draft) { d.Succeed(d.Account("worker"), 0) }, want: wait},
		"a failure":                                    {workers: 2, job: as, do: func(d ledger.Draft) { d.Fail(d.Account("worker"), 0) }},
		"a restart":                                    {workers: 2, job: as, do: func(d ledger.Draft) { d.StartOver(d.Account("worker"), 0, ledger.Restart, 0, false, start) }},
		"a spec that was edited since":                 {workers: 2, job: func(job *v1beta1.GenericJob) { job.Generation = 2 }},
		"another mode":                                 {workers: 2, job: mode(v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}})},
		"another verdict":                              {workers: 2, job: as, reconcile: func(p *Findings) { p.Verdict.Course = verdict.Block }},
		"a success that somebody waits for":            {workers: 2, job: as, reconcile: func(p *Findings) { p.SuccessMayVanish = true }},
		"a hundred replicas are few":                   {workers: 100, job: as, want: wait},
		"more are many":                                {workers: 101, job: as},
		"a job that is old enough":                     {workers: 2, job: created(start.Add(-1500 * time.Millisecond))},
		"a job from the future, by another clock":      {workers: 2, job: created(start.Add(time.Minute))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := fresh(tc.workers)
			tc.job(job)
			p := findingsOf(t, job, func(d ledger.Draft) {
				d.SwitchMode(start, false)
				d.SetStartTime(start)
				if tc.do != nil {
					tc.do(d)
				}
			}, tc.pods...)
			p.Now = after(500 * time.Millisecond)
			if tc.reconcile != nil {
				tc.reconcile(&p)
			}
			s, _, _ := Of(p)
			require.Equal(t, tc.want, PostponedFor(p, &s))
		})
	}
}

package page

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/why"
)

// Input is what is known of a job.
type Input struct {
	Family *jobs.Family
	// History is nil if the operator keeps none.
	History *v1beta1.History
	// Events are those about the job, the oldest first.
	Events []corev1.Event
	// Steps are what the log of a replica tells; nil if none was read.
	Steps *Steps
	// Now is when the job is looked at.
	Now time.Time
}

// Page is what the page of a job shows.
type Page struct {
	Frame
	Job, Namespace, Phase string
	// Facts are what there is to say in a few words.
	Facts []Fact
	// Why says in a paragraph what the job waits for or died of; Do says what to do.
	Why, Do   string
	Timeline  *Timeline
	TimeSpent *TimeSpent
	First     *FirstFailure
	Failures  []FailureRow
	Between   *Between
	Progress  Progress
	Events    []EventRow
}

// Fact is a name with a value.
type Fact struct{ Name, Value string }

// Of returns the page of a job.
func Of(in *Input) *Page {
	f, s := in.Family, in.Family.Status()
	answer := why.Of(f, in.Now)
	p := &Page{
		Job: f.Title(), Namespace: f.Job.GetNamespace(), Phase: cmp.Or(string(f.Phase()), "Unseen"), Why: answer.Why, Do: answer.Do,
		TimeSpent: timeSpentOf(s.Time, in.Now), First: firstOf(f), Failures: failuresOf(f), Between: in.between(), Progress: in.progress(), Events: eventsOf(in.Events),
	}
	p.Frame = frame(f.Title()+" in "+f.Job.GetNamespace(), in.Now)
	p.Timeline = in.timeline()
	p.facts(in)
	return p
}

func (p *Page) facts(in *Input) {
	s := in.Family.Status()
	add := func(name, value string) {
		if value != "" {
			p.Facts = append(p.Facts, Fact{name, value})
		}
	}
	from, to := in.window()
	add("Replicas running", s.Running)
	add("Created", stamp(from))
	if s.CompletionTime != nil {
		add("Ended", stamp(to))
		if s.StartTime != nil {
			add("Duration", jobs.Spell(max(0, int64(to.Sub(s.StartTime.Time)/time.Second))))
		}
	} else {
		add("Age", jobs.Spell(int64(to.Sub(from)/time.Second)))
	}
	add("Counted restarts", unlessZero(s.BackoffCount))
	add("Disruptions", unlessZero(s.DisruptionCount))
	add("Restarts excepted by rules", unlessZero(s.ExceptedCount))
	if in.Family.GenericJob != nil && in.Family.GenericJob.Spec.RestartScope == v1beta1.RestartScopeJob {
		add("Job attempt", fmt.Sprint(s.JobAttempt))
	}
}

// unlessZero returns a number that is worth telling; "" for 0.
func unlessZero[N int32 | int64](n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// window returns the time that is drawn: the life of the job.
func (in *Input) window() (from, to time.Time) {
	from, to = in.Family.Job.GetCreationTimestamp().Time, in.Now
	if done := in.Family.Status().CompletionTime; done != nil {
		to = done.Time
	}
	if !to.After(from) {
		to = from.Add(time.Second)
	}
	return from, to
}

// stamp returns a time as the page tells it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

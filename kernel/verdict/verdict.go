// Package verdict holds the answer of the rules: what is to become of a job. The rules find it, the stages after them carry it out, and the
// status tells it. The verdict stands below all of them, and knows none.
package verdict

import "time"

// Course is what a verdict makes of the job.
type Course int

// The courses. The zero value decides nothing.
const (
	None    Course = iota // no opinion: the next rule is asked
	Rest                  // the job has finished before this reconcile
	Succeed               // the job succeeds now
	Fail                  // the job fails now
	Pause                 // pods are stopped
	Queue                 // pods are stopped until the job's queue has quota for them
	Block                 // pods stay, none is created
	Run                   // restarts are made and missing pods created
)

// Verdict is the opinion of a rule.
type Verdict struct {
	Course  Course
	Reason  string // of conditions and events
	Message string
	// ByFailure says that the job ends because replicas failed. The status tells of these, and Message which rule ends the job; "" if none is named.
	ByFailure bool
	// Again is when the rule wants to be asked again, whatever the others say; 0 if only a change can alter its opinion.
	Again time.Duration
}

// Ends reports whether the job ends by this verdict.
func (v Verdict) Ends() bool { return v.Course == Succeed || v.Course == Fail }

// Stops reports whether pods are stopped by this verdict, and none follows while it lasts.
func (v Verdict) Stops() bool { return v.Course == Pause || v.Course == Queue }

// Over reports whether the job has ended, now or before.
func (v Verdict) Over() bool { return v.Course == Rest || v.Ends() }

// Package verdict has the type of the rules' answer: what is to become of a job. The rules give the verdict, later stages of Plan carry it out, and
// the status tells it. So this package is below all of them.
package verdict

import "time"

// Course is what a verdict makes of the job.
type Course int

// The courses. The zero value decides nothing. Under Pause, Queue, Block and Run, restarts that are due are written; only Run creates pods.
const (
	None            Course = iota // no opinion: the next rule is asked
	AlreadyFinished               // the job has finished before this reconcile
	Succeed                       // the job succeeds now
	Fail                          // the job fails now
	Pause                         // pods are stopped
	Queue                         // pods are stopped until the job's queue has quota for them
	Block                         // pods stay, none is created
	Run                           // missing pods are created
)

// Verdict is the opinion of a rule.
type Verdict struct {
	Course  Course
	Reason  string // of conditions and events
	Message string
	// ByFailure says that the job ends because replicas failed. Set it in each rule that fails the job for its replicas. Then the status adds to Message
	// what failed. Message only has what there is to say of the rule, or is "". The time since the failure counts as lost (lossOf in kernel/time.go).
	ByFailure bool
	// RecheckAfter is after what time the rule wants to be asked again, whatever other rules say. It is 0 if only a change can alter the rule's opinion.
	RecheckAfter time.Duration
}

// EndsJob reports whether the job ends by this verdict.
func (v Verdict) EndsJob() bool { return v.Course == Succeed || v.Course == Fail }

// StopsPods reports whether this verdict stops the pods. None is created while it lasts.
func (v Verdict) StopsPods() bool { return v.Course == Pause || v.Course == Queue }

// IsOver reports whether the job has ended, now or before.
func (v Verdict) IsOver() bool { return v.Course == AlreadyFinished || v.EndsJob() }

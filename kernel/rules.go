package kernel

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// rules is the order in which a job's fate is decided: the first rule that has an opinion wins. Read from top to bottom
// it is the semantics of GenericJob.
var rules = []rule{
	{"AlreadyFinished", alreadyFinished},       // final is final: only clean-up and TTL are left
	{"InvalidSpec", specIsInvalid},             // a spec that cannot be run fails before any pod exists
	{"RejectedByCluster", clusterRejectsSpec},  // ... and so does one that the apiserver refuses for good
	{"Succeeded", successRuleHolds},            // success seen in a pass wins over failure and deadline
	{"Failed", failureRuleHolds},               // a failure rule holds: its ranks' restarts are spent
	{"SuccessUnreachable", successUnreachable}, // every success rule names a rank that failed for good
	{"DeadlineExceeded", deadlinePassed},       // timed: a quiet job fails on the second
	{"Paused", pauseIsOn},                      // pods go, none comes
	{"GangUnavailable", gangIsUnavailable},     // no half-started job: wait for the scheduler's objects
	{"Run", runs},                              // restarts that are due, then pods that are missing
}

// rule is one line of the order. It decides and never acts.
type rule struct {
	name string
	test func(*pass) *verdict
}

// course is what a verdict makes of the job.
type course int

const (
	rest    course = iota // the job has finished before this pass
	succeed               // the job succeeds now
	fail                  // the job fails now
	pause                 // pods are stopped
	hold                  // pods stay, none is created
	run                   // restarts are made and missing pods created
)

// verdict is the opinion of a rule.
type verdict struct {
	course  course
	reason  string
	message string
}

// firstVerdict asks the rules in order.
func (p *pass) firstVerdict() verdict {
	for _, r := range rules {
		if v := r.test(p); v != nil {
			return *v
		}
	}
	return verdict{course: hold} // not reached: the last rule always has an opinion
}

func alreadyFinished(p *pass) *verdict {
	if p.Job.Status.CompletionTime == nil {
		return nil
	}
	return &verdict{course: rest}
}

func specIsInvalid(p *pass) *verdict {
	problem := p.invalid()
	switch {
	case problem == "":
		return nil
	case p.status.StartTime != nil && !p.first:
		// The spec was edited in a pause. What has run so far is not lost by it: the job stays paused.
		return &verdict{hold, v1beta1.ReasonInvalidSpec, problem}
	default:
		return &verdict{fail, v1beta1.ReasonInvalidSpec, problem}
	}
}

func clusterRejectsSpec(p *pass) *verdict {
	c := conditionOf(p.Job.Status.Conditions, v1beta1.ConditionBlocked)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1beta1.ReasonCreateInvalid {
		return nil
	}
	return &verdict{fail, v1beta1.ReasonInvalidSpec, c.Message}
}

func deadlinePassed(p *pass) *verdict {
	limit := p.Job.Spec.ActiveDeadlineSeconds
	if limit == nil || p.status.StartTime == nil {
		return nil
	}
	left := seconds(*limit) - p.activeTime()
	if left <= 0 {
		return &verdict{fail, v1beta1.ReasonDeadlineExceeded, deadlineMessage(*limit)}
	}
	if p.status.PauseTime == nil {
		p.wakeAfter(left)
	}
	return nil
}

// activeTime is how long the job has been active, pauses left out.
func (p *pass) activeTime() time.Duration {
	until := p.Now
	if t := p.status.PauseTime; t != nil {
		until = t.Time
	}
	return until.Sub(p.status.StartTime.Time) - seconds(p.status.PausedSeconds)
}

// seconds is so many seconds; what is longer than a Duration can say, about 146 years so that sums can be said too, is
// cut to that.
func seconds(n int64) time.Duration {
	const most = int64(math.MaxInt64/time.Second) / 2
	return time.Duration(min(max(n, -most), most)) * time.Second
}

func pauseIsOn(p *pass) *verdict {
	if !paused(p.Job) {
		return nil
	}
	return &verdict{pause, v1beta1.ReasonPaused, pausedMessage}
}

// gangInterval is how often to look for a gang scheduler's kinds: nothing tells when they are installed.
const gangInterval = 10 * time.Second

func gangIsUnavailable(p *pass) *verdict {
	if g := gangOf(p.Job); g == nil || p.Gang.Missing == "" {
		return nil
	}
	p.wakeAfter(gangInterval)
	return &verdict{hold, v1beta1.ReasonGangUnavailable, gangMessage(p.Gang.Missing)}
}

func runs(*pass) *verdict { return &verdict{course: run} }

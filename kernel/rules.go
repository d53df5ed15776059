package kernel

import (
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// rules is the order in which it is decided what becomes of a job: the first rule that has an opinion wins. Read from top to bottom, it is the
// semantics of GenericJob. Restarts that are due are written under each rule that does not end the job.
var rules = []rule{
	{"AlreadyFinished", alreadyFinished},       // final is final: only clean-up and TTL are left
	{"InvalidSpec", specIsInvalid},             // a spec that cannot be run fails before any pod exists
	{"RejectedByCluster", clusterRejectsSpec},  // ... and so does one that the apiserver refuses for good
	{"Succeeded", successRuleHolds},            // success seen in a reconcile wins over failure and deadline
	{"FailurePolicy", failurePolicyFails},      // a rule of spec.failurePolicy fails the job, whatever the limits leave
	{"Failed", failureRuleHolds},               // a failure rule holds: its ranks have failed for good
	{"SuccessUnreachable", successUnreachable}, // every success rule names a rank that failed for good
	{"DeadlineExceeded", deadlinePassed},       // timed: a quiet job fails on the second
	{"Paused", pauseIsOn},                      // pods go, none comes
	{"Queued", waitsForKueue},                  // no pod before the queue has quota for all
	{"GangUnavailable", gangIsUnavailable},     // no half-started job: wait for the scheduler's objects
	{"Run", runs},                              // pods that are missing are created
}

// rule is one line of the order. It decides and never acts: it cannot change the facts.
type rule struct {
	name string
	test func(facts) verdict.Verdict
}

// facts are what rules look at.
type facts struct {
	job             *v1beta1.GenericJob // with the stored status
	ledger          *ledger.Ledger
	missingGangKind string // the gang scheduler's kind that the cluster does not know; "" if it knows it
	kueue           Kueue
	// failingRule is the rule of spec.failurePolicy by which a failure of this reconcile fails the job; "" if none does.
	failingRule string
	now         time.Time
}

// askRules asks the rules in order, until one has an opinion: that is the verdict. RecheckAfter is the earliest time at which a rule that was asked
// wants to be asked again.
func askRules(f facts) (v verdict.Verdict, recheckAfter time.Duration) {
	for _, r := range rules {
		v = r.test(f)
		recheckAfter = soonest(recheckAfter, v.RecheckAfter)
		if v.Course != verdict.None {
			break
		}
	}
	return v, recheckAfter
}

func alreadyFinished(f facts) verdict.Verdict {
	if f.job.Status.CompletionTime == nil {
		return verdict.Verdict{}
	}
	return verdict.Verdict{Course: verdict.AlreadyFinished}
}

// specIsInvalid looks for mistakes that the CRD's validation cannot find. It saves work, because templates may be large:
//   - A generation that was found valid is not looked at again while its pods run or are paused.
//   - Templates are looked at only while they may be edited. Once code has started, the CRD keeps them as they are.
//
// A mistake does not stop a rule of spec.failurePolicy from failing the job, because rules decide about a failure only once. Nor does it stop an eviction: a
// queue needs its quota for others, and gets it when the pods are gone.
func specIsInvalid(f facts) verdict.Verdict {
	l, pauses := f.ledger, f.job.Spec.RunMode.Pauses()
	if l.IsSettled() && f.job.Status.ObservedGeneration == f.job.Generation && !status.IsBlocked(&f.job.Status, v1beta1.ReasonInvalidSpec) {
		return verdict.Verdict{}
	}
	var templates *spec.Expander
	if !l.IsSettled() || pauses || l.IsUnstarted() {
		templates = spec.NewExpander(f.job, f.job.Status.StartTime != nil)
	}
	problem, begun := spec.Invalid(f.job, l.ReplicaTypes(), templates), l.StartTime() != nil && !l.HasNoStatus()
	if problem == "" || begun && f.failingRule != "" {
		return verdict.Verdict{}
	}
	return verdictOnInvalid(f, begun, problem)
}

// verdictOnInvalid returns what becomes of a job whose spec cannot run. A job that has begun was edited in a pause, or before its code started. Such a
// mistake must not lose what has run so far.
func verdictOnInvalid(f facts, begun bool, problem string) verdict.Verdict {
	v := verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonInvalidSpec, Message: problem}
	wait := waitsForKueue(f)
	switch {
	case begun && f.job.Spec.RunMode.Pauses():
		v.Course = verdict.Pause
	case begun && wait.Reason == v1beta1.ReasonEvicted:
		return wait
	case begun:
		v.Course = verdict.Block
	}
	return v
}

func clusterRejectsSpec(f facts) verdict.Verdict {
	if !status.IsBlocked(&f.job.Status, v1beta1.ReasonCreateInvalid) {
		return verdict.Verdict{}
	}
	message := status.Condition(f.job.Status.Conditions, v1beta1.ConditionBlocked).Message
	return verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonInvalidSpec, Message: message}
}

func deadlinePassed(f facts) verdict.Verdict {
	limit := f.job.Spec.ActiveDeadlineSeconds
	if limit == nil || f.ledger.StartTime() == nil {
		return verdict.Verdict{}
	}
	active, ticks := f.ledger.Active(f.now)
	left := ledger.Seconds(*limit) - active
	switch {
	case left <= 0:
		return verdict.Verdict{Course: verdict.Fail, Reason: v1beta1.ReasonDeadlineExceeded, Message: status.DeadlinePassed(*limit)}
	case ticks:
		return verdict.Verdict{RecheckAfter: left}
	default:
		return verdict.Verdict{}
	}
}

func pauseIsOn(f facts) verdict.Verdict {
	if !f.job.Spec.RunMode.Pauses() {
		return verdict.Verdict{}
	}
	return verdict.Verdict{Course: verdict.Pause, Reason: v1beta1.ReasonPaused}
}

// gangInterval is how often to look for a gang scheduler's kinds: nothing tells when they are installed.
const gangInterval = 10 * time.Second

func gangIsUnavailable(f facts) verdict.Verdict {
	if f.missingGangKind == "" || len(build.GangVersions(f.job)) == 0 {
		return verdict.Verdict{}
	}
	return verdict.Verdict{Course: verdict.Block, Reason: v1beta1.ReasonGangUnavailable, RecheckAfter: gangInterval, Message: status.GangUnavailable(f.missingGangKind)}
}

func runs(facts) verdict.Verdict { return verdict.Verdict{Course: verdict.Run} }

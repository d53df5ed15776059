package status

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/text"
)

// Why a replica whose code has ended runs again, beside the reasons that package podstate finds in its pod.

// RunsAlways says why a replica runs again that has succeeded.
func RunsAlways(pod string) string {
	return fmt.Sprintf("Pod[%s] succeeded and its restart policy is Always", pod)
}

// StillServes says why an auxiliary replica runs again that has ended.
func StillServes(pod string) string {
	return fmt.Sprintf("Pod[%s] has ended, and the others still need it", pod)
}

// NodeGivesUp says why a replica gets another pod whose failure is counted already.
func NodeGivesUp(pod string) string {
	return fmt.Sprintf("The node does not start containers of Pod[%s] again", pod)
}

// StopsTogether says why all stop before a pod is gone.
func StopsTogether(pod string) string {
	return fmt.Sprintf("Pod[%s] is being deleted by somebody, so all stop", pod)
}

// WhileDisrupted says of a failure why it counts as a disruption.
func WhileDisrupted(why string) string { return why + ", while another pod of the job was disrupted" }

// Restart is a replica that is run again. The ledger has the restart already.
type Restart struct {
	Ledger        *ledger.Ledger
	Account       *ledger.Account
	Rank          int
	Counted       bool
	InCountedHang bool // it is part of a hang that is counted
	InPod         bool // it stays in its pod
	Why           string
	Rule          string // the rule of spec.failurePolicy that decided this restart; "" if none did
}

// RestartEvent is the event of a restart. Its message says Why the replica is run again, what Then is done, and on which node the replica was.
type RestartEvent struct {
	Event
	Why, Then string
}

func (e *RestartEvent) event() Event {
	out := e.Event
	message := clauses(e.Why, e.Then)
	if e.Node != "" && !slices.Contains(strings.Fields(e.Why), e.Node) {
		message += "; this pod was on node " + e.Node
	}
	out.Message = text.Cut(message, text.Max)
	return out
}

// Event says why the replica is run again, how, and what that leaves of its limit.
func (r Restart) Event() RestartEvent {
	reason := v1beta1.ReasonDisrupted
	if r.Counted || r.InCountedHang || r.Rule != "" {
		reason = v1beta1.ReasonRestarted
	}
	return RestartEvent{Event: Event{Warning: r.Counted, Reason: reason}, Why: r.Why, Then: r.how() + r.spent() + r.byRule()}
}

// Failure returns the failure that caused the restart.
func (r Restart) Failure(record v1beta1.ReplicaFailure) Failure {
	return Failure{Why: r.Why, Then: "it is restarted" + r.spent() + r.byRule(), Excepted: !r.Counted, ReplicaFailure: record}
}

func (r Restart) spent() string {
	spent, limit := r.Ledger.Spent(r.Account, r.Rank)
	if !r.Counted || limit == spec.Unlimited || limit == math.MaxInt32 { // which stands for no limit, too
		return ""
	}
	return fmt.Sprintf(" (restart %d of %d)", spent, limit)
}

// byRule says which rule of the spec decided.
func (r Restart) byRule() string {
	switch {
	case r.Rule == "":
		return ""
	case r.Counted:
		return fmt.Sprintf(", by rule %s of failurePolicy", r.Rule)
	default:
		return fmt.Sprintf(", by rule %s of failurePolicy, which does not count it", r.Rule)
	}
}

func (r Restart) how() string {
	together := r.Ledger.RestartsTogether() && !r.Account.Auxiliary
	switch {
	case together && !r.Ledger.RestartsInPlace():
		return fmt.Sprintf("all replicas are replaced, attempt %d", r.Ledger.JobAttempt())
	case together:
		return fmt.Sprintf("all replicas begin again, in their pods where they can, attempt %d", r.Ledger.JobAttempt())
	case r.InPod:
		return "it begins again in its pod"
	default:
		return "it is replaced"
	}
}

// OftenRejectedPod says what to do about a replica whose pods keep having short lives, and whose last pod was rejected by its node.
func OftenRejectedPod(why string, streak int, message string) string {
	return fmt.Sprintf("%s before its code could start, the last of %d short lives in a row: %s. The operator keeps trying, at least every 5 minutes. Change the template so that a node takes the pod, or pause or delete the job.",
		why, streak, message)
}

// NoRestartsLeft says of a replica that has ended that its limits are used up.
const NoRestartsLeft = "no restarts are left"

// FailedForGood says of a replica that has ended why it is not run again.
func FailedForGood(a *ledger.Account, disrupted, withinLimit bool) string {
	switch policy := a.Policy.Kind; {
	case disrupted:
		return fmt.Sprintf("its restart policy is Never, so it failed (%s)", v1beta1.ReasonDisrupted)
	case policy == v1beta1.RestartNever || policy == v1beta1.RestartExitCode && withinLimit:
		return fmt.Sprintf("restart policy %s does not restart it", policy)
	default:
		return NoRestartsLeft
	}
}

// FailsByRule says that a rule of the spec makes a failure final.
func FailsByRule(rule string) string {
	return fmt.Sprintf("rule %s of failurePolicy fails the job", rule)
}

// LedgerFull says why a job fails whose ledger cannot be stored, and what to do.
func LedgerFull(f *ledger.Full) string {
	problem := fmt.Sprintf("%d replicas were replaced, each in its own way: to account for that takes %d bytes of status, of which there are %d", f.Records, f.Size, f.Most)
	if f.InRanks {
		problem = fmt.Sprintf("%d replicas were replaced, of all types and sizes that the job has had: to account for that status.ledger names %d ranks, and %d are allowed", f.Records, f.Size, f.Most)
	}
	return problem + ". Run fewer replicas in one job; or set spec.restartScope to Job, which keeps one account for all."
}

package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Sentences of the rules: what is the case, why, and what to do.

// Succeeded says that a job has.
const Succeeded = "The job has finished successfully."

// Failed says that a job has, to those who only have to know that.
const Failed = "The job has failed."

// NoSuccessRuleCanHold says why a job fails none of whose own rules says so.
const NoSuccessRuleCanHold = "Every rule in spec.successRules needs a replica that failed for good"

// FailureRuleHolds says by which rule of its own a job has failed.
func FailureRuleHolds(rule string) string { return "The job is failed with rule: " + rule }

// FailurePolicyFails says what follows where a rule of its failure policy fails a job, and what to do where that was wrong.
const FailurePolicyFails = "No restart is made, whatever the limits leave. If one would help, change the rule, and create the job again"

// NoProgress is what messages call noProgress of a failure policy, beside the names of rules, which are quoted or numbers.
const NoProgress = "noProgress"

// CorrectTheCause says what follows where noProgress fails a job, and what to do.
const CorrectTheCause = "No restart is made, whatever the limits leave. Correct the cause, or allow more rounds, and create the job again"

// NoProgressFails says that failures in a row fail a job that made no progress.
func NoProgressFails(s *v1beta1.NoProgressStatus) string {
	step := "told no step"
	if s.Step != nil {
		step = fmt.Sprintf("told no step after %d", *s.Step)
	}
	cause := string(s.Cause)
	if s.Exception != "" {
		cause += ", " + s.Exception
	}
	if s.ExitCode != nil {
		cause += fmt.Sprintf(", exit code %d", *s.ExitCode)
	}
	return fmt.Sprintf("noProgress of failurePolicy fails the job: it failed %d times in a row by this cause (%s of type %s), and %s %s", s.Rounds, cause, s.Type, s.Replica, step)
}

// DeadlinePassed says that a job was active for longer than its limit, in seconds.
func DeadlinePassed(limit int64) string {
	return fmt.Sprintf("The job was active for longer than spec.activeDeadlineSeconds, which is %d. Raise it, or see in events and logs what took so long.", limit)
}

// GangUnavailable says that the cluster does not know the kind by which a scheduler is told of gangs.
func GangUnavailable(kind string) string {
	return fmt.Sprintf("The cluster does not know the kind %s, which spec.scheduler needs: install the scheduler, and the job starts by itself; or pause the job and remove spec.scheduler.", kind)
}

// SilentScheduler says that a scheduler has said nothing of a pod in two minutes.
func SilentScheduler(pod, scheduler string) string {
	return fmt.Sprintf("Pod[%s] has waited for a node for 2 minutes, and the scheduler %q has reported nothing about it: check that a scheduler of that name runs. The job starts by itself then.",
		pod, scheduler)
}

// MisplacedRanks says that Kueue has placed the pod of a rank after that of a later one.
func MisplacedRanks(replicaType string, earlier, later *corev1.Pod) string {
	return fmt.Sprintf("Kueue has not placed the pods of type %s in the order of their ranks: Pod[%s] is in a domain after that of Pod[%s]. "+
		"Neighbours may be far from each other, and collectives slow. It does so where finished ranks left gaps, or a pod runs elsewhere than it was assigned. Pause and resume the job to have all placed anew.",
		replicaType, earlier.Name, later.Name)
}

// NoKueue says that the cluster does not know a kind of Kueue's.
func NoKueue(kind, queue string) string {
	return fmt.Sprintf("The cluster does not know the kind %s, which the queue %s needs: install Kueue, and the job starts by itself; or pause the job and remove its queue.", kind, queue)
}

// KueueForbidden says that the operator lacks a right that Kueue needs.
func KueueForbidden(refusal, queue string) string {
	return fmt.Sprintf("The operator may not read what the queue %s needs: %s. Give it the rights of the ClusterRole genericjob-cluster-reader, and the job goes on by itself; or pause the job and remove its queue.", queue, refusal)
}

// NoFlavor says that a job was admitted in a resource flavor that is not there.
func NoFlavor(replicaType, flavor, workload string) string {
	return fmt.Sprintf("Kueue has admitted replicas of type %s in ResourceFlavor %q, which is not there, so nobody knows for which nodes new pods are. "+
		"Create it, and they come by themselves; or delete the Workload %s, and the job queues again.", replicaType, flavor, workload)
}

// TopologyMistake says what is wrong with how a job asks for a topology.
func TopologyMistake(mistake string) string {
	return mistake + ". Pause the job, correct it, and resume: the job queues then."
}

// NoPriorityClass says that a job names a class that is not there.
func NoPriorityClass(name string) string {
	return fmt.Sprintf("There is no WorkloadPriorityClass %q: create it, and the job is queued by itself; or pause the job and name another.", name)
}

// Evicted says that Kueue has taken a job's quota.
func Evicted(reason, message, queue string) string {
	return fmt.Sprintf("Kueue has evicted the job (%s): %s It goes on when the queue %s admits it again.", reason, sentence(message), queue)
}

// SwitchedOff says that somebody has switched a job's Workload off.
func SwitchedOff(workload, message string) string {
	return fmt.Sprintf("The job's Workload %s has been switched off: %s Set its spec.active to true to have the job queued again.", workload, sentence(message))
}

// Queued says what a job waits for in its queue.
func Queued(queue, message string) string {
	return fmt.Sprintf("The job waits in the queue %s until Kueue admits it: %s", queue, sentence(message))
}

// ShortOfQuota says that a job has more replicas than its queue has admitted.
func ShortOfQuota(queue string) string {
	return fmt.Sprintf("The job needs quota for more replicas than the queue %s has admitted: it queues again, for all of them.", queue)
}

// OtherQuota says that a job was edited since its queue admitted it.
func OtherQuota(queue string) string {
	return fmt.Sprintf("After an edit the replicas need other quota than the queue %s has admitted: the job queues again.", queue)
}

// BoundForBadNode says that Kueue has chosen a node that the job avoids.
func BoundForBadNode(queue, node string) string {
	return fmt.Sprintf("Kueue has chosen node %s for pods of the job, which avoids that node because it has failed there: it queues again in %s, for other nodes.", node, queue)
}

// ServiceNamed says that a job's Service got another name than the job.
func ServiceNamed(taken, name string) string {
	return fmt.Sprintf("Service %s exists already: it is left alone, as it may be somebody else's, and the job's Service is called %s.", taken, name)
}

// NameTaken says that an object that the job needs has the name of another's, which is what the apiserver said.
func NameTaken(said string) string {
	return said + ": it is left alone, as it may be somebody else's. Delete it, and the job goes on by itself; or give the job another name."
}

// NewlyInvalid is added to what the apiserver says of a pod which it has taken before.
const NewlyInvalid = ". The job has had such pods before, so this is new: see what has changed in the cluster; or pause the job, correct the field, and resume it"

// Refused says what the apiserver refuses to do, what it said, and what to do.
func Refused(what, said, remedy string) string {
	return fmt.Sprintf("The apiserver refuses to %s: %s. %s.", what, said, remedy)
}

// Remedies of refusals.
const (
	CorrectField = "Correct the field in spec and create the job again"
	FreeQuota    = "The operator keeps trying. Free what is short, have the policy or webhook changed that is in the way, or pause or delete the job"
	ChangePolicy = "The operator keeps trying. Have the policy, webhook or role changed that is in the way"
)

// OfOtherBuild says that another build of the operator wrote a status.
func OfOtherBuild(version int32) string {
	return fmt.Sprintf("status.ledgerVersion is %d, and this build of the operator reads %d: the job was made by an earlier build, or a later one", version, v1beta1.LedgerVersion)
}

// EarlierPod says that an earlier build made a pod.
func EarlierPod(name string) string {
	return "Pod[" + name + "] was made by an earlier build of the operator"
}

// NewerPod says that a pod is of a later attempt than the status knows of.
func NewerPod(name string) string {
	return "status: Pod[" + name + "] is newer than it, so it was changed or emptied by somebody else, or the pod was made by somebody else: delete that one"
}

// What is to be done about a status that cannot be read.
const (
	Repair      = "until that is repaired: restore the status, or delete the job"
	CreateAgain = "any more: delete it and create it again"
)

// sentence ends a text with a full stop.
func sentence(text string) string {
	if text == "" || text[len(text)-1] == '.' {
		return text
	}
	return text + "."
}

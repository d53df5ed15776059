package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/status"
)

// What to do about a job that has failed, or whose pods do not start. The kernel's messages say what to do about the obstacles that it knows, so what
// is said here is how.

// afterFailure says what to do about a job that has failed, by its condition.
func (q question) afterFailure(c v1beta1.JobCondition) string {
	last := q.deciding(c.Message)
	switch reason := c.Reason; {
	case reason == v1beta1.ReasonInvalidSpec:
		return "Correct the manifest, try it with `kubectl gj translate -f FILE`, delete the job and create it again."
	case reason == v1beta1.ReasonInvalidDefinition:
		return "No edit of yours helps. Once a cluster admin has mended the definition, delete the job and create it again."
	case reason == v1beta1.ReasonDeadlineExceeded:
		return "See what took so long: `" + q.Command("logs", "") + "`; or raise activeDeadlineSeconds. Then delete the job and create it again."
	case reason == v1beta1.ReasonFailurePolicy:
		return "Read what the first to fail has said: `" + q.Command("logs", "--first-failure") + "`. `" + q.Command("why", "--rules FILE") + "` says what other rules would have done."
	case reason == v1beta1.ReasonLedgerFull:
		return "See why its replicas are replaced so often: `" + q.Command("top", "") + "`."
	case last != nil && podstate.Unstartable(*last) != "":
		return "No restart helps: correct the manifest, delete the job and create it again."
	default:
		return "Read what the first to fail has said: `" + q.Command("logs", "--first-failure") + "`. Mend it" + q.orAllow(c.Message, last) + "; then delete the job and create it again."
	}
}

// deciding returns the failure by which the job has failed: the last of a pod that the message of its condition names. It is nil without one.
func (q question) deciding(message string) *v1beta1.ReplicaFailure {
	for i := range slices.Backward(q.Status().Failures) {
		if f := &q.Status().Failures[i]; strings.Contains(message, "Pod["+f.Pod+"]") {
			return f
		}
	}
	return nil
}

// orAllow says what to change so that such a failure is restarted: the limit that was used up, or the policy that restarts nothing.
func (q question) orAllow(message string, f *v1beta1.ReplicaFailure) string {
	if f == nil || q.GenericJob == nil {
		return ""
	}
	replicaType, rank, _ := jobs.ReplicaOf(q.GenericJob, f.Pod)
	l, err := ledger.Load(q.GenericJob)
	if err != nil {
		return ""
	}
	switch a := l.Account(replicaType); {
	case a == nil:
		return ""
	case !strings.Contains(message, status.NoRestartsLeft):
		return ", or give type " + replicaType + " a restartPolicy that restarts it"
	case !l.IsWithinLimit(a, rank):
		name, limit := limitOf(l.Ledger, a, rank)
		return fmt.Sprintf(", or raise %s, which is %d", name, limit)
	default:
		return ""
	}
}

// cannotStart answers for a job with a pod that is stuck, not just on its way.
func cannotStart(q question) *Answer {
	failure := q.Condition(v1beta1.ConditionReplicaFailure)
	if q.Is(v1beta1.ConditionRunning) || failure.Status != "True" || failure.Reason == v1beta1.ReasonErrorInPod {
		return nil
	}
	return &Answer{Reason: failure.Reason, Why: sentence(failure.Message) + q.lastFailure(), Do: q.stuck(failure.Reason, failure.Message)}
}

// cannotMount answers for a job with a pod of which only the kubelet's events tell why it does not start.
func cannotMount(q question) *Answer {
	pod, event := q.Warning()
	if pod == nil || q.Is(v1beta1.ConditionRunning) {
		return nil
	}
	return &Answer{Reason: event.Reason, Why: sentence(fmt.Sprintf("Pod[%s] cannot start: %s", pod.Name, tree.Warned(event))) + q.lastFailure(), Do: q.stuck(event.Reason, event.Message)}
}

// stuck says what to do about a pod that cannot start. Where the message says it, how to do it is left.
func (q question) stuck(reason, message string) string {
	edit, setsImage := q.editing()
	pulls := slices.Contains(v1beta1.PullReasons, reason)
	switch advised := podstate.Advice(reason, message) != ""; {
	case pulls && podstate.Advice(reason, message) == podstate.Advice(reason, ""):
		return "To set the image: " + setsImage + ". Once there is a pull secret, it goes on by itself."
	case advised:
		return "To edit the template: " + edit + ". It goes on by itself once the obstacle is gone."
	case reason == "Unschedulable":
		return "See what the scheduler wants of the nodes, or ask for less: " + edit + ". It goes on by itself once a node takes the pod."
	default:
		return "See the pod's events: kubectl events -n " + q.Job.GetNamespace() + ". It continues by itself once that is corrected."
	}
}

// editing says how the template of a job is edited, and how its image is set. No pause is needed as long as no code has started.
func (q question) editing() (edit, setsImage string) {
	set := q.Command("set image", "IMAGE")
	if q.Status().UnstartedSpec == "" {
		edit = fmt.Sprintf("`%s`, edit it, `%s`", q.Command("pause", ""), q.Command("resume", ""))
		setsImage = fmt.Sprintf("`%s`, `%s`, `%s`", q.Command("pause", "--wait"), set, q.Command("resume", ""))
	} else {
		edit = "correct the manifest and apply it again"
		setsImage = fmt.Sprintf("`%s`", set)
	}
	if q.IsDefined() { // of which `set` does not know where the containers are
		return edit, edit
	}
	return edit, setsImage
}

// Package why says in one paragraph what a job waits for or died of, and what to do. All of it is pure: the job's status knows
// most, and the rest is in its pods.
package why

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
)

// Answer says why a job is as it is.
type Answer struct {
	// Job is kind and name.
	Job string `json:"job"`
	// Phase is that of its status; empty if the operator has not seen it.
	Phase v1beta1.JobPhase `json:"phase,omitempty"`
	// Reason is one word of the API, or what it waits for, as in Unschedulable.
	Reason string `json:"reason,omitempty"`
	// Why says it in sentences.
	Why string `json:"why"`
	// Do says what to do; empty if nothing is to be done.
	Do string `json:"do,omitempty"`
	// Ignored says which fields of its spec have no effect, each in one line.
	Ignored []string `json:"ignored,omitempty"`
	// Time says what its time was spent on.
	Time string `json:"time,omitempty"`
	// Losses say what time was lost by, each in one line.
	Losses []string `json:"losses,omitempty"`
	// Recovery says how it came back from its last loss of time.
	Recovery string `json:"recovery,omitempty"`
}

// Text returns the paragraph, and what is ignored and the losses in lines below it.
func (a Answer) Text() string {
	head := a.Job + ": " + cmp.Or(string(a.Phase), "not seen by the operator yet") + "."
	timeText := ""
	if a.Time != "" {
		timeText = "Time: " + a.Time + "."
	}
	text := strings.Join(strings.Fields(strings.Join([]string{head, a.Why, a.Do, timeText, sentence(a.Recovery)}, " ")), " ")
	for _, line := range a.Ignored {
		text += "\nIgnored: " + sentence(strings.Join(strings.Fields(line), " "))
	}
	for _, line := range a.Losses {
		text += "\n- " + strings.Join(strings.Fields(line), " ")
	}
	return text
}

// question is what is asked of.
type question struct {
	*jobs.Family
	now time.Time
}

// rules is the order in which an answer is looked for: the first that has one wins.
var rules = []func(question) *Answer{
	isDeleted,
	isForeign,
	isUnserved,
	isUnseen,
	hasFailed,
	hasSucceeded,
	isBlocked,
	isPaused,
	isQueued,
	debugs,
	cannotStart,
	cannotMount,
	waits,
	runs,
}

// Of returns the answer for a job.
func Of(f *jobs.Family, now time.Time) Answer {
	q := question{f, now}
	for _, rule := range rules {
		if a := rule(q); a != nil {
			a.Job, a.Phase, a.Time, a.Recovery, a.Losses = f.Title(), f.Phase(), f.Time(now), f.Recovery(), f.Losses(now)
			if !f.IsOver() {
				a.Why += q.nodes()
			}
			if a.Reason != "Deleted" && a.Reason != "ManagedBy" {
				a.Ignored = Ignored(f, now)
			}
			return *a
		}
	}
	return Answer{Job: f.Title(), Phase: f.Phase(), Why: "The operator cannot tell.", Do: "See its status: " + q.kubectl("get", "-o yaml")}
}

// kubectl returns a command about the job.
func (q question) kubectl(verb, rest string) string {
	return fmt.Sprintf("kubectl %s %s/%s -n %s %s.", verb, strings.ToLower(q.Kind.Kind), q.Job.GetName(), q.Job.GetNamespace(), rest)
}

func isDeleted(q question) *Answer {
	if q.Job.GetDeletionTimestamp() == nil {
		return nil
	}
	return &Answer{Reason: "Deleted", Why: fmt.Sprintf("It is being deleted; %d of its pods are still there.", len(q.Pods)),
		Do: "It goes when its finalizers are removed: " + q.kubectl("get", "-o jsonpath={.metadata.finalizers}")}
}

func isForeign(q question) *Answer {
	if q.Kind.Framework == nil {
		if !q.GenericJob.Spec.ManagedBy.IsForeign() {
			return nil
		}
	} else if program, err := q.Kind.Framework.Compile(q.Job); err != nil || !program.Foreign {
		return nil
	}
	return &Answer{Reason: "ManagedBy", Why: "Its managedBy names another controller, so this operator leaves it alone.",
		Do: "Ask that controller; Kueue's MultiKueue runs such a job on another cluster."}
}

// isUnserved says that no definition serves the kind of a job that is not over.
func isUnserved(q question) *Answer {
	if q.Definition == nil || q.Definition.Serves || q.Phase().IsFinal() {
		return nil
	}
	why := fmt.Sprintf("TrainingFramework %s does not serve the kind %s: %s", q.Definition.Name, q.Kind.Kind, sentence(q.Definition.Message))
	if q.Definition.Name == "" {
		if q.hasOtherOperator() {
			return nil
		}
		why = fmt.Sprintf("No TrainingFramework serves the kind %s.", q.Kind.Kind)
	}
	if q.GenericJob != nil {
		return &Answer{Reason: v1beta1.ReasonNotServed, Why: fmt.Sprintf(
			"%s The job goes on as a GenericJob, which is %s, but what the job shows stands still, and edits of it have no effect, a pause for example.", why, q.GenericJob.Status.Phase),
			Do: fmt.Sprintf("Have a cluster admin apply the definition again. How it goes on: kubectl describe genericjob %s -n %s.", q.Job.GetName(), q.Job.GetNamespace())}
	}
	return &Answer{Reason: v1beta1.ReasonNotServed, Why: why + " Nothing is made of the job.",
		Do: "Have a cluster admin apply a definition of the kind, or mend the one that there is: kubectl get trainingframeworks. Then the job begins by itself."}
}

// hasOtherOperator reports whether the job's kind needs no definition: an operator with a translator of its own serves it.
func (q question) hasOtherOperator() bool {
	if q.GenericJob != nil {
		return q.GenericJob.Annotations[v1beta1.AnnotationFrameworkRevision] == ""
	}
	return q.Phase() != ""
}

// patience is how long an operator that runs may take to look at a job.
const patience = 10 * time.Second

func isUnseen(q question) *Answer {
	age := q.now.Sub(q.Job.GetCreationTimestamp().Time)
	switch {
	case q.Phase() != "":
		return nil
	case age < patience:
		return &Answer{Reason: "New", Why: "It was created a moment ago, and the operator has not said anything of it yet."}
	}
	a := &Answer{Reason: "NoOperator", Why: fmt.Sprintf("It was created %s ago, and the operator has not said anything of it.", jobs.Spell(int64(age/time.Second))),
		Do: "Look whether the operator runs: kubectl get deployment -n genericjob-system genericjob-manager; and what it logs: kubectl logs -n genericjob-system deployment/genericjob-manager."}
	if q.Kind.IsKubeflow() {
		a.Do += " It serves " + q.Kind.Kind + "s only with the flag --kubeflow."
	}
	return a
}

func hasFailed(q question) *Answer {
	if q.Phase() != v1beta1.JobFailed {
		return nil
	}
	c := q.Condition(v1beta1.ConditionFailed)
	return &Answer{Reason: c.Reason, Why: sentence(c.Message) + q.count(), Do: q.afterFailure(c)}
}

func hasSucceeded(q question) *Answer {
	if q.Phase() != v1beta1.JobSucceeded {
		return nil
	}
	why := "It has succeeded."
	if s := q.Status(); s.StartTime != nil && s.CompletionTime != nil {
		why = fmt.Sprintf("It has succeeded, %s after it began.", jobs.Spell(int64(s.CompletionTime.Sub(s.StartTime.Time)/time.Second)))
	}
	return &Answer{Reason: v1beta1.ReasonSucceeded, Why: why + q.count() + q.failedBefore()}
}

func isPaused(q question) *Answer {
	switch c := q.Condition(v1beta1.ConditionRunning); {
	case q.Phase() == v1beta1.JobPaused:
		return &Answer{Reason: v1beta1.ReasonPaused, Why: "It is paused: no unfinished replica has a pod, and its spec may be edited.",
			Do: "To go on: `" + q.Command("resume", "") + "`."}
	case c.Reason == v1beta1.ReasonPausing:
		return &Answer{Reason: c.Reason, Why: "It is being paused: its pods have until the end of their grace period." + q.leaving()}
	default:
		return nil
	}
}

func isQueued(q question) *Answer {
	c := q.Condition(v1beta1.ConditionRunning)
	if c.Reason != v1beta1.ReasonQueued && c.Reason != v1beta1.ReasonEvicted {
		return nil
	}
	return &Answer{Reason: c.Reason, Why: sentence(c.Message),
		Do: "See what is before it in the queue: kubectl get workloads.kueue.x-k8s.io -n " + q.Job.GetNamespace() + "."}
}

func debugs(q question) *Answer {
	if q.GenericJob == nil || !q.GenericJob.Spec.RunMode.Debugs() || !q.Is(v1beta1.ConditionRunning) {
		return nil
	}
	return &Answer{Reason: "Debug", Why: "It runs in debug mode, in which it does not train.",
		Do: "Look around with `" + q.Command("debug", "--shell TYPE-RANK") + "`; to train: `" + q.Command("debug", "--off") + "`."}
}

func waits(q question) *Answer {
	c := q.Condition(v1beta1.ConditionRunning)
	if q.Is(v1beta1.ConditionRunning) {
		return nil
	}
	return &Answer{Reason: c.Reason, Why: sentence(c.Message) + q.lastFailure()}
}

func runs(q question) *Answer {
	return &Answer{Reason: v1beta1.ReasonRunning, Why: sentence(q.Condition(v1beta1.ConditionRunning).Message) + q.edited() + q.count() + q.lastFailure()}
}

// count says how often replicas were replaced, if any was.
func (q question) count() string {
	s := q.Status()
	excepted := ""
	if s.ExceptedCount > 0 {
		excepted = ", and " + plural.Count(s.ExceptedCount, "restart") + " excepted by rules"
	} else if s.BackoffCount+s.DisruptionCount == 0 {
		return ""
	}
	return fmt.Sprintf(" It had %s and %s%s.", plural.Count(s.BackoffCount, "counted restart"), plural.Count(s.DisruptionCount, "disruption"), excepted)
}

// lastFailure says how the last replica failed, if any did.
func (q question) lastFailure() string {
	failures := q.Status().Failures
	if first := q.Status().FirstFailure; first != nil && first.Summary != "" {
		return fmt.Sprintf(" The last crash: %s.", first.Summary)
	}
	if len(failures) == 0 {
		return ""
	}
	last := failures[len(failures)-1]
	return fmt.Sprintf(" The last failure was that of Pod[%s]: %s.", last.Pod, tree.Describe(last))
}

// leaving names the pods that are being deleted, three at most.
func (q question) leaving() string {
	var names []string
	for _, pod := range q.Pods {
		if pod.DeletionTimestamp != nil {
			names = append(names, jobs.Replica(pod))
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > 3 {
		more = fmt.Sprintf(" and %d more", len(names)-3)
	}
	return fmt.Sprintf(" Terminating: %s%s.", strings.Join(names[:min(3, len(names))], ", "), more)
}

// Package tree shows a job with what belongs to it. That is its GenericJob, and the pod of each replica with its node, its restarts and
// why it is as it is. All of it is pure.
package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

// Branch is a line of the tree with what hangs from it.
type Branch struct {
	// Name is kind and name, as in Pod/mnist-7a8f5-worker-0.
	Name string `json:"name"`
	// Replica is type and rank of a pod's replica, as in worker-0.
	Replica string `json:"replica,omitempty"`
	// Phase is where it is in its life.
	Phase string `json:"phase"`
	// Running is how many replicas of a job run, of those that have not finished. Of a job that is over it is how many were left running.
	Running string `json:"running,omitempty"`
	// Node is the pod's node.
	Node string `json:"node,omitempty"`
	// Restarts are those that a limit counts.
	Restarts int32 `json:"restarts"`
	// Disruptions are the replicas of a job that something outside it ended; Excepted are its restarts excepted by rules.
	Disruptions int32 `json:"disruptions,omitempty"`
	Excepted    int32 `json:"excepted,omitempty"`
	// Uncounted are the starts of a replica alone that no limit counts. By what they were made is known of the whole job alone.
	Uncounted int32 `json:"uncounted,omitempty"`
	// WithJob are the starts of the whole job that are not among a replica's Restarts.
	WithJob int32 `json:"withJob,omitempty"`
	// More are the starts of a replica of which the status does not tell what they were. PerhapsMore says that there may have been others.
	More        int32 `json:"more,omitempty"`
	PerhapsMore bool  `json:"perhapsMore,omitempty"`
	// Step and Loss are the last that the code of a job reported.
	Step *int64 `json:"step,omitempty"`
	// Early says how long before the end of a job that is over that was, as in 27s; empty if that hardly matters.
	Early string `json:"early,omitempty"`
	Loss  string `json:"loss,omitempty"`
	// Time says what the time of a job was spent on.
	Time string `json:"time,omitempty"`
	// Why says why it is not as it should be, or was not.
	Why string `json:"why,omitempty"`
	// ScaledDown says that its replica was scaled away.
	ScaledDown bool `json:"scaledDown,omitempty"`
	// hasProblem says that something is wrong with a pod that runs.
	hasProblem bool
	// Branches hang from it.
	Branches []Branch `json:"branches,omitempty"`
}

// Of returns the tree of a job.
func Of(f *jobs.Family, now time.Time) Branch {
	var pods []Branch
	if f.GenericJob != nil {
		pods = podsOf(f, now)
	}
	root := Branch{Name: f.Title(), Phase: cmp.Or(string(f.Phase()), "Unseen"), Why: conditionMessage(f, pods)}
	if f.Job.GetDeletionTimestamp() != nil {
		root.Phase = "Terminating"
	}
	if f.GenericJob == nil {
		return root
	}
	s := f.GenericJob.Status
	root.Running, root.Restarts, root.Disruptions, root.Excepted = s.Running, s.BackoffCount, s.DisruptionCount, s.ExceptedCount
	root.Time = f.Time(now)
	if s.Progress != nil {
		root.Step, root.Loss, root.Early = s.Progress.Step, s.Progress.Loss, f.ProgressEarly()
	}
	if f.Kind.Framework == nil {
		root.Branches = pods
		return root
	}
	root.Branches = []Branch{{
		Name: v1beta1.KindGenericJob + "/" + f.GenericJob.Name, Phase: cmp.Or(string(s.Phase), "Unseen"), Running: s.Running,
		Restarts: s.BackoffCount, Disruptions: s.DisruptionCount, Excepted: s.ExceptedCount, Branches: pods,
	}}
	if board := f.TensorBoard(); board != nil {
		root.Branches = append(root.Branches, boardOf(f, board))
	}
	return root
}

// boardOf returns the line of the job's TensorBoard. What its note says of one that is ready is what `kubectl gj tensorboard` is for.
func boardOf(f *jobs.Family, board *v1beta1.DependentStatus) Branch {
	b := Branch{Name: "TensorBoard/" + tensorboard.Name(f.Job), Phase: "Ready"}
	if !board.Ready {
		b.Phase, b.Why = "NotReady", board.Note
	}
	return b
}

// conditionMessage returns what the job's conditions say, if that is more than that all is well.
func conditionMessage(f *jobs.Family, pods []Branch) string {
	switch {
	case f.Is(v1beta1.ConditionBlocked):
		return f.Condition(v1beta1.ConditionBlocked).Message
	case f.Is(v1beta1.ConditionFailed):
		return f.Condition(v1beta1.ConditionFailed).Message
	case f.Phase() == v1beta1.JobSucceeded, isWell(f, pods):
		return ""
	}
	if pod, event := f.Warning(); pod != nil {
		return "Waiting for replica " + jobs.Replica(pod) + ": " + Warned(event)
	}
	return f.Condition(v1beta1.ConditionRunning).Message
}

// isWell reports whether all replicas run that have not succeeded, and train.
func isWell(f *jobs.Family, pods []Branch) bool {
	if !f.Is(v1beta1.ConditionRunning) || strings.HasPrefix(f.Status().Mode, spec.ModeDebug) {
		return false
	}
	return !slices.ContainsFunc(pods, func(b Branch) bool { return b.hasProblem || b.Phase == string(v1beta1.ReplicaFailed) })
}

// Warned says what an event warns of, and what to do about it.
func Warned(event *corev1.Event) string {
	text := event.Reason + ": " + event.Message
	if do := podstate.Advice(event.Reason, event.Message); do != "" {
		text += " (" + do + ")"
	}
	return text
}

// podsOf returns the lines of the replicas, by type and rank, and of pods that are on their way out.
func podsOf(f *jobs.Family, now time.Time) (out []Branch) {
	counted, _ := ledger.Load(f.GenericJob) // what cannot be read of it is told by the condition Blocked
	judge := podstate.Judge{Now: now}
	replicas := roster.Of(f.GenericJob, counted.Ledger, f.Pods, judge)
	for i := range replicas.Types {
		t := &replicas.Types[i]
		for rank := range t.Pods {
			b := replica(f, counted.Ledger, replicas, t, rank, now)
			b.Name, b.Replica = "Pod/"+replicas.Names.Pod(t.Type, rank), fmt.Sprintf("%s-%d", t.Type, rank)
			if pod := t.Pods[rank]; pod != nil {
				b.Name, b.Node = "Pod/"+pod.Name, pod.Spec.NodeName
			}
			out = append(out, b)
		}
	}
	for _, scaledDown := range replicas.ScaledDown {
		out = append(out, Branch{Name: "Pod/" + scaledDown.Pod.Name, Replica: jobs.Replica(scaledDown.Pod), Phase: phaseOf(scaledDown.Pod),
			Node: scaledDown.Pod.Spec.NodeName, Why: "scaled away", ScaledDown: true})
	}
	return out
}

// lost says of a pod that its node is not Ready; "" if it is.
func lost(l *podstate.NotReadyNode) string {
	if l != nil {
		return fmt.Sprintf("node %s is not Ready since %s", l.Node, l.Since.UTC().Format(time.RFC3339))
	}
	return ""
}

// replica returns the line of a replica.
func replica(f *jobs.Family, l *ledger.Ledger, replicas *roster.Roster, t *roster.Type, rank int, now time.Time) Branch {
	starts := l.Starts(t.Account, rank)
	b := Branch{Restarts: starts.Restarts, Uncounted: starts.Uncounted, WithJob: starts.WithJob, More: starts.More, PerhapsMore: starts.PerhapsMore}
	pod := t.Pods[rank]
	switch {
	case t.HasSucceeded(rank):
		b.Phase = string(v1beta1.ReplicaSucceeded)
	case t.HasFailed(rank):
		b.Phase, b.Why = string(v1beta1.ReplicaFailed), lastFailure(f, t, rank)
	case pod == nil:
		wait, _ := l.Delay(t.Account, rank, now)
		b.Phase, b.Why = absent(f, wait, now)
	case pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil:
		b.Phase, b.Why = phaseOf(pod), cmp.Or(lost(replicas.NotReadyNode(t, rank)), t.Pod(rank).StillRunsSentence())
		b.hasProblem = b.Why != ""
		b.Why = cmp.Or(b.Why, before(f, pod, b))
	case podstate.IsOver(pod):
		b.Phase, b.Why = phaseOf(pod), lastFailure(f, t, rank)
	default:
		b.Phase = phaseOf(pod)
		if _, b.Why = replicas.Waiting(pod); b.Why == "its pod is "+b.Phase { // which is told by the phase
			b.Why = before(f, pod, b)
		}
		if warned, event := f.Warning(); warned == pod {
			b.Why = Warned(event)
		}
	}
	return b
}

// absent returns what there is to say of a replica without a pod.
func absent(f *jobs.Family, wait time.Duration, now time.Time) (phase, why string) {
	s := &f.GenericJob.Status
	switch {
	case s.CompletionTime != nil:
		return string(v1beta1.ReplicaDeleted), ""
	case f.GenericJob.Spec.RunMode.Pauses():
		return string(v1beta1.JobPaused), ""
	case wait > 0:
		return string(v1beta1.ReplicaCreating), "starts again at " + now.Add(wait).UTC().Format(time.TimeOnly) + " UTC"
	default:
		return string(v1beta1.ReplicaCreating), ""
	}
}

// before says why a replica was started over.
func before(f *jobs.Family, pod *corev1.Pod, b Branch) string {
	switch failure := failureOf(f, pod.Name); {
	case failure != nil:
		return "before: " + Describe(*failure)
	case b.Uncounted == 1:
		return "started over before, which no limit counts"
	case b.Uncounted > 1:
		return fmt.Sprintf("started over before, which no limit counts (%d)", b.Uncounted)
	default:
		return ""
	}
}

// lastFailure returns how a replica that has failed did so.
func lastFailure(f *jobs.Family, t *roster.Type, rank int) string {
	if pod := t.Pods[rank]; pod != nil && pod.Status.Phase == corev1.PodFailed {
		return Describe(t.Pod(rank).AtOwnEnd().Failure())
	}
	if failure := failureOf(f, spec.PodName(f.GenericJob, t.Type, rank)); failure != nil {
		return Describe(*failure)
	}
	return ""
}

// failureOf returns the last failure of a pod that the status knows; nil without one.
func failureOf(f *jobs.Family, pod string) *v1beta1.ReplicaFailure {
	for i := len(f.GenericJob.Status.Failures) - 1; i >= 0; i-- {
		if failure := &f.GenericJob.Status.Failures[i]; failure.Pod == pod {
			return failure
		}
	}
	return nil
}

// phaseOf returns the phase of a pod as kubectl shows it.
func phaseOf(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil && !podstate.IsOver(pod) {
		return "Terminating"
	}
	return cmp.Or(string(pod.Status.Phase), string(corev1.PodPending))
}

// Package list shows jobs in a table: where each is, how far it has come, and what went wrong last. All of it is pure.
package list

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
)

// Row is a job.
type Row struct {
	Namespace string `json:"namespace"`
	// Name is how commands call it, as in pj/mnist.
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Phase is that of its status; empty if the operator has not seen it.
	Phase v1beta1.JobPhase `json:"phase,omitempty"`
	// Running is how many unfinished replicas run, as in 3/4. Of a job that is over it is how many were left, as in "2 left".
	Running string `json:"running,omitempty"`
	// Restarts are those that a limit counts; Disruptions are replicas that something outside the job ended; Excepted are restarts excepted by rules.
	Restarts    int32 `json:"restarts"`
	Disruptions int32 `json:"disruptions"`
	Excepted    int32 `json:"excepted"`
	// Step and Loss are the last that the code reported.
	Step *int64 `json:"step,omitempty"`
	// Early says how long before the end of a job that is over that was, as in 27s: the operator asks once a minute. It is empty if that hardly matters.
	Early string `json:"early,omitempty"`
	Loss  string `json:"loss,omitempty"`
	// Created, Started and Completed are when it was.
	Created   metav1.Time  `json:"created"`
	Started   *metav1.Time `json:"started,omitempty"`
	Completed *metav1.Time `json:"completed,omitempty"`
	// LastFailure is what keeps a pod from starting that has a node, or else how a replica failed, the last that did.
	LastFailure string `json:"lastFailure,omitempty"`
	// Cause is the kind of the job's first failure, or else of its last one; empty if none failed.
	Cause v1beta1.CauseKind `json:"cause,omitempty"`
	// Labels are those of the job.
	Labels map[string]string `json:"labels,omitempty"`
}

// Of returns the rows of jobs of some phases; of all if none is named.
func Of(families []*jobs.Family, phases []v1beta1.JobPhase) []Row {
	rows := []Row{}
	for _, f := range families {
		if len(phases) > 0 && !slices.Contains(phases, f.Phase()) {
			continue
		}
		s := f.Status()
		row := Row{
			Namespace: f.Job.GetNamespace(), Name: f.Address(), Kind: f.Kind.Kind, Phase: f.Phase(), Running: s.Running,
			Restarts: s.BackoffCount, Disruptions: s.DisruptionCount, Excepted: s.ExceptedCount,
			Created: f.Job.GetCreationTimestamp(), Started: s.StartTime, Completed: s.CompletionTime,
		}
		if s.Progress != nil {
			row.Step, row.Loss, row.Early = s.Progress.Step, s.Progress.Loss, f.ProgressEarly()
		}
		row.LastFailure, row.Cause, row.Labels = lastFailure(f), cause(f), f.Job.GetLabels()
		rows = append(rows, row)
	}
	return rows
}

// waits are reasons of pods for which there is no node yet: nothing has failed.
var waits = []string{corev1.PodReasonUnschedulable, corev1.PodReasonSchedulingGated}

// lastFailure returns what keeps a pod from starting that has a node, or else how the last replica failed that did.
func lastFailure(f *jobs.Family) string {
	if pod, event := f.Warning(); pod != nil {
		brief := *event
		if _, words, ok := strings.Cut(event.Message, " : "); ok { // which volume it is about is told by `why`
			brief.Message = words
		}
		return tree.Warned(&brief)
	}
	c := f.Condition(v1beta1.ConditionReplicaFailure)
	if c.Status == metav1.ConditionTrue && c.Reason != v1beta1.ReasonErrorInPod && !slices.Contains(waits, c.Reason) && !f.IsOver() && !f.Is(v1beta1.ConditionRunning) {
		return c.Message
	}
	if failures := f.Status().Failures; len(failures) > 0 {
		return tree.Describe(failures[len(failures)-1])
	}
	return ""
}

// cause returns the kind of the failure that others followed from, or else of the last one.
func cause(f *jobs.Family) v1beta1.CauseKind {
	s := f.Status()
	switch {
	case s.FirstFailure != nil && s.FirstFailure.Cause != nil:
		return s.FirstFailure.Cause.Kind
	case len(s.Failures) > 0 && s.Failures[len(s.Failures)-1].Cause != nil:
		return s.Failures[len(s.Failures)-1].Cause.Kind
	default:
		return ""
	}
}

// widest is how many characters of a failure a table shows: its last column would go on over the next lines.
const widest = 80

// Table returns a table of rows. With all, it has their namespaces.
func Table(rows []Row, all bool, now time.Time) [][]string {
	head := []string{"NAME", "PHASE", "RUNNING", "RESTARTS", "STEP", "LOSS", "AGE", "DURATION", "LAST FAILURE"}
	if all {
		head = append([]string{"NAMESPACE"}, head...)
	}
	table := [][]string{head}
	for _, r := range rows {
		row := []string{r.Name, cmp.Or(string(r.Phase), "Unseen"), cmp.Or(r.Running, "-"), fmt.Sprint(r.Restarts), cmp.Or(r.Reached(), "-"), cmp.Or(r.Loss, "-"),
			duration.HumanDuration(now.Sub(r.Created.Time)), r.Took(now), cmp.Or(cut(r.LastFailure), "-")}
		if all {
			row = append([]string{r.Namespace}, row...)
		}
		table = append(table, row)
	}
	return table
}

// Reached returns the step, and how early that was reported; "" if there is none.
func (r Row) Reached() string {
	switch {
	case r.Step == nil:
		return ""
	case r.Early != "":
		return fmt.Sprintf("%d (%s before the end)", *r.Step, r.Early)
	default:
		return fmt.Sprint(*r.Step)
	}
}

// Took returns how long the job has run, pauses included.
func (r Row) Took(now time.Time) string {
	switch {
	case r.Started == nil:
		return "-"
	case r.Completed != nil:
		return duration.HumanDuration(r.Completed.Sub(r.Started.Time))
	default:
		return duration.HumanDuration(now.Sub(r.Started.Time))
	}
}

func cut(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > widest {
		return string(runes[:widest-1]) + "…"
	}
	return string(runes)
}

// Phases reads the names of phases, in whatever case.
func Phases(names []string) (out []v1beta1.JobPhase, unknown string) {
	known := v1beta1.JobPhases()
	for _, name := range names {
		i := slices.IndexFunc(known, func(p v1beta1.JobPhase) bool { return strings.EqualFold(string(p), name) })
		if i < 0 {
			return nil, name
		}
		out = append(out, known[i])
	}
	return out, ""
}

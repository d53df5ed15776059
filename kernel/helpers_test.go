package kernel_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// plan plans for a job and its pods at a time, and checks what must hold for every Plan.
func plan(t *testing.T, job *v1beta1.GenericJob, now time.Time, pods ...*corev1.Pod) kernel.Decision {
	t.Helper()
	return planWorld(t, kernel.World{Job: job, Pods: pods, Now: now, Settings: kt.Settings})
}

func planWorld(t *testing.T, w kernel.World) kernel.Decision {
	t.Helper()
	job, pods := w.Job.DeepCopy(), deepCopies(w.Pods)
	d := kernel.Plan(w)
	require.Equal(t, job, w.Job, "Plan changed the job")
	require.Equal(t, pods, w.Pods, "Plan changed a pod")

	shuffled := w
	shuffled.Pods = slices.Clone(w.Pods)
	slices.Reverse(shuffled.Pods)
	require.Equal(t, d, kernel.Plan(shuffled), "the order of the pods changes the decision")

	trimmed := w
	trimmed.Pods = deepCopies(w.Pods)
	for _, pod := range trimmed.Pods {
		podstate.Trim(podstate.Trim(pod)) // as the first list of a cache does
	}
	e := kernel.Plan(trimmed)
	require.Equal(t, d.Status, e.Status, "a trimmed pod changes the status")
	require.Equal(t, lines(d.Actions), lines(e.Actions), "a trimmed pod changes the actions")
	require.Equal(t, d.Events, e.Events, "a trimmed pod changes the events")
	require.Equal(t, d.RequeueAfter, e.RequeueAfter, "a trimmed pod changes the time of the next reconcile")
	return d
}

func deepCopies(pods []*corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range pods {
		out = append(out, pod.DeepCopy())
	}
	return out
}

// lines prints actions.
func lines(actions []kernel.Action) []string {
	out := []string{}
	for _, a := range actions {
		out = append(out, a.String())
	}
	return out
}

// did prints actions without their reasons, as "CreatePod worker-0@1" and "DeletePod worker-0".
func did(d kernel.Decision) []string {
	out := []string{}
	for _, a := range d.Actions {
		switch {
		case a.Pod != nil:
			out = append(out, string(a.Verb)+" "+a.Pod.Labels[v1beta1.LabelReplicaType]+"-"+a.Pod.Labels[v1beta1.LabelReplicaRank])
		case a.Verb == kernel.CreatePod:
			out = append(out, string(a.Verb)+" "+a.Type+"-"+strconv.Itoa(a.Rank)+"@"+strconv.Itoa(a.Attempt))
		default:
			out = append(out, string(a.Verb))
		}
	}
	return out
}

func condition(s v1beta1.GenericJobStatus, t v1beta1.JobConditionType) v1beta1.JobCondition {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c
		}
	}
	return v1beta1.JobCondition{}
}

// ledger is the ledger of one type.
func ledger(s v1beta1.GenericJobStatus, replicaType string) v1beta1.TaskLedger {
	for _, l := range s.Ledger {
		if l.Type == replicaType {
			return l
		}
	}
	return v1beta1.TaskLedger{}
}

// after is the job with the status that was decided.
func after(job *v1beta1.GenericJob, d kernel.Decision) *v1beta1.GenericJob {
	job = job.DeepCopy()
	job.Status = d.Status
	return job
}

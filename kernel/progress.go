package kernel

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// ProgressInterval is how often a replica is asked for its progress, and how often at most that is written. A job that has told none is asked after
// firstProgressInterval: its code may start over within a minute, again and again. If it has run for firstProgressWithin and told none, it may never.
const (
	ProgressInterval      = time.Minute
	firstProgressInterval = 10 * time.Second
	firstProgressWithin   = 10 * time.Minute
)

// AskInterval is how long after a question for its progress a job is asked again.
func AskInterval(job *v1beta1.GenericJob, now time.Time) time.Duration {
	if job.Status.Progress == nil && now.Sub(ranSince(job)) < firstProgressWithin {
		return firstProgressInterval
	}
	return ProgressInterval
}

// ranSince is when the job's replicas last began to run, so far as its status says. Its start may be hours before: pods wait for nodes and images.
func ranSince(job *v1beta1.GenericJob) (since time.Time) {
	if t := job.Status.StartTime; t != nil {
		since = t.Time
	}
	if c := status.Condition(job.Status.Conditions, v1beta1.ConditionRunning); c != nil && c.Status == metav1.ConditionTrue && c.LastTransitionTime.After(since) {
		since = c.LastTransitionTime.Time
	}
	return since
}

// ProgressPod is the pod that is to be asked for the progress of its job: that of the lowest replica that runs. Where the last rank prints, it is
// the highest replica's. It is nil if the job's code tells no progress, or the time has not come.
func ProgressPod(job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) *corev1.Pod {
	line := spec.Progress(&job.Spec)
	if line == nil || job.Status.CompletionTime != nil || barrier.Waits(job) || now.Before(nextProgress(job, now)) {
		return nil
	}
	pods = barrier.Askable(job, pods)
	for i := range job.Spec.ReplicaSpecs {
		r := &job.Spec.ReplicaSpecs[i]
		if line.Last {
			r = &job.Spec.ReplicaSpecs[len(job.Spec.ReplicaSpecs)-1-i]
		}
		if r.Auxiliary || spec.NotWrapped(r) != "" {
			continue
		}
		if running := runningPods(pods, r.Type); len(running) > 0 {
			if line.Last {
				return running[len(running)-1]
			}
			return running[0]
		}
	}
	return nil
}

// runningPods are the pods of a type that run, by rank.
func runningPods(pods []*corev1.Pod, replicaType string) (running []*corev1.Pod) {
	for _, pod := range pods {
		if pod.Labels[v1beta1.LabelReplicaType] == replicaType && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running = append(running, pod)
		}
	}
	slices.SortFunc(running, func(a, b *corev1.Pod) int {
		return cmp.Compare(ending.Number(a, v1beta1.LabelReplicaRank), ending.Number(b, v1beta1.LabelReplicaRank))
	})
	return running
}

// nextProgress is when progress may be written again. The first time comes when the code has had time to begin.
func nextProgress(job *v1beta1.GenericJob, now time.Time) time.Time {
	last := job.Status.StartTime
	if p := job.Status.Progress; p != nil {
		last = &p.Time
	}
	if last == nil || last.After(now) { // the clock was set back
		return now
	}
	return last.Add(AskInterval(job, now))
}

// progress is what is new of a job's progress, nil if nothing is, and when to ask again.
func progress(w World, replicas *roster.Roster, v verdict.Verdict) (*v1beta1.Progress, time.Duration) {
	if v.Course != verdict.Run || spec.Progress(&w.Job.Spec) == nil || !anyRuns(replicas) {
		return nil, 0
	}
	step, loss := w.ProgressReport.Progress()
	if before := w.Job.Status.Progress; before != nil && loss == before.Loss && (step == nil) == (before.Step == nil) && (step == nil || *step == *before.Step) {
		return nil, ProgressInterval
	}
	if wait := nextProgress(w.Job, w.Now).Sub(w.Now); wait > 0 {
		return nil, wait
	}
	if step == nil && loss == "" {
		return nil, AskInterval(w.Job, w.Now)
	}
	return &v1beta1.Progress{Step: step, Loss: loss, Time: metav1.NewTime(w.Now)}, ProgressInterval
}

func anyRuns(replicas *roster.Roster) bool {
	for t, rank := range replicas.Replicas() {
		if pod := t.Pods[rank]; pod != nil && pod.Status.Phase == corev1.PodRunning {
			return true
		}
	}
	return false
}

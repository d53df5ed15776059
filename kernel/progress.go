package kernel

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// ProgressInterval is how often a replica is asked for its progress, and how often at most that is written.
//
// A job that has told none yet is asked every firstProgressInterval, because its code may fail and start over within a minute, again and again. If it
// has told none after firstProgressWithin, it probably never will, and is asked every ProgressInterval.
const (
	ProgressInterval      = time.Minute
	firstProgressInterval = 10 * time.Second
	firstProgressWithin   = 10 * time.Minute
)

// AskInterval returns how long after a question for its progress a job is asked again.
func AskInterval(job *v1beta1.GenericJob, now time.Time) time.Duration {
	if job.Status.Progress == nil && now.Sub(ranSince(job)) < firstProgressWithin {
		return firstProgressInterval
	}
	return ProgressInterval
}

// ranSince returns when the job's replicas last began to run, as far as its status says. The job may have started hours before, because pods wait for
// nodes and images.
func ranSince(job *v1beta1.GenericJob) (since time.Time) {
	if t := job.Status.StartTime; t != nil {
		since = t.Time
	}
	if c := status.Condition(job.Status.Conditions, v1beta1.ConditionRunning); c != nil && c.Status == metav1.ConditionTrue && c.LastTransitionTime.After(since) {
		since = c.LastTransitionTime.Time
	}
	return since
}

// ProgressPod returns the pod to ask for the progress of its job; nil if the code tells no progress, or the time has not come. It is the pod of the
// lowest replica that runs, or of the highest if the last rank prints the progress.
func ProgressPod(job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) *corev1.Pod {
	line := spec.Progress(&job.Spec)
	if line == nil || job.Status.CompletionTime != nil || barrier.IsClosed(job) || now.Before(nextProgress(job, now)) {
		return nil
	}
	return reportingPod(job, line, pods)
}

// reportingPod returns the running pod of the lowest replica whose code a wrapper runs, or of the highest such replica; nil if none runs.
func reportingPod(job *v1beta1.GenericJob, line *spec.ProgressLine, pods []*corev1.Pod) *corev1.Pod {
	pods = barrier.Reachable(job, pods)
	for i := range job.Spec.ReplicaSpecs {
		r := &job.Spec.ReplicaSpecs[i]
		if line.Last {
			r = &job.Spec.ReplicaSpecs[len(job.Spec.ReplicaSpecs)-1-i]
		}
		if r.Auxiliary || spec.WhyNoWrapper(r) != "" {
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

// runningPods returns the running pods of a type, by rank.
func runningPods(pods []*corev1.Pod, replicaType string) (running []*corev1.Pod) {
	for _, pod := range pods {
		if pod.Labels[v1beta1.LabelReplicaType] == replicaType && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running = append(running, pod)
		}
	}
	slices.SortFunc(running, func(a, b *corev1.Pod) int {
		return cmp.Compare(podstate.Number(a, v1beta1.LabelReplicaRank), podstate.Number(b, v1beta1.LabelReplicaRank))
	})
	return running
}

// nextProgress returns when progress may be written again. The first time is an interval after the start, so that the code has had time to begin.
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

// progress returns the job's progress if it is new, else nil, and when to ask again.
func progress(w World, replicas *roster.Roster, v verdict.Verdict) (*v1beta1.Progress, time.Duration) {
	if v.Course != verdict.Run || spec.Progress(&w.Job.Spec) == nil || !anyRuns(replicas) {
		return nil, 0
	}
	step, codeLoss := w.ProgressReport.Progress()
	if before := w.Job.Status.Progress; before != nil && codeLoss == before.Loss && (step == nil) == (before.Step == nil) && (step == nil || *step == *before.Step) {
		return nil, ProgressInterval
	}
	if wait := nextProgress(w.Job, w.Now).Sub(w.Now); wait > 0 {
		return nil, wait
	}
	if step == nil && codeLoss == "" {
		return nil, AskInterval(w.Job, w.Now)
	}
	return &v1beta1.Progress{Step: step, Loss: codeLoss, Time: metav1.NewTime(w.Now)}, ProgressInterval
}

func anyRuns(replicas *roster.Roster) bool {
	for t, rank := range replicas.Replicas() {
		if pod := t.Pods[rank]; pod != nil && pod.Status.Phase == corev1.PodRunning {
			return true
		}
	}
	return false
}

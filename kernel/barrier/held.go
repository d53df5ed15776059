package barrier

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Ends that are held. A kubelet delays the next start of a container that has failed twice within ten minutes. Where all replicas restart together,
// a wrapper therefore stays when its code fails, if its container was started again lately. The operator asks such pods. The operator takes what
// they report for an end of the container, for the wrapper ends, too, if no order comes. A held end is counted once: it is known by its attempt, and
// when it has been counted the job is in a later one.

const (
	// holdInterval is how long to wait at least until pods are asked again, and holdEach how much longer for each of them. But an end that
	// is held must be heard.
	holdInterval        = time.Second
	holdEach            = 5 * time.Millisecond
	longestHoldInterval = inplace.Hold / 4
)

// MayHold are the pods that may hold code which has failed: those in which code was started again lately.
func MayHold(job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) []*corev1.Pod {
	if !holds(job, now) {
		return nil
	}
	return startedOver(Askable(job, pods))
}

// HoldInterval is how often to ask so many pods that may hold an end.
func HoldInterval(pods int) time.Duration {
	return min(longestHoldInterval, max(holdInterval, time.Duration(pods)*holdEach))
}

// holds reports whether wrappers of a job may hold ends, by its status.
func holds(job *v1beta1.GenericJob, now time.Time) bool {
	s := job.Status.InPlace
	return job.Spec.RestartStrategy == v1beta1.RestartInPlace && job.Spec.RestartScope == v1beta1.RestartScopeJob &&
		job.Status.CompletionTime == nil && !Waits(job) && s != nil && s.RestartTime != nil && now.Before(s.RestartTime.Add(inplace.HoldWithin+inplace.Hold))
}

// WithReportedExits returns the pods of a job. Of those that hold an end it returns edited copies, in which the container has ended so.
func WithReportedExits(job *v1beta1.GenericJob, seen []*corev1.Pod, reports map[types.UID]inplace.Report) []*corev1.Pod {
	if len(reports) == 0 {
		return seen
	}
	pods := seen
	for i, pod := range seen {
		report, is := reports[pod.UID]
		if !is || report.Held == nil || report.Pod != string(pod.UID) {
			continue
		}
		m := ending.NumbersOf(pod)
		r := spec.OfType(job, pod.Labels[v1beta1.LabelReplicaType])
		if r == nil || m.Order == nil || report.Held.Attempt != m.Order.Attempt || m.Order.Go < m.Order.Attempt || !ending.CanGoOn(pod) {
			continue
		}
		if &pods[0] == &seen[0] {
			pods = slices.Clone(pods)
		}
		pods[i] = ending.Pod{Pod: pod, Template: &r.Template}.Holding(Terminated(report.Held))
	}
	return pods
}

// Terminated returns the end of code whose wrapper stays, as a kubelet would report it.
func Terminated(h *inplace.Held) corev1.ContainerStateTerminated {
	return corev1.ContainerStateTerminated{
		ExitCode: h.Code, Reason: "Error", Message: h.Message, StartedAt: metav1.NewTime(h.Began), FinishedAt: metav1.NewTime(h.Ended),
	}
}

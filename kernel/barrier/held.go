package barrier

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Held ends. A kubelet delays the next start of a container that has failed twice within ten minutes, which would hold up all replicas that restart
// together. So a wrapper does not exit when its code fails, if its container was started again shortly before. It stays, and waits for an order: it
// holds the end. The operator asks such pods, and treats a held end as an end of the container. (If no order comes, the wrapper does exit.) A held end
// is counted once, because it names its attempt. Once it has been counted, the job is in a later attempt.

const (
	// Pods that may hold an end are asked every holdInterval, plus holdEach for each of these pods. longestHoldInterval is the maximum: the
	// operator must hear of an end while the wrapper still holds it.
	holdInterval        = time.Second
	holdEach            = 5 * time.Millisecond
	longestHoldInterval = inplace.Hold / 4
)

// MayHold returns the pods whose wrappers may hold an end: their code was started again shortly before.
func MayHold(job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) []*corev1.Pod {
	if !holds(job, now) {
		return nil
	}
	return startedOver(Reachable(job, pods))
}

// HoldInterval returns how often to ask this number of pods for held ends.
func HoldInterval(pods int) time.Duration {
	return min(longestHoldInterval, max(holdInterval, time.Duration(pods)*holdEach))
}

// holds reports, by the job's status, whether its wrappers may hold ends.
func holds(job *v1beta1.GenericJob, now time.Time) bool {
	s := job.Status.InPlace
	return job.Spec.RestartStrategy == v1beta1.RestartInPlace && job.Spec.RestartScope == v1beta1.RestartScopeJob &&
		job.Status.CompletionTime == nil && !IsClosed(job) && s != nil && s.RestartTime != nil && now.Before(s.RestartTime.Add(inplace.HoldWithin+inplace.Hold))
}

// WithHeldEnds returns the pods of a job. A pod whose wrapper holds an end is replaced by a copy in which the container has ended that way.
func WithHeldEnds(job *v1beta1.GenericJob, seen []*corev1.Pod, reports map[types.UID]inplace.Report) []*corev1.Pod {
	if len(reports) == 0 {
		return seen
	}
	pods := seen
	for i, pod := range seen {
		report, ok := reports[pod.UID]
		if !ok || report.Held == nil || report.Pod != string(pod.UID) {
			continue
		}
		numbers := podstate.NumbersOf(pod)
		r := spec.OfType(job, pod.Labels[v1beta1.LabelReplicaType])
		if r == nil || numbers.Order == nil || report.Held.Attempt != numbers.Order.Attempt || numbers.Order.Go < numbers.Order.Attempt || !podstate.CanGoOn(pod) {
			continue
		}
		if &pods[0] == &seen[0] {
			pods = slices.Clone(pods)
		}
		pods[i] = podstate.Pod{Pod: pod, Template: &r.Template}.WithEnd(report.Held)
	}
	return pods
}

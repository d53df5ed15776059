package logs

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Failure is the failure of a replica.
type Failure struct {
	v1beta1.ReplicaFailure
	// Kept is the pod that failed; nil if it is gone.
	Kept *corev1.Pod
}

// First returns the earliest failure of a job of those that its status and its pods still tell; nil if none has failed.
func First(f *jobs.Family) *Failure {
	var all []Failure
	for _, pod := range f.Pods {
		if pod.Status.Phase == corev1.PodFailed && pod.DeletionTimestamp == nil {
			all = append(all, Failure{podstate.Pod{Pod: pod, Template: templateOf(f, pod)}.AtOwnEnd().Failure(), pod})
		}
	}
	for _, failure := range f.Status().Failures {
		if !slices.ContainsFunc(all, func(have Failure) bool {
			return have.Kept != nil && have.Kept.Name == failure.Pod && have.Time.Equal(failure.Time)
		}) {
			all = append(all, Failure{failure, nil})
		}
	}
	if len(all) == 0 {
		return nil
	}
	if reported := f.Status().FirstFailure; reported != nil { // the operator knows what followed from what
		return &Failure{reported.ReplicaFailure, kept(all, reported)}
	}
	first := slices.MinFunc(all, func(a, b Failure) int {
		if c := cmp.Compare(unix(a), unix(b)); c != 0 {
			return c
		}
		return cmp.Compare(a.Pod, b.Pod)
	})
	return &first
}

// kept returns the pod that failed so; nil if it is gone.
func kept(all []Failure, reported *v1beta1.FirstFailure) *corev1.Pod {
	for _, failure := range all {
		if failure.Pod == reported.Pod && failure.Time.Equal(reported.Time) {
			return failure.Kept
		}
	}
	return nil
}

// unix returns when a replica failed. Times have whole seconds.
func unix(f Failure) int64 {
	if f.Time == nil {
		return 1<<63 - 1
	}
	return f.Time.Unix()
}

func templateOf(f *jobs.Family, pod *corev1.Pod) *corev1.PodTemplateSpec {
	replicaType, _ := jobs.Rank(pod)
	for i := range f.GenericJob.Spec.ReplicaSpecs {
		if r := &f.GenericJob.Spec.ReplicaSpecs[i]; r.Type == replicaType {
			return &r.Template
		}
	}
	return &corev1.PodTemplateSpec{Spec: pod.Spec}
}

// Replica returns what the pod's replica is called; the name of the pod if the job names none so.
func (f Failure) Replica(of *jobs.Family) string {
	if replicaType, rank, ok := jobs.ReplicaOf(of.GenericJob, f.Pod); ok {
		return fmt.Sprintf("%s-%d", replicaType, rank)
	}
	return f.Pod
}

// Head says who failed, when and how.
func (f Failure) Head(of *jobs.Family, described string) string {
	at := ""
	if f.Time != nil {
		at = " at " + f.Time.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return fmt.Sprintf("%s failed first,%s: %s (Pod %s)", f.Replica(of), at, described, f.Pod)
}

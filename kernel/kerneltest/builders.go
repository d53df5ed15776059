package kerneltest

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// Start is when tests begin.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// At is the time so long after Start.
func At(d time.Duration) time.Time { return Start.Add(d) }

// Settings are the operator's default settings.
var Settings = kernel.Settings{ForceReplaceAfter: 5 * time.Minute, WrapperImage: "operator"}

// JobOption changes a job that is being built.
type JobOption func(*v1beta1.GenericJob)

// Job builds a job named "job" that has not been looked at yet.
func Job(options ...JobOption) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{
		Name: "job", Namespace: "ns", UID: "job-uid", Generation: 1, ResourceVersion: "1", CreationTimestamp: metav1.NewTime(Start),
	}}
	for _, option := range options {
		option(job)
	}
	return job
}

// Type gives the job replicas of a type.
func Type(replicaType string, replicas int32, options ...func(*v1beta1.ReplicaSpec)) JobOption {
	return func(job *v1beta1.GenericJob) {
		spec := v1beta1.ReplicaSpec{Type: replicaType, Replicas: &replicas}
		spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
		for _, option := range options {
			option(&spec)
		}
		job.Spec.ReplicaSpecs = append(job.Spec.ReplicaSpecs, spec)
	}
}

// Policy sets the restart policy of a type; a negative limit leaves the limit out.
func Policy(kind v1beta1.RestartPolicyType, limit int32, codes ...int32) func(*v1beta1.ReplicaSpec) {
	return func(r *v1beta1.ReplicaSpec) {
		r.RestartPolicy = &v1beta1.RestartPolicy{Policy: kind, ExitCodes: codes}
		if limit >= 0 {
			r.RestartPolicy.Limit = &limit
		}
	}
}

// Template changes the pod template of a type.
func Template(edit func(*corev1.PodTemplateSpec)) func(*v1beta1.ReplicaSpec) {
	return func(r *v1beta1.ReplicaSpec) { edit(&r.Template) }
}

// Spec changes the spec of the job.
func Spec(edit func(*v1beta1.GenericJobSpec)) JobOption {
	return func(job *v1beta1.GenericJob) { edit(&job.Spec) }
}

// BackoffLimit sets the limit that all replicas share.
func BackoffLimit(n int32) JobOption {
	return func(job *v1beta1.GenericJob) { job.Spec.BackoffLimit = &n }
}

// JobScope has one restart replace the whole job.
func JobScope(job *v1beta1.GenericJob) { job.Spec.RestartScope = v1beta1.RestartScopeJob }

// InPlace has replicas restart in their pods, which need a command for that.
func InPlace(job *v1beta1.GenericJob) {
	job.Spec.RestartStrategy = v1beta1.RestartInPlace
	for i := range job.Spec.ReplicaSpecs {
		job.Spec.ReplicaSpecs[i].Template.Spec.Containers[0].Command = []string{"train"}
	}
}

// WithService gives the job a Service with these ports.
func WithService(ports ...corev1.ServicePort) JobOption {
	return func(job *v1beta1.GenericJob) { job.Spec.Service = &v1beta1.ServiceOption{Ports: ports} }
}

// PauseNow switches pause on or off.
func PauseNow(on bool, resume ...v1beta1.ResumeSpec) JobOption {
	return func(job *v1beta1.GenericJob) {
		if job.Spec.RunMode == nil {
			job.Spec.RunMode = &v1beta1.RunMode{}
		}
		job.Spec.RunMode.Pause = &v1beta1.PauseMode{Enabled: on, ResumeSpecs: resume}
	}
}

// DebugNow switches debug mode on or off.
func DebugNow(on bool, sets ...v1beta1.ReplicaDebugSet) JobOption {
	return func(job *v1beta1.GenericJob) {
		if job.Spec.RunMode == nil {
			job.Spec.RunMode = &v1beta1.RunMode{}
		}
		job.Spec.RunMode.Debug = &v1beta1.DebugMode{Enabled: on, ReplicaSpecs: sets}
	}
}

// Begun carries the job through its first reconcile, in which the operator accepts it and begins to create its pods. Its first
// status is written without any wait.
func Begun(job *v1beta1.GenericJob) {
	d := kernel.Plan(kernel.World{Job: job, Now: Start, Settings: Settings})
	if d.Postponed != nil {
		d = *d.Postponed
	}
	job.Status = d.Status
}

// Edited is a copy of the job with another spec, as a user's edit makes it.
func Edited(job *v1beta1.GenericJob, options ...JobOption) *v1beta1.GenericJob {
	job = job.DeepCopy()
	job.Generation++
	for _, option := range options {
		option(job)
	}
	return job
}

// Replicas sets the number of replicas of a type that the job has already.
func Replicas(replicaType string, n int32) JobOption {
	return func(job *v1beta1.GenericJob) {
		for i := range job.Spec.ReplicaSpecs {
			if job.Spec.ReplicaSpecs[i].Type == replicaType {
				job.Spec.ReplicaSpecs[i].Replicas = &n
			}
		}
	}
}

// PodOption changes a pod that is being built.
type PodOption func(*corev1.Pod)

// Pod builds the pod that the operator would make now for a replica of the job, waiting to be scheduled.
func Pod(job *v1beta1.GenericJob, replicaType string, rank int, options ...PodOption) *corev1.Pod {
	attempt := int(job.Status.JobAttempt + recordOf(&job.Status, replicaType, int32(rank)).Attempt)
	action := kernel.Action{Verb: kernel.CreatePod, Type: replicaType, Rank: rank, Attempt: attempt}
	pod := kernel.NewPodBuilder(job, Settings).Pod(action)
	pod.UID = types.UID(fmt.Sprintf("uid-%s-%d-%d", replicaType, rank, attempt))
	pod.ResourceVersion = "1"
	pod.CreationTimestamp = metav1.NewTime(Start)
	pod.Status.Phase = corev1.PodPending
	for _, option := range options {
		option(pod)
	}
	return pod
}

// Pods builds the pods of all replicas of a type, all in the same state.
func Pods(job *v1beta1.GenericJob, replicaType string, n int, options ...PodOption) []*corev1.Pod {
	var pods []*corev1.Pod
	for rank := range n {
		pods = append(pods, Pod(job, replicaType, rank, options...))
	}
	return pods
}

// Scheduled puts the pod on a node.
func Scheduled(p *corev1.Pod) { p.Spec.NodeName = "node" }

// Running has the pod's code run.
func Running(p *corev1.Pod) {
	Scheduled(p)
	now := metav1.NewTime(Start)
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &now
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
}

// Exited has the pod's code exit with a code.
func Exited(code int32) PodOption { return ExitedAt(code, Start) }

// ExitedAt has the pod's code exit with a code at a time.
func ExitedAt(code int32, at time.Time) PodOption {
	return func(p *corev1.Pod) {
		Running(p)
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, FinishedAt: metav1.NewTime(at),
		}}
	}
}

// StartedAt is when the kubelet took the pod on.
func StartedAt(at time.Time) PodOption {
	return func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: at} }
}

// FailedWithout has the pod fail without any code of its own having ended: the kubelet or the control plane said so.
func FailedWithout(reason string) PodOption {
	return func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason }
}

// Disrupted makes the pod the target of a disruption.
func Disrupted(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI",
	})
}

// Deleted is a request at a time to delete the pod with a grace period.
func Deleted(asked time.Time, grace time.Duration) PodOption {
	return func(p *corev1.Pod) {
		seconds := int64(grace / time.Second)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: asked.Add(grace)}, &seconds
	}
}

// Released is a pod without the finalizer.
func Released(p *corev1.Pod) {
	p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == v1beta1.FinalizerTracking })
}

// Stopped marks the pod as one that the operator has stopped.
func Stopped(p *corev1.Pod) { p.Annotations = map[string]string{v1beta1.AnnotationStopped: "stopped"} }

// Marked marks the pod as one that the operator saw unfinished while somebody was deleting it.
func Marked(p *corev1.Pod) {
	p.Annotations = map[string]string{v1beta1.AnnotationDisrupted: "disrupted"}
}

// recordOf is what the ledger records of a replica.
func recordOf(s *v1beta1.GenericJobStatus, replicaType string, rank int32) v1beta1.RankRecord {
	for _, l := range s.Ledger {
		for _, r := range l.Replicas {
			if l.Type == replicaType && r.Rank == rank {
				return r
			}
		}
	}
	return v1beta1.RankRecord{}
}

package gitops

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/status"
)

// state is one that a job can be in.
type state struct {
	name string
	// shape changes the spec of the GenericJob before it is created.
	shape func(*v1beta1.GenericJobSpec)
	// happens is what comes after the creation; nil: the operator has not looked at it.
	happens func(*kerneltest.Story)
	// told is what the operator tells beside what its kernel does.
	told func(*kerneltest.Story)
	// refused says why an edit of the job is refused; "" if none is.
	refused string
}

// settled is after when all that waits to be written has been.
const settled = 3 * time.Second

var states = []state{
	{name: "has just been created"},
	{name: "waits in a queue of Kueue's", shape: queued, happens: func(*kerneltest.Story) {}},
	{name: "has an unschedulable pod", happens: unschedulable},
	{name: "has an image that cannot be pulled", happens: unpulled},
	{name: "waits for quota, or is refused by a policy", happens: func(*kerneltest.Story) {}, told: overQuota},
	{name: "runs", happens: runs},
	{name: "has replicas that restart", shape: onFailure, happens: restarts},
	{name: "runs on, for its last edit is refused", happens: runs, refused: "spec.replicaSpecs is immutable unless the job is paused. Until then the job goes on as it was."},
	{name: "is being paused", happens: func(s *kerneltest.Story) { runs(s); s.Edit(time.Minute, "pauses it", kerneltest.PauseNow(true)) }},
	{name: "is paused", happens: func(s *kerneltest.Story) {
		runs(s)
		s.Edit(time.Minute, "pauses it", kerneltest.PauseNow(true)).Kubelet(time.Second)
	}},
	{name: "has succeeded", happens: succeeds},
	{name: "has failed", shape: never, happens: func(s *kerneltest.Story) { runs(s); exit(s, last(s), 1) }},
	{name: "has a status that nobody can read", happens: func(s *kerneltest.Story) {
		runs(s)
		s.Then(time.Minute, "somebody changes the status", func() {
			s.Cluster.Job.Status.Ledger = []v1beta1.TaskLedger{{Type: s.Cluster.Job.Spec.ReplicaSpecs[0].Type, Succeeded: "much"}}
		})
	}},
}

func queued(s *v1beta1.GenericJobSpec) {
	s.Scheduler = &v1beta1.SchedulePolicy{Kueue: &v1beta1.KueueScheduler{QueueName: "night"}}
}

func never(s *v1beta1.GenericJobSpec) { policy(s, v1beta1.RestartPolicy{Policy: v1beta1.RestartNever}) }

func onFailure(s *v1beta1.GenericJobSpec) {
	policy(s, v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure, Limit: new(int32(3))})
}

func policy(s *v1beta1.GenericJobSpec, p v1beta1.RestartPolicy) {
	for i := range s.ReplicaSpecs {
		s.ReplicaSpecs[i].RestartPolicy = &p
	}
}

func unschedulable(s *kerneltest.Story) {
	s.Then(time.Second, "no node takes a pod", func() {
		s.Cluster.Pods[last(s)].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}}
	})
}

func unpulled(s *kerneltest.Story) {
	s.Then(time.Second, "a pod has no image", func() {
		pod := s.Cluster.Pods[last(s)]
		pod.Spec.NodeName = "node"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: `Back-off pulling image "registry.example/absent:dev"`}}}}
	})
}

// overQuota is told as the shell of the operator tells it.
func overQuota(s *kerneltest.Story) {
	clear(s.Cluster.Pods)
	status.Block(&s.Cluster.Job.Status, s.Cluster.Now, v1beta1.ReasonCreateFailed, "The apiserver refuses to create a pod: exceeded quota. The operator keeps trying.")
}

func runs(s *kerneltest.Story) {
	for range 2 { // a type may start after the others
		s.Kubelet(time.Second)
	}
}

func restarts(s *kerneltest.Story) {
	runs(s)
	exit(s, last(s), 137)
}

func succeeds(s *kerneltest.Story) {
	runs(s)
	for _, name := range names(s) {
		exit(s, name, 0)
	}
}

func exit(s *kerneltest.Story, name string, code int32) {
	s.Then(time.Minute, "a replica exits", func() { s.Cluster.Exit(name, code) })
}

func names(s *kerneltest.Story) []string { return slices.Sorted(maps.Keys(s.Cluster.Pods)) }

func last(s *kerneltest.Story) string { return names(s)[len(s.Cluster.Pods)-1] }

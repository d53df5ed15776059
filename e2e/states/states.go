// Package states has the states that a job can be in, for tests which ask other programs what they take a job for. The statuses are the kernel's
// own, and the translators'. Paths are those of a module two folders below the root.
package states

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/status"
)

// State is one that a job can be in.
type State struct {
	Name string
	// shape changes the spec of the GenericJob before it is created.
	shape func(*v1beta1.GenericJobSpec)
	// happens is what comes after the creation, one step after the other; nil: the operator has not looked at it.
	happens []step
	// told is what the operator tells beside what its kernel does.
	told func(*kerneltest.Story)
	// refused says why an edit of the job is refused; "" if none is.
	refused string
}

type step = func(*kerneltest.Story)

// settled is after when all that waits to be written has been.
const settled = 3 * time.Second

// All are in the order of a job's life.
var All = []State{
	{Name: "has just been created"},
	{Name: "waits in a queue of Kueue's", shape: queued, happens: []step{nothing}},
	{Name: "has an unschedulable pod", happens: []step{unschedulable}},
	{Name: "has an image that cannot be pulled", happens: []step{unpulled}},
	{Name: "waits for quota, or is refused by a policy", happens: []step{nothing}, told: overQuota},
	{Name: "runs", happens: []step{runs}},
	{Name: "has replicas that restart", shape: onFailure, happens: []step{runs, restarts}, told: excepted},
	{Name: "runs on, for its last edit is refused", happens: []step{runs}, refused: "spec.replicaSpecs is immutable unless the job is paused. Until then the job goes on as it was."},
	{Name: "is being paused", happens: []step{runs, pauses}},
	{Name: "is paused", happens: []step{runs, pauses, stops}},
	{Name: "has succeeded", happens: []step{runs, succeeds}},
	{Name: "has failed", shape: never, happens: []step{runs, fails}},
	{Name: "has a status that nobody can read", happens: []step{runs, garbles}},
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

// excepted is told as by a rule that did not count a restart.
func excepted(s *kerneltest.Story) { s.Cluster.Job.Status.ExceptedCount = 1 }

func runs(s *kerneltest.Story) {
	for range 2 { // a type may start after the others
		s.Kubelet(time.Second)
	}
}

func nothing(*kerneltest.Story) {}

func restarts(s *kerneltest.Story) { exit(s, last(s), 137) }

func fails(s *kerneltest.Story) { exit(s, last(s), 1) }

func pauses(s *kerneltest.Story) { s.Edit(time.Minute, "pauses it", kerneltest.PauseNow(true)) }

func stops(s *kerneltest.Story) { s.Kubelet(time.Second) }

func garbles(s *kerneltest.Story) {
	s.Then(time.Minute, "somebody changes the status", func() {
		s.Cluster.Job.Status.Ledger = []v1beta1.TaskLedger{{Type: s.Cluster.Job.Spec.ReplicaSpecs[0].Type, Succeeded: "much"}}
	})
}

func succeeds(s *kerneltest.Story) {
	for _, name := range names(s) {
		exit(s, name, 0)
	}
}

func exit(s *kerneltest.Story, name string, code int32) {
	s.Then(time.Minute, "a replica exits", func() { s.Cluster.Exit(name, code) })
}

func names(s *kerneltest.Story) []string { return slices.Sorted(maps.Keys(s.Cluster.Pods)) }

func last(s *kerneltest.Story) string { return names(s)[len(s.Cluster.Pods)-1] }

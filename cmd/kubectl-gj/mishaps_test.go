package main_test

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/kerneltest"
)

// What can happen to pods, as a kubelet and a scheduler tell it.

// lastWords has a replica exit, and the kubelet tell the end of its log.
func lastWords(replicaType string, rank int, code int32, words string) func(*kerneltest.Story) {
	return func(s *kerneltest.Story) {
		name := podOf(s, replicaType, rank)
		s.Cluster.Exit(name, code)
		ended := s.Cluster.Pods[name].Status.ContainerStatuses[0].State.Terminated
		ended.Message, ended.Reason = words, "Error"
	}
}

func unplaced(s *kerneltest.Story) {
	pod := s.Cluster.Pods[podOf(s, "worker", 1)]
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}}
}

// unclaimed has a pod wait for a claim, which is no lack of room.
func unclaimed(s *kerneltest.Story) {
	unplaced(s)
	s.Cluster.Pods[podOf(s, "worker", 1)].Status.Conditions[0].Message = `0/3 nodes are available: persistentvolumeclaim "data" not found. not found`
}

func made(s *kerneltest.Story) {
	pod := s.Cluster.Pods[podOf(s, "worker", 1)]
	pod.Spec.NodeName = "node"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
}

// unmounted returns the family with what the kubelet's events tell of a pod.
func unmounted(f *jobs.Family) *jobs.Family {
	f.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: f.Pods[1].UID}, Reason: "FailedMount",
		Message: `MountVolume.SetUp failed for volume "settings" : configmap "settings" not found`}}
	return f
}

func unstarted(s *kerneltest.Story) {
	lastWords("worker", 1, 128, `unable to start container process: exec: "pyhton": executable file not found in $PATH: unknown`)(s)
	s.Cluster.Pods[podOf(s, "worker", 1)].Status.ContainerStatuses[0].State.Terminated.Reason = "StartError"
}

func unpulled(s *kerneltest.Story) {
	pod := s.Cluster.Pods[podOf(s, "worker", 0)]
	pod.Spec.NodeName = "node"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "ImagePullBackOff", Message: `Back-off pulling image "registry.example/absent:dev"`}}}}
}

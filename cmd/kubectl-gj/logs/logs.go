// Package logs finds and prints the logs of a job's replicas: of all of them, side by side, or of the one that failed first. What
// is chosen is decided purely, here; stream.go reads.
package logs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Choice says whose logs to print.
type Choice struct {
	// Replicas are types, as in worker, or replicas, as in worker-3; none: all.
	Replicas []string
	// Container is the name of a container. Default: that which the template's annotation
	// kubectl.kubernetes.io/default-container names, else the first.
	Container string
	// All takes all containers, init containers too.
	All bool
}

// Source is a container with a log.
type Source struct {
	Pod       *corev1.Pod
	Container string
	// Name is that of the replica, and of the container where there are several.
	Name string
}

// started reports whether the container has begun, so that it has a log.
func (s Source) started() bool {
	status := s.status()
	return status != nil && (status.State.Running != nil || status.State.Terminated != nil)
}

// ended reports whether no more will be logged, unless the container is restarted.
func (s Source) ended() bool {
	status := s.status()
	return status != nil && status.State.Terminated != nil || podstate.IsOver(s.Pod)
}

// begun returns when the container began to run as it does, or did.
func (s Source) begun() time.Time {
	switch state := s.status().State; {
	case state.Running != nil:
		return state.Running.StartedAt.Time
	case state.Terminated != nil:
		return state.Terminated.StartedAt.Time
	default:
		return time.Time{}
	}
}

// restarts returns how often the container was restarted in its pod.
func (s Source) restarts() int32 {
	if status := s.status(); status != nil {
		return status.RestartCount
	}
	return 0
}

func (s Source) status() *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{s.Pod.Status.InitContainerStatuses, s.Pod.Status.ContainerStatuses} {
		if i := slices.IndexFunc(list, func(c corev1.ContainerStatus) bool { return c.Name == s.Container }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// Sources returns the containers of a job that are chosen, by type and rank. It is an error to choose a replica or a container
// that the job does not have.
func (c Choice) Sources(f *jobs.Family) ([]Source, error) {
	if err := c.check(f); err != nil {
		return nil, err
	}
	var out []Source
	for _, pod := range f.Pods {
		if c.has(pod) {
			out = append(out, c.of(pod)...)
		}
	}
	return out, nil
}

// has reports whether the replica of a pod is chosen.
func (c Choice) has(pod *corev1.Pod) bool {
	replicaType, _ := jobs.Rank(pod)
	return len(c.Replicas) == 0 || slices.ContainsFunc(c.Replicas, func(name string) bool {
		return name == replicaType || name == jobs.Replica(pod)
	})
}

// of returns the chosen containers of a pod.
func (c Choice) of(pod *corev1.Pod) (out []Source) {
	switch {
	case c.All:
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			out = append(out, Source{Pod: pod, Container: container.Name, Name: jobs.Replica(pod) + " " + container.Name})
		}
		return out
	case c.Container != "":
		return []Source{{Pod: pod, Container: c.Container, Name: jobs.Replica(pod)}}
	default:
		return []Source{{Pod: pod, Container: Main(pod), Name: jobs.Replica(pod)}}
	}
}

// Main returns the name of the container that matters most in a pod.
func Main(pod *corev1.Pod) string {
	name := pod.Annotations[v1beta1.AnnotationDefaultContainer]
	if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
		return name
	}
	return pod.Spec.Containers[0].Name
}

// check says what is chosen that the job does not have.
func (c Choice) check(f *jobs.Family) error {
	if f.GenericJob == nil {
		return nil
	}
	var containers []string
	for i := range f.GenericJob.Spec.ReplicaSpecs {
		template := &f.GenericJob.Spec.ReplicaSpecs[i].Template.Spec
		for _, container := range slices.Concat(template.InitContainers, template.Containers) {
			containers = append(containers, container.Name)
		}
	}
	for _, pod := range f.Pods { // what admission has added
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			containers = append(containers, container.Name)
		}
	}
	for _, name := range c.Replicas {
		if err := hasReplica(f, name, true); err != nil {
			return err
		}
	}
	if c.Container != "" && !slices.Contains(containers, c.Container) {
		slices.Sort(containers)
		return exit.Usagef("job %s has no container %q: want one of %s", f.Job.GetName(), c.Container, strings.Join(slices.Compact(containers), ", "))
	}
	return nil
}

// HasReplica says what is wrong with the name of a replica, as in worker-3, that a job is to have. As long as there is no GenericJob
// nobody knows; "" is none.
func HasReplica(f *jobs.Family, name string) error {
	if f.GenericJob == nil || name == "" {
		return nil
	}
	return hasReplica(f, name, false)
}

// hasReplica takes the name of a type, too, if types are allowed. It also takes the name of a pod that is there, though its replica was
// scaled away.
func hasReplica(f *jobs.Family, name string, types bool) error {
	var have []string
	for i := range f.GenericJob.Spec.ReplicaSpecs {
		r := &f.GenericJob.Spec.ReplicaSpecs[i]
		n := spec.Kept(f.GenericJob, r)
		text, ok := strings.CutPrefix(name, r.Type+"-")
		rank, err := strconv.Atoi(text)
		if types && name == r.Type || ok && err == nil && rank < n && isRankOf(r.Type, name) {
			return nil
		}
		if have = append(have, r.Type+"-0"); n > 1 {
			have[i] += fmt.Sprintf(" to %s-%d", r.Type, n-1)
		}
	}
	if slices.ContainsFunc(f.Pods, func(pod *corev1.Pod) bool { return jobs.Replica(pod) == name }) {
		return nil
	}
	return exit.Usagef("job %s has no replica %q: it has %s", f.Job.GetName(), name, strings.Join(have, ", "))
}

// isRankOf reports whether a name is a replica's of a type.
func isRankOf(replicaType, name string) bool {
	rank, ok := strings.CutPrefix(name, replicaType+"-")
	return ok && rank != "" && strings.Trim(rank, "0123456789") == ""
}

package code

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/edit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
)

// program is the wrapper's, in the containers that it runs.
var program = path.Join(inplace.Dir, "state", inplace.Binary)

// member is a replica whose code a wrapper runs.
type member struct {
	name      string // as worker-0
	pod       *corev1.Pod
	container string
}

// waitsError says that something may be done later, without anybody who does anything.
type waitsError struct{ error }

// Unwrap returns what happened.
func (e waitsError) Unwrap() error { return e.error }

// membersOf returns the replicas of a job that take part: all that have not finished, and are not auxiliary. Each must run.
func membersOf(f *jobs.Family) (list []member, err error) {
	if err := refusedBy(f); err != nil {
		return nil, err
	}
	counted, err := ledger.Load(f.GenericJob)
	if err != nil {
		return nil, fmt.Errorf("read the status of GenericJob %s: %w", f.GenericJob.Name, err)
	}
	var missing []string
	for i := range f.GenericJob.Spec.ReplicaSpecs {
		r := &f.GenericJob.Spec.ReplicaSpecs[i]
		if r.Auxiliary {
			continue
		}
		a := counted.Account(r.Type)
		for rank := range spec.Kept(f.GenericJob, r) {
			if a != nil && a.HasFinished(rank) {
				continue
			}
			name := fmt.Sprintf("%s-%d", r.Type, rank)
			pod, why := running(f, name)
			if pod == nil {
				missing = append(missing, name+" "+why)
				continue
			}
			container := wrapped(pod)
			if container == "" {
				return nil, noWrapper(f, r)
			}
			list = append(list, member{name, pod, container})
		}
	}
	if len(missing) > 0 {
		return nil, waitsError{fmt.Errorf("%s: %s. Nothing was changed: a new pod has the image's code, so all replicas have to run. Wait with `%s`",
			f.Title(), some(missing), f.Command("wait", "--for=running"))}
	}
	if len(list) == 0 {
		return nil, exit.Failedf("%s has no replica that runs", f.Title())
	}
	return list, nil
}

// refusedBy says why no replica of a job takes part.
func refusedBy(f *jobs.Family) error {
	mode := edit.RunMode(f.Job)
	switch {
	case f.GenericJob == nil:
		return waitsError{fmt.Errorf("%s has no GenericJob yet: wait with `%s`", f.Title(), f.Command("wait", "--for=running"))}
	case f.IsOver():
		return exit.Failedf("%s is over: its phase is %s", f.Title(), f.Phase())
	case mode.Pauses():
		return exit.Usagef("%s is paused, so it has no pods: end the pause first, with `%s`", f.Title(), f.Command("resume", ""))
	case mode.Debugs():
		return exit.Usagef("%s is in debug mode: its pods sleep, and no code runs in them. `kubectl cp` brings files there; `%s` has the job train again, in new pods",
			f.Title(), f.Command("debug", "--off"))
	default:
		return nil
	}
}

// running returns the pod of a replica, if its container runs. Else it says what is the matter.
func running(f *jobs.Family, name string) (pod *corev1.Pod, why string) {
	why = "has no pod"
	for _, p := range f.Pods {
		if jobs.Replica(p) != name {
			continue
		}
		container := mainOf(p)
		i := slices.IndexFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name == container })
		switch {
		case p.DeletionTimestamp != nil:
			why = "has a pod that is being deleted"
		case p.Status.Phase != corev1.PodRunning:
			why = "has a pod that is " + string(p.Status.Phase)
		case i < 0 || p.Status.ContainerStatuses[i].State.Running == nil:
			why = "has a container that is being started again"
		default:
			return p, ""
		}
	}
	return nil, why
}

// mainOf returns the container whose code a wrapper runs, or else the first.
func mainOf(pod *corev1.Pod) string {
	if name := wrapped(pod); name != "" {
		return name
	}
	return pod.Spec.Containers[0].Name
}

// wrapped returns the container of a pod whose code a wrapper runs; "" if there is none.
func wrapped(pod *corev1.Pod) string {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; len(c.Command) > 0 && c.Command[0] == program {
			return c.Name
		}
	}
	return ""
}

// noWrapper says why the pods of a replica type have no wrapper, and what to do about it.
func noWrapper(f *jobs.Family, r *v1beta1.ReplicaSpec) error {
	field := "spec.runPolicy.restartStrategy"
	switch f.Job.(type) {
	case *v1beta1.GenericJob:
		field = "spec.restartStrategy"
	default:
		if f.Kind.IsKubeflow() {
			return exit.Usagef("%s: a %s has no restart in place, by which code is begun again in its pods: use a PyTorchTrainingJob, a TensorFlowTrainingJob or a GenericJob with restartStrategy: InPlace",
				f.Title(), f.Kind.Kind)
		}
	}
	is := string(f.GenericJob.Spec.RestartStrategy)
	if is != string(v1beta1.RestartInPlace) {
		if is == "" {
			is = "not set, which is Recreate"
		}
		if f.IsDefined() {
			return exit.Usagef("%s: the pods of type %s have no wrapper, which alone can begin code again: restartStrategy of its GenericJob is %s. The TrainingFramework of %s says by which field it becomes InPlace, if by any",
				f.Title(), r.Type, is, f.Kind.Kind)
		}
		return exit.Usagef("%s: the pods of type %s have no wrapper, which alone can begin code again: %s is %s. Set it to InPlace, in a pause (`%s`) or in a new job; or use debug mode (`%s`)",
			f.Title(), r.Type, field, is, f.Command("pause", "--wait"), f.Command("debug", ""))
	}
	if why := spec.WhyTypeNotInPlace(r); why != "" {
		return exit.Usagef("%s: the pods of type %s have no wrapper, which alone can begin code again, though %s is InPlace: %s", f.Title(), r.Type, field, why)
	}
	return exit.Usagef("%s: the pods of type %s have no wrapper, which alone can begin code again, though %s is InPlace: the operator has no image for it. Events FieldIgnored of the job say more",
		f.Title(), r.Type, field)
}

// mostNamed is how many replicas a sentence names.
const mostNamed = 8

// some returns the first of a list, and how many there are more.
func some(list []string) string {
	if more := len(list) - mostNamed; more > 0 {
		return strings.Join(list[:mostNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

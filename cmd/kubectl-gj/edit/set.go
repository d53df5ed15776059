package edit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// MayChange returns why what the replicas run may not be edited now; nil if it may. The apiserver has the same rule, but for Kubeflow's
// kinds: there it asks only whether a pause is wanted, while pods may still run.
func MayChange(f *jobs.Family) error {
	switch phase := f.Phase(); {
	case f.IsOver():
		return exit.Failedf("%s is over: its phase is %s", f.Title(), phase)
	case f.IsDefined():
		return exit.Usagef("where a %s has its containers is known to its TrainingFramework alone: edit the job, in a pause", f.Kind.Kind)
	case phase != "" && phase != v1beta1.JobPaused && f.Status().UnstartedSpec == "":
		return fmt.Errorf("%s is %s, and what its replicas run is edited in a pause alone once code has started: `kubectl gj pause %[3]s -n %[4]s --wait`, this command again, `kubectl gj resume %[3]s -n %[4]s`",
			f.Title(), phase, f.Address(), f.Job.GetNamespace())
	default:
		return nil
	}
}

// Change is what becomes of a container.
type Change struct {
	// Type is the replica type, Container the container's name.
	Type, Container string
	// What is the field, as in "image"; From and To are its values.
	What, From, To string
}

// String returns the change as a line.
func (c Change) String() string {
	return fmt.Sprintf("%s, container %s: %s %s -> %s", c.Type, c.Container, c.What, cmp.Or(c.From, "none"), cmp.Or(c.To, "none"))
}

// Containers says which containers of a job are meant.
type Containers struct {
	// Types are replica types. Default: all.
	Types []string
	// Container is the name of one. Default: the one that trains.
	Container string
}

// place is a container in a job.
type place struct {
	replicaType string
	// path leads to the container, as JSON patches do.
	path      string
	container *corev1.Container
	// same are the operations that make the patch fail where the job is no longer as it was read.
	same []operation
}

// operation is one of a JSON patch.
type operation struct {
	Do    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Image sets the image of containers. There is no patch without a change.
func (c Containers) Image(f *jobs.Family, image string) (client.Patch, []Change, error) {
	return c.each(f, func(at place) (what, from, to string, do []operation) {
		return "image", at.container.Image, image, []operation{{"add", at.path + "/image", image}}
	})
}

// Args sets the arguments of containers, or removes them if there are none.
func (c Containers) Args(f *jobs.Family, args []string) (client.Patch, []Change, error) {
	if names := Types(f.Job); len(names) > 1 && len(c.Types) == 0 {
		return nil, nil, exit.Usagef("job %s has the types %s: say with --type whose arguments these are", f.Job.GetName(), strings.Join(names, ", "))
	}
	return c.each(f, func(at place) (what, from, to string, do []operation) {
		set := operation{"add", at.path + "/args", args}
		if len(args) == 0 {
			set = operation{Do: "remove", Path: at.path + "/args"}
		}
		return "args", listed(at.container.Args), listed(args), []operation{set}
	})
}

func listed(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", args)
}

// each changes one field of each container that is meant, where that is not as wanted.
func (c Containers) each(f *jobs.Family, change func(place) (what, from, to string, do []operation)) (client.Patch, []Change, error) {
	places, err := c.in(f)
	var all []operation
	var changes []Change
	for _, at := range places {
		what, from, to, do := change(at)
		if from == to {
			continue
		}
		changes = append(changes, Change{at.replicaType, at.container.Name, what, from, to})
		all = slices.Concat(all, at.same, do)
	}
	return patchOf(all), changes, err
}

func patchOf(all []operation) client.Patch {
	if len(all) == 0 {
		return nil
	}
	raw, _ := json.Marshal(all) // plain values can be written
	return client.RawPatch(types.JSONPatchType, raw)
}

// in returns the containers of a job that are meant. It is an error if there is none.
func (c Containers) in(f *jobs.Family) (found []place, err error) {
	names := Types(f.Job)
	for _, wanted := range c.Types {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, wanted) }) {
			return nil, exit.Usagef("job %s has no replica type %q: want one of %s", f.Job.GetName(), wanted, strings.Join(names, ", "))
		}
	}
	mains := mainContainers(f)
	for i, name := range names {
		if len(c.Types) > 0 && !slices.ContainsFunc(c.Types, func(wanted string) bool { return strings.EqualFold(name, wanted) }) {
			continue
		}
		template, path, same := templateOf(f, i, name)
		if at, ok := container(template, c.Container, mains[strings.ToLower(name)], template.Annotations[v1beta1.AnnotationDefaultContainer]); ok {
			at.replicaType, at.path = name, path+at.path
			at.same = append(same, operation{"test", at.path + "/name", at.container.Name})
			found = append(found, at)
		}
	}
	if len(found) == 0 {
		return nil, exit.Usagef("job %s has no container %q: `kubectl gj translate -f FILE --all` shows those that it has", f.Job.GetName(), c.Container)
	}
	return found, nil
}

// container returns the one of a template whose name is the first of these that is not empty; the first container where all are.
func container(template *corev1.PodTemplateSpec, names ...string) (at place, is bool) {
	wanted := cmp.Or(names...)
	for _, list := range []struct {
		field      string
		containers []corev1.Container
	}{{"containers", template.Spec.Containers}, {"initContainers", template.Spec.InitContainers}} {
		for i := range list.containers {
			if wanted == "" || list.containers[i].Name == wanted {
				return place{path: fmt.Sprintf("/spec/%s/%d", list.field, i), container: &list.containers[i]}, true
			}
		}
	}
	return place{}, false
}

// mainContainers returns the containers that train, by type in lower case, as the translator of the kind says. It says nothing of a job that
// it refuses.
func mainContainers(f *jobs.Family) map[string]string {
	mains := map[string]string{}
	if f.Kind.Framework == nil {
		return mains
	}
	program, err := f.Kind.Framework.Compile(f.Job)
	if err != nil {
		return mains
	}
	for i := range program.Spec.ReplicaSpecs {
		r := &program.Spec.ReplicaSpecs[i]
		mains[strings.ToLower(r.Type)] = r.Template.Annotations[v1beta1.AnnotationDefaultContainer]
	}
	return mains
}

// templateOf returns the pod template of a replica type, the path that leads to it, and the operations that make sure of that.
func templateOf(f *jobs.Family, at int, name string) (template *corev1.PodTemplateSpec, path string, same []operation) {
	path = fmt.Sprintf("/spec/replicaSpecs/%d", at)
	same = []operation{{"test", path + "/type", name}}
	switch job := f.Job.(type) {
	case *v1beta1.GenericJob:
		template = &job.Spec.ReplicaSpecs[at].Template
	case *v1beta1.PyTorchTrainingJob:
		template = &job.Spec.ReplicaSpecs[at].Template
	case *v1beta1.TensorFlowTrainingJob:
		template = &job.Spec.ReplicaSpecs[at].Template
	case kubeflow.Job:
		field, specs := job.Replicas()
		template, path, same = &specs[name].Template, "/spec/"+field+"/"+name, nil
	}
	return template, path + "/template", same
}

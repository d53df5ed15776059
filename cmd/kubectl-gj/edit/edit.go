// Package edit makes the patches by which a job is paused, resumed, debugged and scaled. All of it is pure. The apiserver has the
// last word: its rules say what may change when.
package edit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// Pause pauses a job, or ends its pause.
func Pause(kind *jobs.Kind, on bool) client.Patch {
	if kind.IsKubeflow() {
		return merge(map[string]any{"runPolicy": map[string]any{"suspend": on}})
	}
	return runMode("pause", map[string]any{}, on)
}

// Debug switches debug mode on or off. Init containers run in it, unless skipInit says otherwise.
func Debug(f *jobs.Family, on, skipInit bool) (client.Patch, error) {
	if f.Kind.IsKubeflow() {
		return nil, exit.Usagef("a %s has no debug mode: want a GenericJob, a PyTorchTrainingJob or a TensorFlowTrainingJob; or `kubectl exec` into a pod that runs", f.Kind.Kind)
	}
	mode := map[string]any{}
	if on && skipInit {
		var specs []v1beta1.ReplicaDebugSet
		of := f.Job
		if f.IsDefined() && f.GenericJob != nil {
			of = f.GenericJob
		}
		for _, replicaType := range Types(of) {
			specs = append(specs, v1beta1.ReplicaDebugSet{Type: replicaType, SkipInitContainer: true})
		}
		mode["replicaSpecs"] = specs
	}
	return runMode("debug", mode, on), nil
}

// RunMode returns the run mode that a job asks for; nil without one.
func RunMode(job client.Object) *v1beta1.RunMode {
	switch j := job.(type) {
	case *v1beta1.GenericJob:
		return j.Spec.RunMode
	case *v1beta1.PyTorchTrainingJob:
		return j.Spec.RunMode
	case *v1beta1.TensorFlowTrainingJob:
		return j.Spec.RunMode
	case *unstructured.Unstructured:
		mode, read := &v1beta1.RunMode{}, runtime.DefaultUnstructuredConverter
		if fields, ok, err := unstructured.NestedMap(j.Object, "spec", "runMode"); ok && err == nil && read.FromUnstructured(fields, mode) == nil {
			return mode
		}
	}
	return nil
}

// runMode sets one of the modes. Enable is the older spelling, which would keep the mode on.
func runMode(name string, mode map[string]any, on bool) client.Patch {
	mode["enabled"], mode["enable"] = on, nil
	return merge(map[string]any{"runMode": map[string]any{name: mode}})
}

func merge(spec map[string]any) client.Patch {
	raw, _ := json.Marshal(map[string]any{"spec": spec}) // maps of plain values can be written
	return client.RawPatch(types.MergePatchType, raw)
}

// Types returns the replica types of a job, in the order of its spec; those of Kubeflow's kinds, which have none, by name.
func Types(job client.Object) (names []string) {
	switch j := job.(type) {
	case *v1beta1.GenericJob:
		for i := range j.Spec.ReplicaSpecs {
			names = append(names, j.Spec.ReplicaSpecs[i].Type)
		}
	case *v1beta1.PyTorchTrainingJob:
		for i := range j.Spec.ReplicaSpecs {
			names = append(names, j.Spec.ReplicaSpecs[i].Type)
		}
	case *v1beta1.TensorFlowTrainingJob:
		for i := range j.Spec.ReplicaSpecs {
			names = append(names, string(j.Spec.ReplicaSpecs[i].Type))
		}
	case kubeflow.Job:
		_, specs := j.Replicas()
		names = slices.Sorted(maps.Keys(specs))
	}
	return names
}

// Scale sets the number of replicas of a type; with type "", that of the only type, or of an elastic job as a whole.
func Scale(job client.Object, replicaType string, n int32) (client.Patch, error) {
	if elastic, ok := job.(*v1beta1.PyTorchTrainingJob); ok && elastic.Spec.Elastic.IsOn() {
		if replicaType != "" {
			return nil, exit.Usagef("job %s is elastic: its types share its replicas by scalingWeight; leave %q out", job.GetName(), replicaType)
		}
		return merge(map[string]any{"elastic": map[string]any{"expectedReplicas": n}}), nil
	}
	names := Types(job)
	if replicaType == "" {
		if len(names) != 1 {
			return nil, exit.Usagef("job %s has the types %s: say which, as in %s=%d", job.GetName(), strings.Join(names, ", "), names[len(names)-1], n)
		}
		replicaType = names[0]
	}
	at := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, replicaType) })
	if at < 0 {
		return nil, exit.Usagef("job %s has no replica type %q: want one of %s", job.GetName(), replicaType, strings.Join(names, ", "))
	}
	switch j := job.(type) {
	case kubeflow.Job:
		field, _ := j.Replicas()
		return merge(map[string]any{field: map[string]any{names[at]: map[string]any{"replicas": n}}}), nil
	case *v1beta1.GenericJob:
		if len(names) == 1 && j.Spec.Replicas != nil {
			return merge(map[string]any{"replicas": n}), nil // it wins over the type's own
		}
	}
	return replicas(at, names[at], n), nil
}

// replicas sets the number of a type's replicas, if that type is still where it was.
func replicas(at int, name string, n int32) client.Patch {
	field := fmt.Sprintf("/spec/replicaSpecs/%d/", at)
	raw, _ := json.Marshal([]map[string]any{ // maps of plain values can be written
		{"op": "test", "path": field + "type", "value": name},
		{"op": "add", "path": field + "replicas", "value": n},
	})
	return client.RawPatch(types.JSONPatchType, raw)
}

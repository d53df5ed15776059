// Package kueue is the job in the words of Kueue. The package makes the Workload by which the job waits in a queue, and reads what that says of its
// admission. The package knows what the job reports there, and what pods get from it. All of it is a reading or a writing of one object. The package
// knows the spec and is told how many replicas are left; it knows neither ledgers nor what pods mean, and decides nothing.
//
// Names and rules are those of kueue.x-k8s.io/v1beta2, as Kueue's own integrations keep them.
//
// Begin with Workload, then Read.
package kueue

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Version is that of Kueue's API.
const Version = "kueue.x-k8s.io/v1beta2"

// labelJobUID is the label by which Kueue knows whose Workload it is.
const labelJobUID = "kueue.x-k8s.io/job-uid"

// Request is what the job asks its queue for, for its replicas of a type.
type Request struct {
	Type string
	// Left is the number of replicas that have not finished.
	Left     int
	Template *corev1.PodTemplateSpec
	// Avoids are the nodes that its pods avoid, the same for all types.
	Avoids []string
}

// Key returns the kind and the name of a job's Workload.
func Key(job *v1beta1.GenericJob) *unstructured.Unstructured {
	w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": Version, "kind": "Workload"}}
	w.SetName("genericjob-" + job.Name + "-" + v1beta1.Hash5(string(job.UID), job.Name))
	w.SetNamespace(job.Namespace)
	return w
}

// Workload returns the Workload that a job needs. Priority is the value of its priority class; nil if it has none, or is there already.
func Workload(job *v1beta1.GenericJob, in v1beta1.KueueScheduler, requests []Request, priority *int32) *unstructured.Unstructured {
	w := Key(job)
	w.SetLabels(map[string]string{labelJobUID: string(job.UID), v1beta1.LabelJobUID: string(job.UID), v1beta1.LabelJobName: job.Name})
	w.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))})
	var sets []any
	members := membersOf(requests)
	for _, p := range requests {
		if p.Left > 0 {
			sets = append(sets, map[string]any{"name": p.Type, "count": int64(p.Left), "template": p.template(),
				"topologyRequest": topologyRequest(p.Template.Annotations, p.Left, members[p.Type])})
		}
	}
	if len(requests) > 0 && len(requests[0].Avoids) > 0 {
		w.SetAnnotations(map[string]string{v1beta1.AnnotationAvoids: strings.Join(requests[0].Avoids, ",")})
	}
	body := map[string]any{"queueName": in.QueueName, "active": true, "podSets": sets}
	if priority != nil {
		body["priority"] = int64(*priority)
	}
	if in.PriorityClass != "" {
		body["priorityClassRef"] = map[string]any{"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": in.PriorityClass}
	}
	w.Object["spec"] = body
	return w
}

// template returns the pod template as a Workload has it: its metadata are labels and annotations alone.
func (p Request) template() map[string]any {
	t := p.Template
	slim := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations}, Spec: *t.Spec.DeepCopy()}
	spec.ExcludeNodes(&slim.Spec, p.Avoids)
	slim.Spec.RestartPolicy = corev1.RestartPolicyNever
	if requests := spec.PodRequests(&slim.Spec); requests != nil {
		slim.Spec.Resources.Requests = requests // versions of Kueue derive different ones from limits, or none
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&slim)
	if err != nil {
		return map[string]any{} // cannot happen: it is a typed object
	}
	return out
}

// Same reports whether a Workload asks for the same as another: the same quota in the same queue, with the same priority class. What it has
// given back makes no difference. What an admin has changed beside that is his.
func Same(have, want *unstructured.Unstructured) bool {
	if stringAt(have, "spec", "queueName") != stringAt(want, "spec", "queueName") ||
		stringAt(have, "spec", "priorityClassRef", "name") != stringAt(want, "spec", "priorityClassRef", "name") {
		return false
	}
	wanted, given := map[string]podSet{}, givenBack(have)
	for _, w := range setsOf(want) {
		wanted[w.name] = w
	}
	for _, h := range setsOf(have) {
		w := wanted[h.name]
		if h.count-given[h.name] != w.count || w.count > 0 && !h.asksLike(w) {
			return false
		}
		delete(wanted, h.name)
	}
	return len(wanted) == 0
}

// Fits reports whether the quota that a Workload asks for is such as replicas need, however many.
func Fits(w *unstructured.Unstructured, requests []Request) bool {
	for _, p := range requests {
		if p.Left > 0 && !sameTemplate(setOf(w, p.Type).template, p.template()) {
			return false
		}
	}
	return true
}

// podSet is one of a Workload's.
type podSet struct {
	name               string
	count              int64
	template, topology map[string]any
}

// asksLike reports whether two sets ask for the same nodes.
func (s podSet) asksLike(o podSet) bool {
	return sameTemplate(s.template, o.template) && sameTopology(s.topology, o.topology)
}

func setsOf(w *unstructured.Unstructured) []podSet {
	list, _, _ := unstructured.NestedSlice(w.Object, "spec", "podSets")
	var out []podSet
	for _, set := range list {
		m, _ := set.(map[string]any)
		var s podSet
		s.name, _ = m["name"].(string)
		s.count, _ = m["count"].(int64)
		s.template, _ = m["template"].(map[string]any)
		s.topology, _ = m["topologyRequest"].(map[string]any)
		out = append(out, s)
	}
	return out
}

// setOf returns the set of a replica type; an empty one if there is none.
func setOf(w *unstructured.Unstructured, replicaType string) podSet {
	for _, s := range setsOf(w) {
		if s.name == replicaType {
			return s
		}
	}
	return podSet{}
}

func stringAt(w *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(w.Object, path...)
	return s
}

// sameTemplate reports whether two templates ask a node for the same. What the apiserver fills in when it stores one is no difference.
func sameTemplate(have, want map[string]any) bool {
	var h, w corev1.PodTemplateSpec
	if runtime.DefaultUnstructuredConverter.FromUnstructured(have, &h) != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(want, &w) != nil {
		return false
	}
	return sameNeeds(&h.Spec, &w.Spec)
}

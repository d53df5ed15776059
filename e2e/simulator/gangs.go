package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/kernel/kueue"
)

// kindPodGroup is what a gang scheduler knows a job by.
const kindPodGroup = "PodGroup"

// protection is what keeps a PodGroup of Kubernetes' own scheduler until the last of its pods is over.
const protection = "scheduling.k8s.io/podgroup-protection"

// schedule places a pod that waits. A gang scheduler does so if as many pods of its group are there as are placed together. It does
// not see pods that are over, nor those that somebody is deleting without a node.
func (l *Life) schedule(p *corev1.Pod) {
	if name := groupOf(p); name != "" {
		group, members := l.api.get(key{kindPodGroup, name}), int64(0)
		for _, other := range l.api.pods() {
			if groupOf(other) == name && !over(other) {
				members++
			}
		}
		if group == nil || members < minimum(group) {
			return
		}
	}
	l.place(p)
}

// groupOf is the name of the PodGroup that a pod is in; "" if it is in none.
func groupOf(p *corev1.Pod) string {
	if g := p.Spec.SchedulingGroup; g != nil {
		return *g.PodGroupName
	}
	return p.Labels["scheduling.x-k8s.io/pod-group"]
}

// isFixed reports whether a PodGroup cannot be changed.
func isFixed(group client.Object) bool {
	return strings.HasPrefix(group.(*unstructured.Unstructured).GetAPIVersion(), "scheduling.k8s.io/")
}

func minimum(group client.Object) int64 {
	path := []string{"spec", "minMember"}
	if isFixed(group) {
		path = []string{"spec", "schedulingPolicy", "gang", "minCount"}
	}
	n, _, _ := unstructured.NestedInt64(group.(*unstructured.Unstructured).Object, path...)
	return n
}

// unprotect lets a PodGroup go that is being deleted and of which no pod is left. It reports whether there was one.
func (a *api) unprotect() bool {
	for _, group := range a.all(kindPodGroup) {
		isIn := func(p *corev1.Pod) bool { return groupOf(p) == group.GetName() && !over(p) }
		if group.GetDeletionTimestamp() != nil && slices.Contains(group.GetFinalizers(), protection) && !slices.ContainsFunc(a.pods(), isIn) {
			a.life.say("PodGroup controller: lets go of %s", keyOf(group))
			a.edit(keyOf(group), func(o client.Object) {
				o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == protection }))
			})
			return true
		}
	}
	return false
}

// protect is what the apiserver adds to a PodGroup of Kubernetes' own scheduler.
func protect(o client.Object) {
	if kindOf(o) == kindPodGroup && isFixed(o) {
		o.SetFinalizers(append(o.GetFinalizers(), protection))
	}
}

// lookAtGroup reads a PodGroup or a Workload from the API: the operator has no cache of them.
func (o *operator) lookAtGroup(ctx context.Context, group *unstructured.Unstructured) error {
	k := keyOf(group)
	if k.kind == "ResourceFlavor" {
		return o.lookAtFlavor(ctx, group)
	}
	return o.look(ctx, "looks at "+k.String(), func() error {
		have := o.life.api.get(k)
		if have == nil || have.(*unstructured.Unstructured).GetAPIVersion() != group.GetAPIVersion() {
			return notFound(k)
		}
		fill(group, have)
		o.life.writer.admitted = kindOf(have) == kindWorkload && kueue.Read(have.(*unstructured.Unstructured)).Admitted
		return nil
	})
}

// lookAtFlavor reads the resource flavor.
func (o *operator) lookAtFlavor(ctx context.Context, into *unstructured.Unstructured) error {
	return o.look(ctx, "looks at ResourceFlavor "+flavor, func() error {
		if o.life.noFlavor {
			return notFound(key{"ResourceFlavor", flavor})
		}
		into.Object["spec"] = map[string]any{"nodeLabels": map[string]any{"pool": flavor}}
		return nil
	})
}

// patchGroup is a merge patch of the spec of a PodGroup.
func (o *operator) patchGroup(ctx context.Context, group *unstructured.Unstructured, raw []byte) error {
	var body struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	k := keyOf(group)
	return o.write(ctx, "patch", "patches "+k.String()+" with "+string(raw), group, func() error {
		have := o.life.api.get(k)
		switch {
		case have == nil:
			return notFound(k)
		case string(have.GetUID()) != body.Metadata.UID:
			return another(k, types.UID(body.Metadata.UID))
		case isFixed(have):
			o.life.truth.violated("a PodGroup that cannot be changed is changed", "%s", raw)
			return apierrors.NewForbidden(resource(k), k.name, errors.New("the policy is immutable"))
		}
		o.life.api.edit(k, func(have client.Object) {
			spec := have.(*unstructured.Unstructured).Object["spec"].(map[string]any)
			maps.Copy(spec, body.Spec)
			if n, ok := spec["minMember"].(float64); ok {
				spec["minMember"] = int64(n)
			}
		})
		return nil
	})
}

// listGroups lists the PodGroups of a job.
func (o *operator) listGroups(ctx context.Context, list *unstructured.UnstructuredList, with *client.ListOptions) error {
	return o.look(ctx, "lists PodGroups", func() error {
		for _, have := range o.life.api.all(kindPodGroup) {
			if isFixed(have) && with.LabelSelector.Matches(labels.Set(have.GetLabels())) {
				list.Items = append(list.Items, *have.(*unstructured.Unstructured).DeepCopy())
			}
		}
		return nil
	})
}

// checkGroups: a job that is over holds nothing back in its queue, once its last pod is over.
func (t *truth) checkGroups() {
	live := func(p *corev1.Pod) bool { return !over(p) }
	for _, group := range t.life.api.all(kindPodGroup) {
		if metav1.GetControllerOf(group) != nil && !slices.ContainsFunc(t.life.api.pods(), live) {
			t.violated("quota is held after the end", "%s", group.GetName())
		}
	}
}

// isKeptByLate reports whether only the protection of a PodGroup keeps it, for a pod of a late create that its job's cleanUpPolicy leaves. The group
// was deleted before that pod came. Its other pods are over, so the pod waits for a node until somebody deletes it or its job.
func (t *truth) isKeptByLate(group client.Object) bool {
	if kindOf(group) != kindPodGroup || !slices.Equal(group.GetFinalizers(), []string{protection}) {
		return false
	}
	return slices.ContainsFunc(t.life.api.pods(), func(p *corev1.Pod) bool {
		job, _, _ := t.of(p)
		isIn := t.late[p.UID] && groupOf(p) == group.GetName() && !over(p) && p.Spec.NodeName == ""
		return isIn && job != nil && job.Status.CompletionTime != nil && t.mayRemain(job, p)
	})
}

// dropGroup is an apiserver that does not know of scheduling groups, and drops that of a new pod.
func (l *Life) dropGroup(p *corev1.Pod) {
	if p.Spec.SchedulingGroup == nil || !l.trouble || l.gate == gateOn || l.gate == gateOffInOne && !l.tape.Chance(2) {
		return
	}
	l.say("an apiserver drops the scheduling group of %s", keyOf(p))
	p.Spec.SchedulingGroup = nil
}

// missesGang reports whether the code of a pod waits for others of its job, which wait for a node. An apiserver has dropped the pod's group, and
// theirs is not complete without it.
func (l *Life) missesGang(p *corev1.Pod) bool {
	job, _, _ := l.truth.of(p)
	if job == nil || job.Spec.Scheduler == nil || job.Spec.Scheduler.Kubernetes == nil || p.Spec.SchedulingGroup != nil {
		return false
	}
	return slices.ContainsFunc(l.api.pods(), func(other *corev1.Pod) bool {
		waits := other.Spec.SchedulingGroup != nil && other.Spec.NodeName == "" && other.DeletionTimestamp == nil && !over(other)
		return waits && metav1.IsControlledBy(other, job)
	})
}

// checkOutside: no gang waits for ever for a pod whose group an apiserver has dropped. The pods that a job has left at its end wait for nothing.
func (t *truth) checkOutside() {
	for _, p := range t.life.api.pods() {
		if job, _, _ := t.of(p); job != nil && job.Status.CompletionTime != nil {
			continue
		}
		if p.DeletionTimestamp == nil && !over(p) && t.life.missesGang(p) {
			t.violated("a gang waits for a pod outside it", "%s is on node %q", p.Name, p.Spec.NodeName)
		}
	}
}

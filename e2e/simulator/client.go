package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// cached is the client that a reconciler of one operator works with: it reads from the operator's caches and writes to
// the API. What the operator does not use is left out, and panics.
type cached struct {
	client.Client
	operator *operator
}

// live is the client that reads from the API.
type live struct {
	client.Reader
	operator *operator
}

func (c *cached) Get(ctx context.Context, k client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if group, ok := o.(*unstructured.Unstructured); ok {
		return c.operator.lookAtGroup(ctx, group)
	}
	c.operator.lag()
	id := key{kindOf(o), k.Name}
	have := c.operator.caches[id.kind].objects[id]
	if have == nil {
		return notFound(id)
	}
	fill(o, have)
	return nil
}

// List lists the cached pods or Services of a job, as the index of the operator's cache does.
func (c *cached) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(options)
	if groups, ok := list.(*unstructured.UnstructuredList); ok {
		return c.operator.listGroups(ctx, groups, &o)
	}
	c.operator.lag()
	job := o.FieldSelector.Requirements()[0].Value
	of := func(kind string) []client.Object {
		var found []client.Object
		for _, have := range c.operator.caches[kind].objects {
			if ref := jobRef(have); ref != nil && ref.Name == job {
				found = append(found, have)
			}
		}
		slices.SortFunc(found, func(x, y client.Object) int { return strings.Compare(x.GetName(), y.GetName()) })
		return found
	}
	switch into := list.(type) {
	case *corev1.PodList:
		for _, o := range of(kindPod) {
			p := o.(*corev1.Pod)
			into.Items = append(into.Items, *p)
			if isRebooted(p) {
				r := ctx.Value(reconcileKey{}).(*reconcile)
				r.rebooted = append(r.rebooted, p)
			}
		}
	case *corev1.ServiceList:
		for _, s := range of(kindService) {
			into.Items = append(into.Items, *s.(*corev1.Service))
		}
	default:
		panic(fmt.Sprintf("the simulated cache does not list %T", list))
	}
	return nil
}

// jobRef is the reference of an object to the GenericJob that controls it, if one does.
func jobRef(o client.Object) *metav1.OwnerReference {
	ref := metav1.GetControllerOf(o)
	if ref == nil || ref.Kind != v1beta1.KindGenericJob {
		return nil
	}
	return ref
}

func (r *live) Get(ctx context.Context, k client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if node, ok := o.(*corev1.Node); ok {
		return r.node(ctx, k.Name, node)
	}
	id := key{kindOf(o), k.Name}
	return r.operator.look(ctx, "looks at "+id.String(), func() error {
		have := r.operator.life.api.get(id)
		if have == nil {
			return notFound(id)
		}
		if meta, ok := o.(*metav1.PartialObjectMetadata); ok {
			meta.SetUID(have.GetUID())
			meta.SetResourceVersion(have.GetResourceVersion())
			meta.SetName(have.GetName())
			r.operator.life.writer.fenced = have.GetResourceVersion()
			return nil
		}
		fill(o, have)
		return nil
	})
}

// List lists the metadata of pods by their labels and phase.
func (r *live) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(options)
	into := list.(*metav1.PartialObjectMetadataList)
	if into.Kind == "NodeList" {
		return r.operator.look(ctx, "counts nodes", func() error {
			into.Items, into.RemainingItemCount = make([]metav1.PartialObjectMetadata, 1), new(int64(len(nodes)-1))
			return nil
		})
	}
	return r.operator.look(ctx, "lists pods", func() error {
		for _, p := range r.operator.life.api.pods() {
			phase := fields.Set{"status.phase": string(p.Status.Phase)}
			if o.LabelSelector.Matches(labels.Set(p.Labels)) && (o.FieldSelector == nil || o.FieldSelector.Matches(phase)) {
				into.Items = append(into.Items, metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta})
			}
		}
		return nil
	})
}

func (c *cached) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	what := "creates " + keyOf(o).String()
	if p, ok := o.(*corev1.Pod); ok {
		what += " (attempt " + p.Labels[v1beta1.LabelAttempt] + ")"
	}
	err := c.operator.write(ctx, "create", what, o, func() error {
		if err := c.operator.life.refusesRules(o); err != nil {
			return err
		}
		return c.operator.life.api.create(o)
	})
	c.operator.answer(err, ifPod(o, sums{created: 1}))
	return err
}

func (c *cached) Update(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
	return c.operator.write(ctx, "update", "updates "+keyOf(o).String(), o, func() error { return c.operator.life.api.update(o, false) })
}

func (c *cached) Status() client.SubResourceWriter { return &statusWriter{operator: c.operator} }

type statusWriter struct {
	client.SubResourceWriter
	operator *operator
}

func (w *statusWriter) Update(ctx context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	what := "writes status of " + keyOf(o).String()
	if job, ok := o.(*v1beta1.GenericJob); ok {
		what += " " + tellStatus(&job.Status)
	}
	var done sums
	err := w.operator.write(ctx, "status", what, o, func() error {
		have := w.operator.life.api.get(keyOf(o))
		err := w.operator.life.api.update(o, true)
		if err == nil {
			w.operator.life.writer.fenced = o.GetResourceVersion()
			done = gained(have, o)
		}
		return err
	})
	w.operator.answer(err, done)
	return err
}

func (c *cached) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	with := client.DeleteOptions{}
	with.ApplyOptions(options)
	var uid types.UID
	version, period, policy := "", unsaid, metav1.DeletionPropagation("")
	if p := with.Preconditions; p != nil {
		if p.UID != nil {
			uid = *p.UID
		}
		if p.ResourceVersion != nil {
			version = *p.ResourceVersion
		}
	}
	if with.GracePeriodSeconds != nil {
		period = *with.GracePeriodSeconds
	}
	if with.PropagationPolicy != nil {
		policy = *with.PropagationPolicy
	}
	err := c.operator.write(ctx, "delete", "deletes "+keyOf(o).String(), o, func() error {
		if p, ok := c.operator.life.api.get(keyOf(o)).(*corev1.Pod); ok && period == 0 && p.UID == uid {
			c.operator.life.truth.forced(p)
		}
		if have, err := c.operator.life.api.current(keyOf(o), uid, version); err == nil {
			c.operator.life.truth.workloadDeleted(have)
			c.operator.life.truth.stopsServing(have)
			c.operator.life.truth.deletedUnread(have)
			c.operator.life.policy.clears(have, c.operator.life)
		}
		return c.operator.life.api.removeAs(keyOf(o), uid, version, period, policy)
	})
	c.operator.answer(err, ifPod(o, sums{deleted: 1}))
	return err
}

func (c *cached) Patch(ctx context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	raw, err := patch.Data(o)
	if err != nil {
		return err
	}
	if group, ok := o.(*unstructured.Unstructured); ok {
		return c.operator.patchGroup(ctx, group, raw)
	}
	var body patched
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		panic(fmt.Sprintf("the simulated API does not know the patch %s: %v", raw, err))
	}
	k := keyOf(o)
	return c.operator.write(ctx, "patch", fmt.Sprintf("patches %s with %s", k, raw), o, func() error {
		return c.operator.life.api.patch(o, &body)
	})
}

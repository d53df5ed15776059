package faults_test

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// witness watches jobs and pods directly, event by event, and tells the truth of what was written when.
func (w *world) witness(ctx context.Context, list client.ObjectList, see func(watch.EventType, client.Object)) {
	from := "0"
	if err := w.c.List(ctx, list, client.InNamespace(w.ns)); err == nil {
		from = list.GetResourceVersion()
	}
	for ctx.Err() == nil {
		stream, err := w.c.Watch(ctx, list, client.InNamespace(w.ns), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: from}})
		if err != nil {
			sleep(ctx, time.Second)
			continue
		}
		for event := range stream.ResultChan() {
			if o, ok := event.Object.(client.Object); ok {
				from = o.GetResourceVersion()
				w.past.note(from)
				see(event.Type, o)
			}
		}
	}
}

func revision(o client.Object) uint64 {
	n, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	return n
}

// sawJob notes what stands in a job's status, and at which revision the job was over.
func (t *truth) sawJob(_ watch.EventType, o client.Object) {
	job := o.(*v1beta1.GenericJob)
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.last[job.Name]
	t.last[job.Name] = *job.Status.DeepCopy()
	if job.Status.CompletionTime != nil && t.finished[job.Name] == 0 {
		t.finished[job.Name] = revision(job)
	}
	if !known {
		return
	}
	if before.CompletionTime != nil && (job.Status.CompletionTime == nil || job.Status.Phase != before.Phase) {
		t.violated("%s: it was %s and is %s now", job.Name, before.Phase, job.Status.Phase)
	}
	if job.Status.BackoffCount < before.BackoffCount || job.Status.DisruptionCount < before.DisruptionCount {
		t.violated("%s: counts went back from %d, %d to %d, %d", job.Name, before.BackoffCount, before.DisruptionCount,
			job.Status.BackoffCount, job.Status.DisruptionCount)
	}
}

// sawPod notes at which revision a pod was created.
func (t *truth) sawPod(event watch.EventType, o client.Object) {
	if event != watch.Added {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created[o.GetUID()] = birth{o.GetLabels()[v1beta1.LabelJobName], replicaOf(o.(*corev1.Pod)), revision(o)}
}

// owned are the kinds that jobs own, and then the kinds that own.
var owned = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ConfigMap"},
	v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob),
	v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob), v1beta1.GroupVersion.WithKind(v1beta1.KindPyTorchTrainingJob),
	{Group: "kubeflow.org", Version: "v1", Kind: "TFJob"}, {Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"},
}

// everything lists what there is of the kinds above, in their order.
func (w *world) everything(ctx context.Context) ([]client.Object, error) {
	var all []client.Object
	for _, kind := range owned {
		var list client.ObjectList = &metav1.PartialObjectMetadataList{}
		switch kind.Kind {
		case "Pod":
			list = &corev1.PodList{}
		case v1beta1.KindGenericJob:
			list = &v1beta1.GenericJobList{}
		case "TFJob", "PyTorchJob", v1beta1.KindTensorFlowTrainingJob, v1beta1.KindPyTorchTrainingJob:
			list = &unstructured.UnstructuredList{}
		}
		list.GetObjectKind().SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := w.c.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			o.GetObjectKind().SetGroupVersionKind(kind)
			all = append(all, o.(client.Object))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

package calls

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// How many objects are read live at once. A tenant may make objects of 1.5 MB with the labels of any job of the namespace.
const (
	// PageOfWhole are read whole: so many of the largest are some 50 MB in memory.
	PageOfWhole = 4
	// PageOfMetadata are read without their spec.
	PageOfMetadata = 50
)

// PodNames returns a list of pods by their metadata.
func PodNames() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	return list
}

// Pages reads a list live, page by page, until a page was enough. Nothing of a page should be kept that can be as large as its
// author wants.
func Pages[L client.ObjectList](ctx context.Context, live client.Reader, blank func() L, limit int64, see func(L) (enough bool), options ...client.ListOption) error {
	for next := ""; ; {
		page := blank()
		if err := live.List(ctx, page, append(options, client.Limit(limit), client.Continue(next))...); err != nil {
			return err
		}
		if next = page.GetContinue(); see(page) || next == "" {
			return nil
		}
	}
}

// PodsNotOver reads, live, the job's pods of which something may run, until one was enough.
func PodsNotOver(ctx context.Context, live client.Reader, job *v1beta1.GenericJob, see func(*metav1.PartialObjectMetadata) (enough bool)) error {
	return Pages(ctx, live, PodNames, PageOfMetadata, func(pods *metav1.PartialObjectMetadataList) (enough bool) {
		for i := range pods.Items {
			if isFound(&pods.Items[i], job) && see(&pods.Items[i]) {
				return true
			}
		}
		return false
	}, client.InNamespace(job.GetNamespace()), client.MatchingLabels{v1beta1.LabelJobUID: string(job.GetUID())}, notOver)
}

// isFound reports whether a reconcile over the job will see a pod once the cache has it; compare wake.JobOf. Anybody may create a pod with the job's
// labels, or one that names the job's UID with another kind or name. No reconcile ever sees such a pod, so to wait for it would hold up the job for
// ever.
func isFound(pod *metav1.PartialObjectMetadata, job *v1beta1.GenericJob) bool {
	ref := metav1.GetControllerOf(pod)
	return ref != nil && ref.UID == job.UID && ref.Name == job.Name && ref.Kind == GVKGenericJob.Kind && ref.APIVersion == GVKGenericJob.GroupVersion().String()
}

// notOver selects pods of which something may run; see podstate.IsOver.
var notOver = client.MatchingFieldsSelector{Selector: fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)}

package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// indexJob is the cache index that finds the pods and Services of a job by its name, in one namespace.
const indexJob = "controller"

// maxPodGroups is how many PodGroups with a job's label are read. A job has one PodGroup, and for a while those before.
const maxPodGroups = 20

// gather reads the world of a job. Orphans are pods of an earlier job of the same name, which need to be let go.
func (r *Reconciler) gather(ctx context.Context, job *v1beta1.GenericJob) (kernel.World, []*corev1.Pod, error) {
	w := kernel.World{Job: job, Now: r.Clock.Now(), Settings: r.Settings, MaxCreates: r.memory.Of(job).refusals.Plans(r.MostActions)}
	pods, err := r.podsOf(ctx, job)
	if err != nil {
		return w, nil, err
	}
	var orphans []*corev1.Pod
	for _, pod := range pods {
		switch {
		case metav1.IsControlledBy(pod, job):
			w.Pods = append(w.Pods, pod)
		case podstate.HasFinalizer(pod):
			orphans = append(orphans, pod)
		}
	}
	services := &corev1.ServiceList{}
	if err := r.Client.List(ctx, services, client.InNamespace(job.Namespace), client.MatchingFields{indexJob: job.Name},
		client.UnsafeDisableDeepCopy); err != nil {
		return w, nil, fmt.Errorf("list Services of GenericJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	for i := range services.Items {
		w.Services = append(w.Services, &services.Items[i])
	}
	if w.Nodes, err = r.lookAtNodes(ctx, w); err != nil {
		return w, nil, err
	}
	if r.mayAvoid(job) {
		if w.NodeCount, err = r.countNodes(ctx, w.Now); err != nil {
			return w, nil, err
		}
		w.NodeProblems = r.BadNodes.ProblemsFor(job)
	}
	if w.Gang, err = r.readGang(ctx, job); err != nil {
		return w, nil, err
	}
	w.Reports, w.ProgressReport = r.reportsOf(ctx, job, w.Pods, w.Now), r.progressOf(ctx, job, w.Pods, w.Now)
	w.FurthestReport = r.furthestOf(ctx, w)
	w.Kueue, err = r.readKueue(ctx, job)
	return w, orphans, err
}

// podsOf lists the cached pods that some job of this name controls, or has left behind. They are the cache's own: they must not be changed.
func (r *Reconciler) podsOf(ctx context.Context, job *v1beta1.GenericJob) ([]*corev1.Pod, error) {
	if r.pods != nil {
		return r.pods(client.ObjectKeyFromObject(job))
	}
	list := &corev1.PodList{}
	if err := r.Client.List(ctx, list, client.InNamespace(job.Namespace), client.MatchingFields{indexJob: job.Name},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pods of GenericJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// readGang looks up the gang scheduler's objects, live: few jobs have them, and a cache would need the kind to exist
// when the operator starts.
func (r *Reconciler) readGang(ctx context.Context, job *v1beta1.GenericJob) (gang kernel.GangObjects, err error) {
	for _, version := range build.GangVersions(job) {
		found, err := r.podGroups(ctx, job, version)
		switch {
		case meta.IsNoMatchError(err):
			gang.Missing = cmp.Or(gang.Missing, "PodGroup of "+version)
		case err != nil:
			return gang, fmt.Errorf("read the PodGroups of GenericJob %s/%s: %w", job.Namespace, job.Name, err)
		default:
			return kernel.GangObjects{Version: version, Objects: found}, nil
		}
	}
	return gang, nil
}

// podGroups returns the PodGroups that a job controls, in a version of their API.
func (r *Reconciler) podGroups(ctx context.Context, job *v1beta1.GenericJob, version string) (found []*unstructured.Unstructured, err error) {
	if !build.GroupsAreImmutable(job) {
		have := build.GangKey(job, 0, version)
		err := r.Client.Get(ctx, client.ObjectKeyFromObject(have), have)
		if err == nil && metav1.IsControlledBy(have, job) {
			found = append(found, groupOf(job, have))
		}
		return found, client.IgnoreNotFound(err)
	}
	blank := func() *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, "PodGroupList"))
		return list
	}
	read := 0
	err = calls.Pages(ctx, r.Client, blank, calls.PageOfWhole, func(page *unstructured.UnstructuredList) (enough bool) {
		for i := range page.Items {
			if metav1.IsControlledBy(&page.Items[i], job) {
				found = append(found, groupOf(job, &page.Items[i]))
			}
		}
		read += len(page.Items)
		return read > maxPodGroups
	}, client.InNamespace(job.Namespace), client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)})
	if err == nil && read > maxPodGroups {
		err = fmt.Errorf("more than %d carry its label %s: delete those that are not its own", maxPodGroups, v1beta1.LabelJobUID)
	}
	return found, err
}

// groupOf returns what a reconcile needs of a job's PodGroup, and no more: it keeps the group until it ends. Whoever may make PodGroups
// decides how many labels they have, and how long the names of their owners are.
func groupOf(job *v1beta1.GenericJob, group *unstructured.Unstructured) *unstructured.Unstructured {
	kept := &unstructured.Unstructured{Object: map[string]any{}}
	if spec, ok := group.Object["spec"]; ok {
		kept.Object["spec"] = spec
	}
	kept.SetGroupVersionKind(group.GroupVersionKind())
	kept.SetNamespace(group.GetNamespace())
	kept.SetName(group.GetName())
	kept.SetUID(group.GetUID())
	kept.SetResourceVersion(group.GetResourceVersion())
	kept.SetDeletionTimestamp(group.GetDeletionTimestamp())
	kept.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(job, calls.GVKGenericJob)})
	return kept
}

// liveUIDOf returns the UID of the job of this name, read live; "" if there is none.
func (r *Reconciler) liveUIDOf(ctx context.Context, job *v1beta1.GenericJob) (types.UID, error) {
	live, err := calls.GetLive(ctx, r.Live, job, calls.GVKGenericJob)
	if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		return "", fmt.Errorf("look for the GenericJob %s/%s of orphaned pods: %w", job.Namespace, job.Name, err)
	}
	return live.UID, nil
}

// sweep lets go of pods whose job is gone, so that nothing keeps them from being deleted. The job is read live first:
// the cache may simply not have it yet, or still have one of the same name that came before.
func (r *Reconciler) sweep(ctx context.Context, job *v1beta1.GenericJob) (ctrl.Result, error) {
	pods, err := r.podsOf(ctx, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(pods) == 0 {
		r.memory.Forget(client.ObjectKeyFromObject(job))
		return ctrl.Result{}, nil
	}
	live, err := r.liveUIDOf(ctx, job)
	if err != nil {
		return ctrl.Result{}, err
	}
	orphans := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return jobUIDOf(pod) == live })
	out, err := r.execute(ctx, kernel.World{Job: job}, kernel.Decision{Actions: kernel.ReleaseOrphans(orphans)})
	if err != nil {
		return ctrl.Result{}, err
	}
	requeueAfter := out.Wake()
	if live != "" && live != job.UID { // the cache is about to have that job
		requeueAfter = calls.Sooner(requeueAfter, calls.RetrySoon)
	}
	return ctrl.Result{RequeueAfter: requeueAfter}, nil
}

// sweepEarlier lets go of pods of an earlier job of this name. It is all that the operator does beside a job that another controller runs: the pods
// of that job are none of its business.
func (r *Reconciler) sweepEarlier(ctx context.Context, job *v1beta1.GenericJob) (ctrl.Result, error) {
	pods, err := r.podsOf(ctx, job)
	if err != nil || !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return podstate.HasFinalizer(pod) && jobUIDOf(pod) != job.UID }) {
		return ctrl.Result{}, err
	}
	return r.sweep(ctx, job)
}

// jobUIDOf returns the UID of the job that controls a pod, or, if nobody does any more, that of the job it was made for.
func jobUIDOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return types.UID(pod.Labels[v1beta1.LabelJobUID])
}

// hasPod reports whether the apiserver has a pod of a replica type of the job, or of any type if that is "".
func (r *Reconciler) hasPod(ctx context.Context, job *v1beta1.GenericJob, replicaType string) (bool, error) {
	labels := client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}
	if replicaType != "" {
		labels[v1beta1.LabelReplicaType] = replicaType
	}
	list := calls.PodNames()
	if err := r.Live.List(ctx, list, client.InNamespace(job.Namespace), labels, client.Limit(1)); err != nil {
		return false, fmt.Errorf("look for pods of GenericJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	return len(list.Items) > 0, nil
}

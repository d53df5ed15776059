package calls

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// applyObject creates an object of the gang scheduler, or updates the spec of the one that the job owns.
func (x *Executor) applyObject(ctx context.Context, a kernel.Action) error {
	err := x.Client.Create(ctx, a.Object.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return refusedOr(a, err)
	}
	have, err := x.existing(ctx, a.String(), a.Object)
	if err != nil || build.Has([]*unstructured.Unstructured{have.(*unstructured.Unstructured)}, a.Object) {
		return err // another reconcile was faster
	}
	return refusedOr(a, x.patch(ctx, have, types.MergePatchType, map[string]any{
		"metadata": map[string]any{"uid": have.GetUID()}, "spec": a.Object.Object["spec"],
	}))
}

// refusedOr turns the error of a create of a gang scheduler's object into a refusal, if the user must hear of it. Such an object is never invalid
// because of what the user wrote. For a deletion or a report, refusalOf finds the reason.
func refusedOr(a kernel.Action, err error) error {
	switch {
	case err == nil, NamespaceEnds(err):
		return nil
	case a.Verb.Creates() && isLasting(err):
		return Refuse(v1beta1.ReasonCreateFailed, err.Error())
	default:
		return fmt.Errorf("%s: %w", a, err)
	}
}

// createObject creates an object of the gang scheduler or of the queue.
func (x *Executor) createObject(ctx context.Context, a kernel.Action) error {
	err := x.Client.Create(ctx, a.Object.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		_, err = x.existing(ctx, a.String(), a.Object) // another reconcile was faster, or it is somebody else's
	}
	return err
}

// reportObject writes parts of the status of an object, unless the object has changed. Then the next reconcile looks at it first.
func (x *Executor) reportObject(ctx context.Context, a kernel.Action) error {
	if err := x.checkQuotaPrecondition(ctx, a); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": a.Object.GetResourceVersion()}, "status": a.Object.Object["status"],
	})
	if err != nil {
		return err
	}
	target := &unstructured.Unstructured{Object: map[string]any{"apiVersion": a.Object.GetAPIVersion(), "kind": a.Object.GetKind()}}
	target.SetNamespace(a.Object.GetNamespace())
	target.SetName(a.Object.GetName())
	err = x.Client.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, body))
	if isGone(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return refusedOr(a, err)
}

// checkQuotaPrecondition returns an error if the apiserver has a pod of the job that uses quota which the action gives away. Labels make no pod the
// job's.
func (x *Executor) checkQuotaPrecondition(ctx context.Context, a kernel.Action) error {
	if a.QuotaPrecondition == nil {
		return nil
	}
	others := map[string]int{}
	var tooMany error
	err := PodsNotOver(ctx, x.Live, x.Job, func(p *metav1.PartialObjectMetadata) (enough bool) {
		t := p.Labels[v1beta1.LabelReplicaType]
		ranks := a.QuotaPrecondition.Ranks[t]
		if ranks.Contains(podstate.Number(p, v1beta1.LabelReplicaRank)) {
			return false
		}
		if others[t]++; others[t] > a.QuotaPrecondition.Others[t] {
			tooMany = fmt.Errorf("the place of Pod %s is not free yet: the job controls it, and it has not ended", p.Name)
		}
		return tooMany != nil
	})
	if err != nil {
		return fmt.Errorf("look for pods that run: %w", err)
	}
	return tooMany
}

// deleteObject deletes an object of the gang scheduler or of the queue.
func (x *Executor) deleteObject(ctx context.Context, a kernel.Action) error {
	if err := x.checkQuotaPrecondition(ctx, a); err != nil {
		return err
	}
	uid, version := a.Object.GetUID(), a.Object.GetResourceVersion()
	err := x.Client.Delete(ctx, a.Object.DeepCopy(), client.Preconditions{UID: &uid, ResourceVersion: &version})
	if meta.IsNoMatchError(err) || isGone(err) {
		return nil
	}
	return refusedOr(a, err)
}

// checkSchedulingGroup makes sure that a pod which was just created is in its scheduling group. An apiserver with the feature gate GenericWorkload
// off drops the field silently, and the pod could be placed without the others. It is stopped, so that no limit counts its end. If it has a node
// meanwhile, or the stop fails, that is left to the kernel.
func (x *Executor) checkSchedulingGroup(ctx context.Context, a kernel.Action, pod *corev1.Pod, group *corev1.PodSchedulingGroup) error {
	if group == nil || pod.UID == "" || pod.Spec.SchedulingGroup != nil {
		return nil
	}
	a.Verb, a.Pod, a.Reason = kernel.StopPod, pod, "an apiserver has dropped its scheduling group"
	if err := x.changePod(ctx, a); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("stop Pod %s, which has lost its scheduling group: %w", pod.Name, err)
	}
	return Refuse(v1beta1.ReasonCreateFailed, "an apiserver of the cluster drops spec.schedulingGroup of pods: its feature gate GenericWorkload is off. Have that gate on in all apiservers and schedulers, and in Kubernetes 1.36 GangScheduling, too; or pause the job and choose another spec.scheduler")
}

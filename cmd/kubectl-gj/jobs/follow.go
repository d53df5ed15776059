package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
)

const (
	// pace is the shortest time between two looks: a job of thousands of pods changes all the time.
	pace = 200 * time.Millisecond
	// retryAfter is how long to wait after a watch or a read has failed.
	retryAfter = time.Second
	// warned is how long to wait before a pod that is being made is looked at again: its events are not watched.
	warned = 5 * time.Second
)

// Follow shows a family to look, and again after each change, until look says that it is enough. If the context ends before, Follow
// returns the context's error. A cluster that cannot be reached for a while is waited for.
func Follow(ctx context.Context, c client.WithWatch, f *Family, look func(*Family) (enough bool, err error)) error {
	changed := changes(ctx, c, f)
	for {
		if enough, err := look(f); enough || err != nil {
			return err
		}
		if err := pause(ctx, pace); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-f.perhapsWarned():
		}
		next, err := f.Reread(ctx, c)
		for ; err != nil; next, err = f.Reread(ctx, c) {
			if final(err) {
				return err
			}
			if err := pause(ctx, retryAfter); err != nil {
				return err
			}
		}
		f = next
	}
}

// perhapsWarned tells that there may be news in events, if only they tell why a pod does not start.
func (f *Family) perhapsWarned() <-chan time.Time {
	if !slices.ContainsFunc(f.Pods, isBeingMade) {
		return nil
	}
	return time.After(warned)
}

// final reports whether an error is an answer of the apiserver that asking again does not change, and not trouble on the way.
func final(err error) bool {
	var ours *exit.Error
	switch {
	case errors.As(err, &ours):
		return true
	case apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err):
		return false
	default:
		return apierrors.ReasonForError(err) != metav1.StatusReasonUnknown
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// changes tells that something of a family may have changed; one word stands for many changes.
func changes(ctx context.Context, c client.WithWatch, f *Family) <-chan struct{} {
	changed := make(chan struct{}, 1)
	named := client.MatchingFields{"metadata.name": f.Job.GetName()}
	go watch(ctx, c, changed, f.Job.GetNamespace(), v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob), named)
	go watch(ctx, c, changed, f.Job.GetNamespace(), corev1.SchemeGroupVersion.WithKind("Pod"), client.MatchingLabels{v1beta1.LabelJobName: f.Job.GetName()})
	if f.Kind.Framework != nil {
		go watch(ctx, c, changed, f.Job.GetNamespace(), f.Kind.GroupVersionKind, named)
	}
	return changed
}

// watch watches objects of a kind until the context ends. It speaks up after a watch that ended, too: nobody knows what it has
// missed.
func watch(ctx context.Context, c client.WithWatch, changed chan<- struct{}, namespace string, kind schema.GroupVersionKind, which client.ListOption) {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	for ctx.Err() == nil {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		events, err := c.Watch(ctx, list, client.InNamespace(namespace), which)
		if err == nil {
			for range events.ResultChan() {
				tell()
			}
			events.Stop()
		}
		tell()
		_ = pause(ctx, retryAfter)
	}
}

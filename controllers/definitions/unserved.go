package definitions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/announce"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators/definition"
)

// unserved tells jobs whose kind has no definition, or only one that was never accepted, that nobody serves them. Nobody watches such a kind, so it looks now and then. It knows the
// kinds whose definition was deleted while this operator ran, and those that an operator has made. Of others it knows nothing.
type unserved struct {
	*Reconciler
	log  logr.Logger
	soon chan struct{}

	mu   sync.Mutex
	gone map[schema.GroupVersionKind]bool

	told map[schema.GroupVersionKind]map[types.UID]bool // jobs that know, of each kind
}

const (
	// lookForUnserved is how long such a job waits at most to be told.
	lookForUnserved = 30 * time.Second
	// maxUnserved is how many jobs of a kind are looked at, 50 in a call. Jobs behind these hear nothing: the calls, and what is remembered of each
	// job, would have no bound. deploy/LIMITS.md says so.
	maxUnserved = 5000
)

func newUnserved(r *Reconciler, log logr.Logger) *unserved {
	return &unserved{Reconciler: r, log: log, soon: make(chan struct{}, 1), gone: map[schema.GroupVersionKind]bool{}, told: map[schema.GroupVersionKind]map[types.UID]bool{}}
}

// add notes a kind whose definition is gone.
func (u *unserved) add(kind schema.GroupVersionKind) {
	u.mu.Lock()
	u.gone[kind] = true
	u.mu.Unlock()
	select {
	case u.soon <- struct{}{}:
	default:
	}
}

// forget forgets a kind that the cluster does not have any more.
func (u *unserved) forget(kind schema.GroupVersionKind) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.gone, kind)
}

// Start implements manager.Runnable.
func (u *unserved) Start(ctx context.Context) error {
	ticks := time.NewTicker(lookForUnserved)
	defer ticks.Stop()
	for {
		if err := u.look(ctx); err != nil && ctx.Err() == nil {
			u.log.V(1).Info("jobs of kinds without a definition are not told", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		case <-u.soon:
		}
	}
}

// look tells all jobs that nobody serves.
func (u *unserved) look(ctx context.Context) error {
	all := &v1beta1.TrainingFrameworkList{}
	if err := u.Client.List(ctx, all); err != nil {
		return fmt.Errorf("list TrainingFrameworks: %w", err)
	}
	defined := map[schema.GroupKind]bool{}
	for i := range all.Items {
		if mayServe(&all.Items[i]) {
			defined[definition.KindOf(&all.Items[i].Spec).GroupKind()] = true
		}
	}
	kinds, err := u.made(ctx, defined)
	if err != nil {
		return err
	}
	u.mu.Lock()
	for kind := range u.gone {
		if defined[kind.GroupKind()] {
			delete(u.gone, kind)
			continue
		}
		kinds[kind] = true
	}
	u.mu.Unlock()
	maps.DeleteFunc(u.told, func(kind schema.GroupVersionKind, _ map[types.UID]bool) bool { return !kinds[kind] })
	var failed error
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }) {
		failed = errors.Join(failed, u.lookAt(ctx, kind)) // it hides no other kind
	}
	return failed
}

// mayServe reports whether a definition serves its kind, or may at any moment. One that is refused and was never accepted serves nobody until people
// mend it. A conflict may be with a definition that has just been deleted.
func mayServe(d *v1beta1.TrainingFramework) bool {
	accepted := meta.FindStatusCondition(d.Status.Conditions, v1beta1.FrameworkAccepted)
	refused := accepted != nil && accepted.Status == metav1.ConditionFalse && accepted.Reason != v1beta1.ReasonKindConflict
	return d.DeletionTimestamp == nil && (len(d.Status.Revisions) > 0 || !refused)
}

// made returns the kinds that an operator has made of definitions, and that have none now.
func (u *unserved) made(ctx context.Context, defined map[schema.GroupKind]bool) (map[schema.GroupVersionKind]bool, error) {
	var names []string
	served := map[string]bool{}
	for kind := range defined {
		served[definition.CRDName(kind.Kind, kind.Group)] = true
	}
	blank := func() *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
		return list
	}
	err := calls.Pages(ctx, u.Live, blank, calls.PageOfMetadata, func(page *metav1.PartialObjectMetadataList) (enough bool) {
		for i := range page.Items {
			if crd := &page.Items[i]; crd.Annotations[v1beta1.AnnotationSchema] != "" && crd.DeletionTimestamp == nil && !served[crd.Name] {
				names = append(names, crd.Name)
			}
		}
		return false
	})
	if err != nil {
		return nil, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	kinds := map[schema.GroupVersionKind]bool{}
	for _, name := range names {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := u.Live.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
		}
		kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: servedVersion(crd), Kind: crd.Spec.Names.Kind}
		if kind.Version != "" && !defined[kind.GroupKind()] {
			kinds[kind] = true
		}
	}
	return kinds, nil
}

// servedVersion returns the first version in which jobs can be read; "" if there is none.
func servedVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Served {
			return crd.Spec.Versions[i].Name
		}
	}
	return ""
}

// lookAt tells the jobs of a kind, the first maxUnserved by namespace and name. A kind that may not be listed, or is gone, has none that could be told.
func (u *unserved) lookAt(ctx context.Context, kind schema.GroupVersionKind) error {
	blank := func() *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return list
	}
	if u.told[kind] == nil {
		u.told[kind] = map[types.UID]bool{}
	}
	var failed error
	seen, told := 0, map[types.UID]bool{}
	err := calls.Pages(ctx, u.Live, blank, calls.PageOfMetadata, func(page *metav1.PartialObjectMetadataList) (enough bool) {
		for i := range page.Items {
			job := &page.Items[i]
			if failed = u.warn(ctx, kind, job); failed != nil {
				return true
			}
			u.told[kind][job.UID], told[job.UID] = true, true
		}
		seen += len(page.Items)
		return seen >= maxUnserved
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		delete(u.told, kind)
		u.forget(kind) // or the apiserver would be asked for it for ever
		return nil
	}
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("look for jobs of kind %s: %w", kind.Kind, err)
	}
	u.told[kind] = told // without those that are gone
	return nil
}

// warn tells a job that is not over, once.
func (u *unserved) warn(ctx context.Context, kind schema.GroupVersionKind, job *metav1.PartialObjectMetadata) error {
	if u.told[kind][job.UID] || job.DeletionTimestamp != nil {
		return nil
	}
	made := &v1beta1.GenericJob{}
	err := u.Client.Get(ctx, client.ObjectKeyFromObject(job), made)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read GenericJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	message := fmt.Sprintf("No TrainingFramework serves the kind %s: nothing is made of this job until a cluster admin applies one that is accepted.", kind.Kind)
	if err == nil && metav1.IsControlledBy(made, job) {
		if made.Status.CompletionTime != nil {
			return nil
		}
		message = fmt.Sprintf("No TrainingFramework serves the kind %s any more: the job goes on as GenericJob %s, but what it shows stands still, and edits of it "+
			"have no effect, a pause for example. A cluster admin can apply the definition again.", kind.Kind, job.Name)
	} else if over, err := u.isOver(ctx, kind, job); over || err != nil {
		return err
	}
	about := announce.Reference(job.Namespace, &metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: job.Name, UID: job.UID})
	announce.Events(u.Recorder, about, []kernel.Event{{Warning: true, Reason: v1beta1.ReasonNotServed, Message: message}})
	return nil
}

// isOver reports whether a job without a GenericJob has come to its end before.
func (u *unserved) isOver(ctx context.Context, kind schema.GroupVersionKind, job *metav1.PartialObjectMetadata) (bool, error) {
	full := &unstructured.Unstructured{}
	full.SetGroupVersionKind(kind)
	if err := u.Live.Get(ctx, client.ObjectKeyFromObject(job), full); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	ended, _, _ := unstructured.NestedString(full.Object, "status", "completionTime")
	return ended != "" || full.GetUID() != job.UID, nil
}

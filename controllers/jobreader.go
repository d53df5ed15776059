package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/definitions"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/framework"
)

// askForJobs bounds what a scrape waits for caches that are being filled.
const askForJobs = time.Second

// jobReader reads jobs from the cache for the metrics. What it reads are the cache's own objects, which it does not change.
type jobReader struct {
	ctx     context.Context
	cache   cache.Cache
	scheme  *runtime.Scheme
	elected <-chan struct{}
	served  map[schema.GroupVersionKind]framework.Registration
	kinds   []schema.GroupVersionKind // of served, in order
	// hasDefinitions says that TrainingFrameworks are served. Defined are their kinds of which all jobs are known.
	hasDefinitions bool
	defined        func() []definitions.Kind
}

func newJobReader(ctx context.Context, mgr ctrl.Manager, frameworks []framework.Registration) (*jobReader, error) {
	r := &jobReader{
		ctx: ctx, cache: mgr.GetCache(), scheme: mgr.GetScheme(), elected: mgr.Elected(), served: map[schema.GroupVersionKind]framework.Registration{},
		defined: func() []definitions.Kind { return nil },
	}
	for _, f := range frameworks {
		kind, err := apiutil.GVKForObject(f.New(), mgr.GetScheme())
		if err != nil {
			return nil, fmt.Errorf("set up a framework: its kind is not in the scheme that NewScheme made: %w", err)
		}
		r.served[kind] = f
		r.kinds = append(r.kinds, kind)
	}
	return r, nil
}

// kindsWithPodEvents returns the kinds of jobs that have an event for each pod and Service which is created for them.
func (r *jobReader) kindsWithPodEvents() map[schema.GroupVersionKind]bool {
	kinds := map[schema.GroupVersionKind]bool{}
	for kind, f := range r.served {
		kinds[kind] = f.EventsForPods
	}
	return kinds
}

// names returns the names of the kinds that are served.
func (r *jobReader) names() []string {
	names := []string{v1beta1.KindGenericJob}
	for _, kind := range r.kinds {
		if !slices.Contains(names, kind.Kind) {
			names = append(names, kind.Kind)
		}
	}
	for _, d := range r.defined() {
		names = append(names, d.Kind)
	}
	return names
}

// each hands over each job that a user has submitted, and reports whether it knew all of them. An operator that waits for the lease has
// them in its cache too, but they are told once.
func (r *jobReader) each(tell func(metrics.Job)) bool {
	select {
	case <-r.elected:
	default:
		return false
	}
	ctx, cancel := context.WithTimeout(r.ctx, askForJobs)
	defer cancel()
	more := r.defined()
	compiled := map[types.UID]*v1beta1.GenericJob{} // by who controls it
	err := r.list(ctx, calls.GVKGenericJob, func(o client.Object) {
		job := o.(*v1beta1.GenericJob)
		if owner := metav1.GetControllerOf(job); owner != nil && r.servesAmong(owner, more) {
			compiled[owner.UID] = job
		} else if !compact.IsForeign(job) {
			tell(jobOf(v1beta1.KindGenericJob, job.Status.Phase, job))
		}
	})
	if err != nil {
		return false
	}
	look := func(kind schema.GroupVersionKind, f framework.Registration) func(client.Object) {
		return func(o client.Object) {
			if job, ours := trainingJob(kind, f, o, compiled[o.GetUID()]); ours {
				tell(job)
			}
		}
	}
	for _, kind := range r.kinds {
		if err := r.list(ctx, kind, look(kind, r.served[kind])); err != nil {
			return false
		}
	}
	for _, d := range more {
		eachStored(d.Jobs, look(d.GroupVersionKind, d.Registration))
	}
	return true
}

// eachDefinition hands each definition over, and reports whether it knew all of them.
func (r *jobReader) eachDefinition(tell func(*v1beta1.TrainingFramework)) bool {
	select {
	case <-r.elected:
	default:
		return false
	}
	return r.listDefinitions(tell) == nil
}

// listDefinitions calls a function for each definition in the cache.
func (r *jobReader) listDefinitions(f func(*v1beta1.TrainingFramework)) error {
	ctx, cancel := context.WithTimeout(r.ctx, askForJobs)
	defer cancel()
	return r.list(ctx, v1beta1.GroupVersion.WithKind(v1beta1.KindTrainingFramework), func(o client.Object) { f(o.(*v1beta1.TrainingFramework)) })
}

// serves reports whether the kind of a training job is served, so that its own reconciler tells of its phases. A definition serves while the cache of
// its jobs is being filled, too, and until this operator has looked at it for the first time. So its status is asked.
func (r *jobReader) serves(owner *metav1.OwnerReference) bool {
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	_, serves := r.served[kind]
	if serves || !r.hasDefinitions {
		return serves
	}
	err := r.listDefinitions(func(f *v1beta1.TrainingFramework) {
		isOff := f.DeletionTimestamp != nil || meta.IsStatusConditionFalse(f.Status.Conditions, v1beta1.FrameworkServing)
		serves = serves || !isOff && definition.KindOf(&f.Spec) == kind
	})
	return serves || err != nil // what is not known is not told twice
}

func (r *jobReader) servesAmong(owner *metav1.OwnerReference, more []definitions.Kind) bool {
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	if _, ok := r.served[kind]; ok {
		return true
	}
	return slices.ContainsFunc(more, func(d definitions.Kind) bool { return d.GroupVersionKind == kind })
}

// trainingJob returns what there is to say of a training job and its GenericJob, nil if it has none, unless another controller runs it.
func trainingJob(kind schema.GroupVersionKind, f framework.Registration, o client.Object, compiled *v1beta1.GenericJob) (metrics.Job, bool) {
	job := metrics.Job{Kind: kind.Kind, Namespace: o.GetNamespace(), Phase: f.Phase(o)}
	switch {
	case compact.IsForeign(o):
		return job, false
	case job.Phase.IsFinal():
		return job, true
	case compiled != nil:
		return ofTraining(jobOf(kind.Kind, job.Phase, compiled), o, compiled), true
	}
	switch {
	case compact.SpecIsPacked(o): // to open large jobs for each scrape would cost too much; ours soon have a phase, if not a GenericJob
		if job.Phase == "" {
			return job, false
		}
	case f.Revision == "": // a translator of somebody else's; jobs of definitions are never foreign, and may be dear to compile
		if program, _ := f.Compile(o); program.Foreign {
			return job, false
		}
	}
	if o.GetDeletionTimestamp() == nil {
		job.Reason, job.Since = metrics.ReasonNoGenericJob, o.GetCreationTimestamp().Time
	}
	return job, true
}

// ofTraining adds to what is told of a training job by its GenericJob what blocks itself.
func ofTraining(job metrics.Job, o client.Object, compiled *v1beta1.GenericJob) metrics.Job {
	if compiled.Status.CompletionTime != nil || o.GetDeletionTimestamp() != nil || metrics.IsBlocked(compiled) {
		return job
	}
	if reason, since := blocked(o); reason != "" {
		job.Reason, job.Since = metrics.WaitReason(reason), since
	}
	return job
}

func jobOf(kind string, phase v1beta1.JobPhase, job *v1beta1.GenericJob) metrics.Job {
	reason, since := metrics.Wait(job)
	out := metrics.Job{Kind: kind, Namespace: job.Namespace, Phase: phase, Reason: reason, Since: since, Open: metrics.Open(job)}
	if job.Status.CompletionTime == nil {
		out.Avoids = job.Status.AvoidedNodes
	}
	return out
}

// list calls f for each cached object of a kind. A list of the client's is made of copies, of a kilobyte for each job at each scrape. The reader
// asks for such a list only where the cache is one of several namespaces. Such a cache has no one store.
func (r *jobReader) list(ctx context.Context, kind schema.GroupVersionKind, f func(client.Object)) error {
	informer, err := r.cache.GetInformerForKind(ctx, kind)
	if err != nil {
		return err
	}
	if eachStored(informer, f) {
		return nil
	}
	made, err := r.scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return err
	}
	list, ok := made.(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is no list of objects", made)
	}
	if err := r.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		f(item.(client.Object))
		return nil
	})
}

// eachStored calls f for the objects of a cache's one store; false if it has several.
func eachStored(in cache.Informer, f func(client.Object)) bool {
	informer, ok := in.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return false
	}
	for _, o := range informer.GetIndexer().List() {
		if job, ok := o.(client.Object); ok {
			f(job)
		}
	}
	return true
}

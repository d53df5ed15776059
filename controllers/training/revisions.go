package training

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/translators/framework"
)

// Revised reconciles the jobs of a kind whose definition may change. The revision that compiled a job goes on to compile it; new jobs get the newest.
type Revised struct {
	// Cache is the cache of GenericJobs. It may keep large ones packed.
	Cache client.Reader

	now atomic.Pointer[revisions]
}

// revisions are the revisions of a definition that may have compiled jobs.
type revisions struct {
	definition string // its name
	newest     *Reconciler
	unstarted  *Reconciler // the newest, for jobs without a GenericJob
	byName     map[string]*Reconciler
}

// Serve sets the revisions of the definition, the newest first. Reconciles that are under way end with the revisions before. Call Serve before the
// first reconcile.
func (r *Revised) Serve(definition string, list ...*Reconciler) {
	all := &revisions{definition: definition, newest: list[0], unstarted: list[0].With(list[0].Registration), byName: map[string]*Reconciler{}}
	all.unstarted.over = func(job client.Object) bool { return isOver(job, list) }
	for _, f := range list {
		all.byName[f.Revision] = f
	}
	r.now.Store(all)
}

// Newest returns the newest revision.
func (r *Revised) Newest() framework.Registration { return r.now.Load().newest.Registration }

// Reconcile reconciles a job by the revision that compiled it.
func (r *Revised) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	have := &v1beta1.GenericJob{}
	err := r.Cache.Get(ctx, req.NamespacedName, have, client.UnsafeDisableDeepCopy) // its annotations are read, and nothing else
	switch all := r.now.Load(); {
	case apierrors.IsNotFound(err):
		return all.unstarted.Reconcile(ctx, req)
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read GenericJob %s: %w", req, err)
	default:
		return all.of(have.Annotations[v1beta1.AnnotationFrameworkRevision]).Reconcile(ctx, req)
	}
}

// of returns the reconciler of a revision. A revision that is not kept any more compiles nothing: its jobs go on as they are.
func (r *revisions) of(name string) *Reconciler {
	if f := r.byName[name]; f != nil {
		return f
	}
	return r.newest.With(unknown(r.definition, name, r.newest.Registration))
}

// isOver reports whether a job without a GenericJob is over, in the words of any revision that is kept. Another revision than the newest may have
// written its status, in a shape that the newest cannot read. All shapes call the time of the end completionTime.
func isOver(job client.Object, list []*Reconciler) bool {
	return list[0].CompletionTime(job) != nil ||
		slices.ContainsFunc(list, func(f *Reconciler) bool { return f.Phase(job).IsFinal() && !f.misreads(list) })
}

// misreads reports whether a revision takes jobs for finished that are not, by a status that one of the revisions has written. A revision may read
// conditions, which the status of a job that waits has.
func (r *Reconciler) misreads(list []*Reconciler) bool {
	for _, phase := range v1beta1.UnfinishedPhases() {
		waits := &v1beta1.GenericJobStatus{Phase: phase, Conditions: waitingConditions(v1beta1.ReasonCreateFailed, "It waits.")}
		blocked := waits.DeepCopy()
		status.Block(blocked, time.Time{}, v1beta1.ReasonCreateFailed, "It waits.")
		for _, shown := range []*v1beta1.GenericJobStatus{{Phase: phase}, waits, blocked} {
			if slices.ContainsFunc(list, func(writer *Reconciler) bool {
				job := writer.New()
				return writer.Mirror(job, *shown) == nil && r.Phase(job).IsFinal()
			}) {
				return true
			}
		}
	}
	return false
}

// unknown returns a revision in place of one that is not kept any more. It compiles nothing, so edits of its jobs have no effect. The time to live of
// its jobs comes from the newest revision: without one, they would stay for ever.
func unknown(of, name string, like framework.Registration) framework.Registration {
	why := revisionUnknownError(fmt.Sprintf("revision %s of TrainingFramework %s compiled it, which is not kept any more", name, of))
	if name == "" {
		why = revisionUnknownError(fmt.Sprintf("it was not compiled by TrainingFramework %s", of))
	}
	newest := like.Compile
	like.Revision = name
	like.Compile = func(job client.Object) (framework.Program, error) {
		program, _ := newest(job) // what is wrong with it concerns other jobs
		return framework.Program{TTLSecondsAfterFinished: program.TTLSecondsAfterFinished}, fmt.Errorf("edits of the job have no effect: %w. Create the job again to have it compiled anew", why)
	}
	return like
}

// With returns a reconciler that compiles by another registration, and shares the memory of r.
func (r *Reconciler) With(f framework.Registration) *Reconciler {
	like := *r
	like.Registration = f
	return &like
}

package training

import (
	"context"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Revised reconciles the jobs of a kind whose definition may change: each by the revision that compiled it, and new ones by the newest.
type Revised struct {
	// Cache is what GenericJobs are read from. The cache may keep large ones packed.
	Cache client.Reader

	now atomic.Pointer[revisions]
}

// revisions are those of a definition that jobs may have been compiled by.
type revisions struct {
	definition string // its name
	newest     *Reconciler
	byName     map[string]*Reconciler
}

// Serve has jobs of a definition compiled by these revisions from now on, the newest first. Reconciles that are under way go on by those
// before. Serve must be called before the first reconcile.
func (r *Revised) Serve(definition string, list ...*Reconciler) {
	all := &revisions{definition: definition, newest: list[0], byName: map[string]*Reconciler{}}
	for _, f := range list {
		all.byName[f.Revision] = f
	}
	r.now.Store(all)
}

// Newest is the newest revision.
func (r *Revised) Newest() framework.Registration { return r.now.Load().newest.Registration }

// Reconcile makes one reconcile over a job.
func (r *Revised) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	have := &v1beta1.GenericJob{}
	err := r.Cache.Get(ctx, req.NamespacedName, have, client.UnsafeDisableDeepCopy) // its annotations are read, and nothing else
	switch all := r.now.Load(); {
	case apierrors.IsNotFound(err):
		return all.newest.Reconcile(ctx, req)
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read GenericJob %s: %w", req, err)
	default:
		return all.of(have.Annotations[v1beta1.AnnotationFrameworkRevision]).Reconcile(ctx, req)
	}
}

// of finds a revision by its name. One that is not kept compiles nothing: its jobs go on as they are.
func (r *revisions) of(name string) *Reconciler {
	if f := r.byName[name]; f != nil {
		return f
	}
	return r.newest.With(unknown(r.definition, name, r.newest.Registration))
}

// unknown is a revision that is not kept. The newest revision still says the time to live of its jobs, or they would stay for ever.
func unknown(of, name string, like framework.Registration) framework.Registration {
	what := fmt.Sprintf("revision %s of TrainingFramework %s compiled it, which is not kept any more", name, of)
	if name == "" {
		what = fmt.Sprintf("it was not compiled by TrainingFramework %s", of)
	}
	newest := like.Compile
	like.Revision = name
	like.Compile = func(job client.Object) (framework.Program, error) {
		program, _ := newest(job) // what is wrong with it concerns other jobs
		return framework.Program{TTLSecondsAfterFinished: program.TTLSecondsAfterFinished}, fmt.Errorf("edits of the job have no effect: %s. Create the job again to have it compiled anew", what)
	}
	return like
}

// With is a reconciler that compiles by another registration. They share their memory.
func (r *Reconciler) With(f framework.Registration) *Reconciler {
	like := *r
	like.Registration = f
	return &like
}

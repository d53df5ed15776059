package definitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/translators/definition"
)

// Reconciler reconciles TrainingFrameworks: it says what is wrong with each, and has the kinds of the others served.
type Reconciler struct {
	// Client reads from the cache and writes to the apiserver.
	Client client.Client
	// Live reads from the apiserver.
	Live client.Reader
	// Taken are the names of kinds that are served without a definition.
	Taken []string
	// Recorder emits events.
	Recorder events.EventRecorder

	kinds    *Kinds
	unserved *unserved
}

// maxRevisions is how many revisions are kept.
const maxRevisions = 10

// Nobody tells when rights are given, or the last job of a revision has ended, and the first list of a kind takes a moment.
const (
	askForRights = 30 * time.Second
	askAgain     = 10 * time.Minute // whether they are still given
	askForRoom   = 30 * time.Second
	askForJobs   = time.Minute
	askForCache  = 500 * time.Millisecond
)

// Reconcile makes one reconcile over a definition. A conflict is no error: the view of the definition was old.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, req)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: calls.RetrySoon}, nil
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	f := &v1beta1.TrainingFramework{}
	err := r.Client.Get(ctx, req.NamespacedName, f)
	if apierrors.IsNotFound(err) || err == nil && f.DeletionTimestamp != nil {
		r.reportDeleted(ctx, r.kinds.end(req.Name))
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read TrainingFramework %s: %w", req.Name, err)
	}
	before := f.DeepCopy()
	served, err := r.judge(ctx, f)
	if err != nil {
		return ctrl.Result{}, err
	}
	// What compiles jobs is stored before it does, so that the next operator knows it.
	if !slices.EqualFunc(before.Status.Revisions, f.Status.Revisions, func(a, b v1beta1.FrameworkRevision) bool { return a.Name == b.Name }) {
		sayNotYet(f)
		if err := r.write(ctx, f); err != nil {
			return ctrl.Result{}, err
		}
		before = f.DeepCopy()
	}
	again, err := r.serve(ctx, f, served)
	if err != nil {
		return ctrl.Result{}, err
	}
	sayReady(f)
	return ctrl.Result{RequeueAfter: orSooner(f, served, again)}, r.show(ctx, before, f)
}

// orSooner is when to look again at a definition that waits for something of which no event tells.
func orSooner(f *v1beta1.TrainingFramework, is judgement, again time.Duration) time.Duration {
	switch {
	case hasReason(f, v1beta1.FrameworkAccepted, v1beta1.ReasonTooManyRevisions):
		return calls.Sooner(again, askForRoom)
	case hasReason(f, v1beta1.FrameworkAccepted, v1beta1.ReasonRightsMissing), hasReason(f, v1beta1.FrameworkServing, v1beta1.ReasonRightsMissing):
		return calls.Sooner(again, askForRights)
	case is.waitsForJobs:
		return calls.Sooner(again, askForJobs)
	default:
		return again
	}
}

// show writes the status, if it is news, and tells of an edit that is refused.
func (r *Reconciler) show(ctx context.Context, before, f *v1beta1.TrainingFramework) error {
	if equality.Semantic.DeepEqual(before.Status, f.Status) {
		return nil
	}
	if err := r.write(ctx, f); err != nil {
		return err
	}
	r.reportRefused(ctx, before, f)
	return nil
}

func (r *Reconciler) write(ctx context.Context, f *v1beta1.TrainingFramework) error {
	if err := r.Client.Status().Update(ctx, f); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of TrainingFramework %s: %w", f.Name, err)
	}
	return nil
}

// judgement is what stands in the way of serving a kind; nothing if reason is "".
type judgement struct {
	notServedReason, notServedMessage string
	schemas                           definition.Schemas
	resource                          schema.GroupVersionResource
	version                           string // of the CRD
	crd                               *apiextensionsv1.CustomResourceDefinition

	schemaReason, schemaMessage string // why the definition's own schema is not accepted
	waitsForJobs                bool   // that are in its way
}

// judge checks a definition, and keeps it as a revision if it is accepted.
func (r *Reconciler) judge(ctx context.Context, f *v1beta1.TrainingFramework) (judgement, error) {
	f.Status.ObservedGeneration = f.Generation
	if message, err := r.conflict(ctx, f); err != nil || message != "" {
		say(f, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonKindConflict, message)
		return judgement{notServedReason: v1beta1.ReasonKindConflict, notServedMessage: message}, err
	}
	is, err := r.kindOf(ctx, f)
	if err != nil {
		return is, err
	}
	made, mistakes, err := r.check(ctx, f, &is)
	if err != nil {
		return is, err
	}
	if made != nil && mistakes == nil {
		if is, err = r.makeKind(ctx, made, is); err != nil {
			return is, err
		}
	}
	if err = r.accept(ctx, f, is, mistakes); err != nil {
		return is, err
	}
	if is.notServedReason == "" && len(f.Status.Revisions) == 0 {
		is.notServedReason, is.notServedMessage = v1beta1.ReasonNotAccepted, "The definition is not accepted: see the condition Accepted."
	}
	return is, nil
}

// accept keeps a definition as a revision, or says why not.
func (r *Reconciler) accept(ctx context.Context, f *v1beta1.TrainingFramework, is judgement, mistakes error) error {
	switch {
	case mistakes != nil:
		message := mistakes.Error()
		if is.notServedReason != "" && f.Spec.Schema == nil {
			message += "\nMore may be found when the kind is there. " + is.notServedMessage
		}
		say(f, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, message+meanwhile(f))
	case is.schemaMessage != "":
		say(f, v1beta1.FrameworkAccepted, metav1.ConditionFalse, is.schemaReason, is.schemaMessage+meanwhile(f))
	case is.notServedReason != "" && f.Spec.Schema == nil:
		say(f, v1beta1.FrameworkAccepted, metav1.ConditionUnknown, is.notServedReason, "What can be checked without the kind is right. "+is.notServedMessage)
	default:
		return r.keep(ctx, f)
	}
	return nil
}

// meanwhile tells what compiles jobs while the newest definition cannot.
func meanwhile(f *v1beta1.TrainingFramework) string {
	if len(f.Status.Revisions) == 0 {
		return ""
	}
	return "\nUntil this is mended, jobs are compiled by revision " + f.Status.Revisions[0].Name + "."
}

// keep makes the definition the newest revision.
func (r *Reconciler) keep(ctx context.Context, f *v1beta1.TrainingFramework) error {
	name := definition.RevisionOf(&f.Spec)
	list := slices.DeleteFunc(slices.Clone(f.Status.Revisions), func(one v1beta1.FrameworkRevision) bool { return one.Name == name })
	list = slices.Insert(list, 0, v1beta1.FrameworkRevision{Name: name, Spec: *f.Spec.DeepCopy()})
	if len(list) > maxRevisions {
		used, err := r.used(ctx, f)
		if err != nil {
			return err
		}
		oldest := len(list) - 1
		for ; oldest > 0 && used[list[oldest].Name]; oldest-- {
		}
		if oldest == 0 {
			say(f, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonTooManyRevisions,
				fmt.Sprintf("Unfinished jobs need each of the %d revisions that are kept: wait until those of one have ended.", maxRevisions)+meanwhile(f))
			return nil
		}
		list = slices.Delete(list, oldest, oldest+1)
	}
	f.Status.Revisions = list
	say(f, v1beta1.FrameworkAccepted, metav1.ConditionTrue, v1beta1.ReasonAccepted, "Revision "+name+" compiles jobs that begin from now on.")
	return nil
}

// used are the revisions of which there are unfinished jobs.
func (r *Reconciler) used(ctx context.Context, f *v1beta1.TrainingFramework) (map[string]bool, error) {
	jobs, used := &v1beta1.GenericJobList{}, map[string]bool{}
	if err := r.Client.List(ctx, jobs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list GenericJobs: %w", err)
	}
	for i := range jobs.Items {
		owner := metav1.GetControllerOf(&jobs.Items[i])
		if owner != nil && owner.Kind == f.Spec.Kind.Kind && jobs.Items[i].Status.CompletionTime == nil {
			used[jobs.Items[i].Annotations[v1beta1.AnnotationFrameworkRevision]] = true
		}
	}
	return used, nil
}

// conflict says who else serves the kind; "" if nobody does. Of two definitions the older one does.
func (r *Reconciler) conflict(ctx context.Context, f *v1beta1.TrainingFramework) (string, error) {
	if slices.Contains(r.Taken, f.Spec.Kind.Kind) {
		return fmt.Sprintf("The operator serves a kind %s without a definition.", f.Spec.Kind.Kind), nil
	}
	all := &v1beta1.TrainingFrameworkList{}
	if err := r.Client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list TrainingFrameworks: %w", err)
	}
	for i := range all.Items {
		if other := &all.Items[i]; other.Name != f.Name && other.DeletionTimestamp == nil && other.Spec.Kind.Kind == f.Spec.Kind.Kind && older(other, f) {
			return fmt.Sprintf("TrainingFramework %s is older and serves a kind %s, of group %s. Delete one of the two.", other.Name, f.Spec.Kind.Kind, other.Spec.Kind.Group), nil
		}
	}
	return "", nil
}

func older(a, b *v1beta1.TrainingFramework) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// serve has the kind served, if nothing is in the way, and says how that stands. Again is when to look again.
func (r *Reconciler) serve(ctx context.Context, f *v1beta1.TrainingFramework, is judgement) (again time.Duration, err error) {
	if is.notServedReason == "" {
		lacks, err := r.lacks(ctx, is.resource)
		if err != nil {
			return 0, err
		}
		if len(lacks) > 0 {
			is.notServedReason = v1beta1.ReasonRightsMissing
			is.notServedMessage = fmt.Sprintf("The operator may not: %s. Grant it by a ClusterRole with the label %s: \"true\".", strings.Join(lacks, "; "), LabelAggregate)
		}
	}
	if is.notServedReason != "" {
		r.kinds.end(f.Name)
		say(f, v1beta1.FrameworkServing, metav1.ConditionFalse, is.notServedReason, is.notServedMessage)
		return 0, nil
	}
	names := make([]string, 0, maxRevisions)
	for _, revision := range f.Status.Revisions {
		names = append(names, revision.Name)
	}
	filled, err := r.kinds.serve(f, is.schemas, is.version+" "+strings.Join(names, " "))
	if errors.Is(err, errNewest) {
		r.kinds.end(f.Name)
		say(f, v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, "Mend the definition: "+err.Error()+".")
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !filled {
		say(f, v1beta1.FrameworkServing, metav1.ConditionUnknown, v1beta1.ReasonServing, "The jobs that there are are being read.")
		return askForCache, nil
	}
	message := "Jobs are compiled by revision " + names[0] + "."
	if meta.IsStatusConditionFalse(f.Status.Conditions, v1beta1.FrameworkAccepted) {
		message += " The newest edit is refused, and compiles none: see the condition Accepted."
	}
	say(f, v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing, message)
	return askAgain, nil
}

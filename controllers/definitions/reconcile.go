package definitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
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

// Nobody tells when rights are given, or the last job of a revision has ended.
const (
	askForRights = 30 * time.Second
	askAgain     = 10 * time.Minute // whether they are still given
	askForRoom   = 30 * time.Second
	askForJobs   = time.Minute
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
	d := &v1beta1.TrainingFramework{}
	err := r.Client.Get(ctx, req.NamespacedName, d)
	if apierrors.IsNotFound(err) || err == nil && d.DeletionTimestamp != nil {
		r.reportDeleted(ctx, r.kinds.end(req.Name))
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read TrainingFramework %s: %w", req.Name, err)
	}
	r.reportDeleted(ctx, r.kinds.endReplaced(d))
	before := d.DeepCopy()
	j, err := r.judge(ctx, d)
	if err != nil {
		return ctrl.Result{}, err
	}
	// What compiles jobs is stored before it does, so that the next operator knows it.
	if !slices.EqualFunc(before.Status.Revisions, d.Status.Revisions, func(a, b v1beta1.FrameworkRevision) bool { return a.Name == b.Name }) {
		setReconciling(d)
		if err := r.writeStatus(ctx, d); err != nil {
			return ctrl.Result{}, err
		}
		before = d.DeepCopy()
	}
	again, err := r.serve(ctx, j)
	if err != nil {
		return ctrl.Result{}, err
	}
	setReady(d)
	return ctrl.Result{RequeueAfter: j.orSooner(again)}, r.showChanges(ctx, before, d)
}

// orSooner returns when to look again at a definition that waits for something of which no event tells.
func (j *judgement) orSooner(again time.Duration) time.Duration {
	d := j.definition
	switch {
	case hasReason(d, v1beta1.FrameworkAccepted, v1beta1.ReasonTooManyRevisions):
		return calls.Sooner(again, askForRoom)
	case hasReason(d, v1beta1.FrameworkAccepted, v1beta1.ReasonRightsMissing), hasReason(d, v1beta1.FrameworkServing, v1beta1.ReasonRightsMissing):
		return calls.Sooner(again, askForRights)
	case j.waitsForJobs:
		return calls.Sooner(again, askForJobs)
	default:
		return again
	}
}

// showChanges writes the status, if it is news, and tells of an edit that is refused.
func (r *Reconciler) showChanges(ctx context.Context, before, d *v1beta1.TrainingFramework) error {
	if equality.Semantic.DeepEqual(before.Status, d.Status) {
		return nil
	}
	if err := r.writeStatus(ctx, d); err != nil {
		return err
	}
	r.reportRefused(ctx, before, d)
	return nil
}

func (r *Reconciler) writeStatus(ctx context.Context, d *v1beta1.TrainingFramework) error {
	if err := r.Client.Status().Update(ctx, d); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of TrainingFramework %s: %w", d.Name, err)
	}
	return nil
}

// serve has the kind served, if nothing is in the way, and says how that stands. It returns when to look again; 0 to wait for an event.
func (r *Reconciler) serve(ctx context.Context, j *judgement) (time.Duration, error) {
	d := j.definition
	if j.notServed.reason == "" {
		lacks, err := r.lacks(ctx, j.resource)
		if err != nil {
			return 0, err
		}
		if len(lacks) > 0 {
			j.notServed = whyNot{v1beta1.ReasonRightsMissing,
				fmt.Sprintf("The operator may not: %s. Grant it by a ClusterRole with the label %s: \"true\".", strings.Join(lacks, "; "), LabelAggregate)}
		}
	}
	if j.notServed.reason != "" {
		r.kinds.end(d.Name)
		setCondition(d, v1beta1.FrameworkServing, metav1.ConditionFalse, j.notServed.reason, j.notServed.message)
		return 0, nil
	}
	names := make([]string, 0, maxRevisions)
	for _, revision := range d.Status.Revisions {
		names = append(names, revision.Name)
	}
	fills, err := r.kinds.ensureServed(d, j.schemas, j.version+" "+strings.Join(names, " "))
	if errors.Is(err, errNewest) {
		r.kinds.end(d.Name)
		setCondition(d, v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, "Mend the definition: "+err.Error()+".")
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if fills != nil {
		message, again := fills.report(r.kinds.Clock.Now())
		setCondition(d, v1beta1.FrameworkServing, metav1.ConditionUnknown, v1beta1.ReasonServing, message)
		return again, nil
	}
	message := "Jobs are compiled by revision " + names[0] + "."
	if meta.IsStatusConditionFalse(d.Status.Conditions, v1beta1.FrameworkAccepted) {
		message += " The newest edit is refused, and compiles none: see the condition Accepted."
	}
	setCondition(d, v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing, message)
	return askAgain, nil
}

package training

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/wiring"
	"github.com/genericjob/genericjob/translators/framework"
)

// SetUp registers the controller of a framework's jobs.
func SetUp(s *wiring.Shared, f framework.Registration) error {
	mgr := s.Manager
	kind, err := apiutil.GVKForObject(f.New(), mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("set up a framework: its kind is not in the scheme that NewScheme made: %w", err)
	}
	if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return fmt.Errorf("set up %s: the cluster does not know the kind; install its CRD first: %w", kind.Kind, err)
	}
	r := &Reconciler{
		Registration: f, Client: s.Client(), Live: s.Live, Recorder: s.Recorder(), Clock: s.Clock, Kind: kind, Counts: s.Counts, Memory: &Memory{},
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(metrics.ControllerOf(kind)).
		// The operator's own writes of the status lead to a reconcile, too. Such a write may show what an old cache had of the GenericJob. And the
		// reconcile that knew better may have compared with the status before that write.
		For(f.New()).
		Watches(&v1beta1.GenericJob{}, handler.EnqueueRequestsFromMapFunc(r.SameName)).
		Owns(&corev1.ConfigMap{}).
		WithOptions(s.Options()).
		WithLogConstructor(s.LogNaming(kind.Kind))
	if f.MirrorTensorBoard != nil {
		b.Owns(&appsv1.Deployment{}).Owns(&corev1.Service{})
	}
	if f.Autoscales {
		b.Owns(&autoscalingv2.HorizontalPodAutoscaler{})
	}
	if err := b.Complete(s.Around(r)); err != nil {
		return fmt.Errorf("set up %s: %w", kind.Kind, err)
	}
	return nil
}

// SameName maps a GenericJob to the training job of the same name: it owns the GenericJob, or cannot have the name because of it.
func (r *Reconciler) SameName(ctx context.Context, o client.Object) []ctrl.Request {
	key := client.ObjectKeyFromObject(o)
	if ref := metav1.GetControllerOf(o); ref == nil || ref.Kind != r.Kind.Kind {
		if err := r.Client.Get(ctx, key, r.New()); apierrors.IsNotFound(err) {
			return nil
		}
	}
	return []ctrl.Request{{NamespacedName: key}}
}

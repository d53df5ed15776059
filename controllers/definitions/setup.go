package definitions

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/wiring"
	"github.com/genericjob/genericjob/translators/definition"
)

// SetUp registers the controller of TrainingFrameworks. Taken are the kinds that are served without a definition.
func SetUp(s *wiring.Shared, kinds *Kinds, taken []string) error {
	r := &Reconciler{Client: s.Client(), Live: s.Live, Taken: taken, Recorder: s.Recorder(), kinds: kinds}
	r.unserved = newUnserved(r, s.Manager.GetLogger())
	kinds.unserved = r.unserved.add
	for _, one := range []manager.Runnable{kinds, r.unserved} {
		if err := s.Manager.Add(one); err != nil {
			return fmt.Errorf("set up TrainingFramework: %w", err)
		}
	}
	crds := &metav1.PartialObjectMetadata{}
	crds.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := ctrl.NewControllerManagedBy(s.Manager).
		For(&v1beta1.TrainingFramework{}).
		Watches(&v1beta1.TrainingFramework{}, handler.EnqueueRequestsFromMapFunc(r.rivals)).
		Watches(crds, handler.EnqueueRequestsFromMapFunc(r.defined)).
		WithOptions(controller.Options{RateLimiter: s.Options().RateLimiter}).
		WithLogConstructor(s.LogNaming(v1beta1.KindTrainingFramework)).
		Complete(s.Around(r))
	if err != nil {
		return fmt.Errorf("set up TrainingFramework: %w", err)
	}
	return nil
}

// rivals returns the other definitions of the same kind. One that goes makes room for them, and one that comes may be older by its name.
func (r *Reconciler) rivals(ctx context.Context, o client.Object) []ctrl.Request {
	one, ok := o.(*v1beta1.TrainingFramework)
	return r.filter(ctx, func(d *v1beta1.TrainingFramework) bool {
		return ok && d.Name != one.Name && d.Spec.Kind.Kind == one.Spec.Kind.Kind
	})
}

// defined returns the definitions of kinds of the group of a CRD.
func (r *Reconciler) defined(ctx context.Context, crd client.Object) []ctrl.Request {
	_, group, _ := strings.Cut(crd.GetName(), ".")
	return r.filter(ctx, func(d *v1beta1.TrainingFramework) bool { return definition.KindOf(&d.Spec).Group == group })
}

func (r *Reconciler) filter(ctx context.Context, are func(*v1beta1.TrainingFramework) bool) (list []ctrl.Request) {
	all := &v1beta1.TrainingFrameworkList{}
	if err := r.Client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the context has ended
	}
	for i := range all.Items {
		if are(&all.Items[i]) {
			list = append(list, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return list
}

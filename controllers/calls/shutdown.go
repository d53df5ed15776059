package calls

import (
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// LastCalls is how long calls that are under way may go on when the operator is told to end. An apiserver that answers at all answers most calls in a
// fraction of this time. One that hangs must not keep the operator from giving its lease back.
const LastCalls = 3 * time.Second

// errShutdown stops a reconcile between two calls because the operator is told to end. The next operator makes that reconcile again.
var errShutdown = errors.New("the operator ends: the next one goes on")

// GracefulShutdown lets a reconciler end in order. When the operator is told to end, the manager cancels the context of each reconcile at once. That
// would cut off calls in the middle, and nobody would know whether they were carried out. So a reconcile gets a context that lasts LastCalls longer,
// and asks between calls whether to go on (CheckShutdown). Reconciles that wait are not begun.
type GracefulShutdown struct{ reconcile.Reconciler }

// Reconcile makes one reconcile, unless the operator is told to end.
func (o GracefulShutdown) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if ctx.Err() != nil {
		return ctrl.Result{}, nil
	}
	longer, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), shutdownKey{}, ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(LastCalls, cancel) })
	defer stop()
	result, err := o.Reconciler.Reconcile(longer, req)
	switch {
	case errors.Is(err, errShutdown):
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err // the queue's own delay counts then; to ask for another as well is logged as a mistake
	default:
		return result, nil
	}
}

type shutdownKey struct{}

// CheckShutdown returns an error if the operator is told to end, so that the reconcile of this context makes no further call. GracefulShutdown
// takes it away.
func CheckShutdown(ctx context.Context) error {
	if operator, ok := ctx.Value(shutdownKey{}).(context.Context); ok && operator.Err() != nil {
		return errShutdown
	}
	return nil
}

package calls

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAReconcileThatWaitsIsNotBegunWhenTheOperatorEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	reconciles := 0
	r := GracefulShutdown{reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		reconciles++
		return ctrl.Result{}, nil
	})}
	_, err := r.Reconcile(ctx, ctrl.Request{})
	require.NoError(t, err)
	end()
	_, err = r.Reconcile(ctx, ctrl.Request{})
	require.NoError(t, err)
	require.Equal(t, 1, reconciles)
}

// The end comes with the second call.
func TestCallsUnderWayAreFinishedAndNoOtherIsBegun(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	var calls, cutOff atomic.Int32
	r := GracefulShutdown{reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		_, err := alone().run(ctx, 1, 20, func(i int) error {
			if i == 1 {
				end()
			}
			calls.Add(1)
			if ctx.Err() != nil {
				cutOff.Add(1)
			}
			return nil
		})
		return ctrl.Result{}, err
	})}
	_, err := r.Reconcile(ctx, ctrl.Request{})
	require.NoError(t, err, "it is no error that the operator ends")
	require.LessOrEqual(t, calls.Load(), int32(3), "one, then two at once, of which the second may not have begun")
	require.Zero(t, cutOff.Load())
}

func TestCallsThatHangAreGivenUpWhenTheOperatorEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	r := GracefulShutdown{reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		end()
		<-ctx.Done()
		return ctrl.Result{}, ctx.Err()
	})}
	_, err := r.Reconcile(ctx, ctrl.Request{})
	require.ErrorIs(t, err, context.Canceled)
}

package compact

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// during makes a reconcile that opens an object of n bytes, and calls f meanwhile.
func during(t *testing.T, r *Budget, n int, f func()) (ctrl.Result, error) {
	t.Helper()
	return r.Around(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		if err := shareOf(ctx).take(n); err != nil {
			return ctrl.Result{}, fmt.Errorf("read it: %w", err)
		}
		f()
		return ctrl.Result{}, nil
	})).Reconcile(t.Context(), ctrl.Request{})
}

func TestAReconcileForWhichThereIsNoBudgetComesLaterAndSmallOnesDoNotWait(t *testing.T) {
	r, begun := &Budget{}, 0
	begin := func() { begun++ }
	_, err := during(t, r, maxOpen, func() {
		result, err := during(t, r, alwaysOpen+1, begin)
		require.NoError(t, err)
		require.GreaterOrEqual(t, result.RequeueAfter, retryBudget)
		require.Less(t, result.RequeueAfter, 3*retryBudget+time.Second)
		require.Zero(t, begun)

		result, err = during(t, r, alwaysOpen, begin)
		require.NoError(t, err)
		require.Zero(t, result.RequeueAfter)
		require.Equal(t, 1, begun)
	})
	require.NoError(t, err)
	_, err = during(t, r, alwaysOpen+1, begin)
	require.NoError(t, err)
	require.Equal(t, 2, begun, "budget that was given back")
	require.Zero(t, r.used)
}

func TestWhatIsLargerThanTheBudgetIsOpenedAlone(t *testing.T) {
	r := &Budget{}
	result, err := during(t, r, 10*maxOpen, func() {
		require.Equal(t, 10*maxOpen, r.used)
	})
	require.NoError(t, err)
	require.Zero(t, result.RequeueAfter)
	require.Zero(t, r.used)
}

func TestErrorsOfAReconcileAreReturnedAndGiveTheBudgetBack(t *testing.T) {
	r, broken := &Budget{}, errors.New("broken")
	_, err := r.Around(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		return ctrl.Result{}, errors.Join(shareOf(ctx).take(maxOpen), broken)
	})).Reconcile(t.Context(), ctrl.Request{})
	require.ErrorIs(t, err, broken)
	require.Zero(t, r.used)
}

func TestPodsOfALargeJobAreMadeFewAtOnce(t *testing.T) {
	for bytes, want := range map[int]int{0: 50, maxPlain: 50, 2 * maxPlain: 25, 10 * maxPlain: 5, 1 << 20: 1} {
		_, err := (&Budget{}).Around(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
			require.NoError(t, shareOf(ctx).take(bytes))
			require.Equal(t, want, AtOnce(ctx, 50))
			return ctrl.Result{}, nil
		})).Reconcile(t.Context(), ctrl.Request{})
		require.NoError(t, err)
	}
	require.Equal(t, 50, AtOnce(t.Context(), 50))
}

// TestWhatAReconcileBuildsIsWeighed: neither a plan nor the pods of a small job are as small as it is.
func TestWhatAReconcileBuildsIsWeighed(t *testing.T) {
	r := &Budget{}
	large := func() []int { return []int{1 << 20, 2 << 20, maxPlain} }
	_, err := r.Around(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		require.NoError(t, Reserve(ctx, alwaysOpen))
		require.Zero(t, r.used)
		require.NoError(t, Reserve(ctx, 1<<20))
		require.Equal(t, 1<<20, r.used)
		require.NoError(t, ReservePods(ctx, 50, large))
		require.Equal(t, 4<<20, r.used)
		require.Equal(t, 1, AtOnce(ctx, 50), "pods of two megabytes are made one after the other")
		_, err := during(t, r, 0, func() {})
		require.NoError(t, err)
		result, err := r.Around(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
			return ctrl.Result{}, ReservePods(ctx, 50, large)
		})).Reconcile(t.Context(), ctrl.Request{})
		require.NoError(t, err)
		require.GreaterOrEqual(t, result.RequeueAfter, retryBudget)
		return ctrl.Result{}, nil
	})).Reconcile(t.Context(), ctrl.Request{})
	require.NoError(t, err)
	require.Zero(t, r.used)
	require.NoError(t, Reserve(t.Context(), 10*maxOpen), "nobody bounds what is no reconcile")
	require.NoError(t, ReservePods(t.Context(), 50, large))
}

// TestPodsAsLargeAsTheirTemplateNeedNoMoreBudget: their job was weighed.
func TestPodsAsLargeAsTheirTemplateNeedNoMoreBudget(t *testing.T) {
	r := &Budget{}
	_, err := r.Around(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		require.NoError(t, shareOf(ctx).take(1<<20))
		require.NoError(t, ReservePods(ctx, 50, func() []int { return []int{1 << 20} }))
		require.Equal(t, 1<<20, r.used)
		return ctrl.Result{}, nil
	})).Reconcile(t.Context(), ctrl.Request{})
	require.NoError(t, err)
}

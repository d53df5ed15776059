package operator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// An operator on a machine that stalled while it ended exited with 1, as if something were broken.
func TestWhoWasToldToEndAndCouldNotWaitHasNotFailed(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"}, GracefulShutdownTimeout: ptr.To(time.Millisecond),
	})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	never := make(chan struct{})
	defer close(never)
	require.NoError(t, mgr.Add(manager.RunnableFunc(func(context.Context) error {
		end()
		<-never
		return nil
	})))
	err = mgr.Start(ctx)
	require.ErrorContains(t, err, "grace period")
	require.NoError(t, ended(ctx, err))

	require.ErrorIs(t, ended(t.Context(), err), err, "nobody has told it to end")
	broken := errors.New("broken")
	require.ErrorIs(t, ended(ctx, broken), broken)
	require.NoError(t, ended(ctx, nil))
}

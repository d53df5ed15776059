package operator

import (
	"context"
	"errors"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/genericjob/genericjob/controllers/calls"
)

// The operator ends within five seconds of SIGTERM, whatever the apiserver does. The reconciles get calls.LastCalls, and all else that
// runs gets a little more. Then the operator gives the lease back with one read and one write.
const (
	lastRunnables = calls.LastCalls + 400*time.Millisecond
	lastLeaseCall = 600 * time.Millisecond
	lastOfAll     = lastRunnables + 2*lastLeaseCall + 100*time.Millisecond
)

// ended returns the error of a manager that has ended. One that was told to end has not failed, though it has not waited for all that was
// under way. A machine may stall for longer than an operator may take. What is left is no more than an operator leaves that is killed.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		ctrl.Log.Info("ending without what is still under way", "reason", err.Error())
		return nil
	}
	return err
}

// brief returns the configuration for the calls about the lease. Once the operator ends, each of them is given little time:
// an apiserver that hangs would hold the process for ten seconds otherwise. The lease then simply runs out.
func brief(ctx context.Context, cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if ctx.Err() == nil {
				return next.RoundTrip(r)
			}
			bounded, cancel := context.WithTimeout(r.Context(), lastLeaseCall)
			context.AfterFunc(bounded, cancel) // the body is still to be read when this function returns
			return next.RoundTrip(r.WithContext(bounded))
		})
	})
	return cfg
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

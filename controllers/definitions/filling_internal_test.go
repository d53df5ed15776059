package definitions

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestAKindWhoseCacheDoesNotFillIsLookedAtLessAndLessOftenAndSaysWhy: each look costs some ten calls, and checks the definition.
func TestAKindWhoseCacheDoesNotFillIsLookedAtLessAndLessOftenAndSaysWhy(t *testing.T) {
	kind := frameworkKind("a.example.com", "FirstJob")
	r := newReplacing(t, kind)
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "conversion webhook for a.example.com failed: no endpoints", http.StatusInternalServerError)
	}))
	t.Cleanup(down.Close)
	r.kinds.Manager.GetConfig().Host = down.URL
	begun := time.Unix(1000, 0)
	clock := clocktesting.NewFakePassiveClock(begun)
	r.kinds.Clock = clock
	r.define("a", kind, "one")
	look := func(after time.Duration) (time.Duration, string) {
		clock.SetTime(begun.Add(after))
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: "a"}})
		require.NoError(t, err)
		f := &v1beta1.TrainingFramework{}
		require.NoError(t, r.Client.Get(t.Context(), client.ObjectKey{Name: "a"}, f))
		return result.RequeueAfter, meta.FindStatusCondition(f.Status.Conditions, v1beta1.FrameworkServing).Message
	}
	again, message := look(0)
	require.Equal(t, 500*time.Millisecond, again)
	require.Equal(t, "The jobs that there are are being read.", message)
	again, message = look(40 * time.Second)
	require.Equal(t, 10*time.Second, again)
	require.Equal(t, "The jobs that there are are being read.", message)
	require.Eventually(t, func() bool {
		again, message = look(time.Hour)
		return message != "The jobs that there are are being read, which takes more than 1m0s."
	}, 5*time.Minute, 100*time.Millisecond)
	require.Equal(t, 30*time.Second, again)
	require.Regexp(t, "^The jobs that there are are being read, which takes more than 1m0s. The last failure was at 1970-01-01 0[01]:[0-9]+ UTC: "+
		".*conversion webhook for a.example.com failed.* The operator keeps trying.$", message)

	first := r.kinds.running["a"]
	r.kinds.mu.Lock()
	r.kinds.endLocked("a") // as a controller does that has waited for its cache in vain
	r.kinds.mu.Unlock()
	again, message = look(2 * time.Hour)
	require.NotSame(t, first, r.kinds.running["a"])
	require.Equal(t, 30*time.Second, again)
	require.Contains(t, message, "conversion webhook")
	r.kinds.end("a")
	require.Empty(t, r.kinds.fillings)
}

// Nobody tells of a list that goes well since. So it is said when it failed, and not that it fails.
func TestAFailureOfACacheIsToldWithItsTime(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	f := &filling{clock: clock, since: clock.Now()}
	clock.SetTime(time.Unix(1030, 0))
	f.note(t.Context(), toolscache.NewReflector(&toolscache.ListWatch{}, nil, nil, 0), errors.New("connection refused"))
	message, _ := f.report(time.Unix(9000, 0))
	require.Equal(t, "The jobs that there are are being read, which takes more than 1m0s. The last failure was at 1970-01-01 00:17 UTC: connection refused. "+
		"The operator keeps trying.", message)
}
